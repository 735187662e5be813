"""How batches are made: for every look at the path of the data, which kind of work it saw, in this process and in workers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unslow.account.model import Where
from unslow.findings import kinds, lines
from unslow.findings.context import Context, Sample
from unslow.findings.positions import position, seated
from unslow.findings.thresholds import CHEAP_SAMPLE_NS, HEAVY_SAMPLE_NS, LONG_SAMPLE_NS, LOOPED_CALLS

IN_PROCESS = ("data.fetch", "data.collate", "data.transform", "data.sample")
BY_HAND = ("script", "loss")
WORKER = ("fetch", "decode", "transform", "collate", "other")

OVERHEAD, LOOKUP, CONVERT, COPY, TRANSFORM, SHRINK = "overhead", "lookup", "convert", "copy", "transform", "shrink"
DECODE, ACCESS, STORAGE, WAITING = "decode", "access", "storage", "waiting"
PLAIN, BYTES, WHOLE = "plain", "bytes", "whole"

# Where the innermost frame lies says what is done, whatever the user's line looks like. First match counts.
_LEAVES = (
    (LOOKUP, ("/pandas/", "/polars/", "/sqlite3/", "/datasets/arrow", "/pyarrow/")),
    (ACCESS, ("/h5py/", "/zarr/", "/linecache.py", "/tables/", "/netCDF4/", "/lmdb/", "/memmap.py", "/_core/memmap.py")),
    (DECODE, (
        "/PIL/ImageFile.py", "ImagePlugin.py", "/gzip.py", "/zipfile", "/lzma.py", "/bz2.py", "/_compression.py", "/json/", "/csv.py",
        "/base64.py", "/ast.py", "/wave.py", "/soundfile", "/torchaudio/", "/imageio/", "/torchvision/io/", "/cv2/", "/tarfile.py", "/xml/",
        "/yaml/", "/skimage/io/", "/_datasource.py", "/zoneinfo",
    )),
    (STORAGE, (
        "/torch/serialization.py", "/torch/_weights_only_unpickler.py", "/numpy/lib/format.py", "/numpy/lib/_format_impl.py", "/pathlib",
        "/tempfile.py", "/genericpath.py", "/posixpath.py", "/glob.py", "/http/", "/urllib/", "/socket.py", "/ssl.py", "/requests/",
        "/codecs", "<frozen codecs>", "<frozen posixpath>", "<frozen genericpath>", "/torch/_utils.py", "/torch/storage.py",
    )),
    (OVERHEAD, ("/torch/utils/data/",)),
    (TRANSFORM, (
        "/torchvision/", "/albumentations/", "/scipy/", "/skimage/", "/librosa/", "/transformers/", "/tokenizers/", "/nltk/", "/re/",
        "/re.py",
        "/PIL/", "/sklearn/", "/string.py", "/unicodedata", "/difflib.py", "/colorsys.py",
    )),
)  # fmt: skip
_LINES = {
    kinds.COPY: COPY, kinds.LOOKUP: LOOKUP, kinds.CONVERT: CONVERT, kinds.READ: STORAGE, kinds.SEEK: ACCESS, kinds.DECODE: DECODE,
    kinds.STACK: OVERHEAD,
    kinds.WAIT: WAITING,
}  # fmt: skip


# The first word of a span's name, where that says it all.
_SPANS = {"decode": DECODE, "open": DECODE, "read": STORAGE, "sleep": WAITING}


@dataclass(slots=True)
class Work:
    """One kind of work: nanoseconds on the main thread and in workers, and the user's lines where it was seen, most first."""

    main: int = 0
    worker: int = 0
    by_hand: int = 0
    lines: dict[tuple[str, int, str], int] = field(default_factory=lambda: defaultdict(int))
    callers: dict[tuple[str, int, str], int] = field(default_factory=lambda: defaultdict(int))

    @property
    def total(self) -> int:
        return self.main + self.worker + self.by_hand

    def where(self, limit: int = 3) -> list[Where]:
        """The hottest lines."""
        return [Where(f, n, fn, ns) for (f, n, fn), ns in sorted(self.lines.items(), key=lambda item: -item[1])][:limit]

    def called_from(self, limit: int = 4) -> list[Where]:
        """Lines that lead to the work, most time first."""
        return [Where(f, n, fn, ns) for (f, n, fn), ns in sorted(self.callers.items(), key=lambda item: -item[1])][:limit]


@dataclass(frozen=True)
class Preparation:
    """The path of the data of one run."""

    context: Context
    works: dict[str, Work] = field(default_factory=lambda: defaultdict(Work))

    @cached_property
    def begins(self) -> int:
        """When the first batch was asked for, or the first update made: what comes before is done once."""
        main = self.context.main
        if main is None:
            return 0
        places = [main.signals.loader_begin[:1], main.marker.ends[:1]]
        times = [int(main.swept.time[int(place[0])]) for place in places if len(place) and int(place[0]) < len(main.swept.time)]
        return min(times, default=0)

    def exact(self, *activities: str) -> dict[str, int]:
        """Nanoseconds on the main thread since the first batch in these activities, in evaluation too, by the name of the span."""
        main = self.context.main
        if main is None:
            return {}
        timeline = main.timeline
        rows = [number for number, name in enumerate(timeline.names) if name.removeprefix("evaluate/") in activities]
        mine = np.isin(timeline.activity, rows) & (timeline.end > self.begins)
        net = np.bincount(timeline.code[mine], weights=(timeline.end - timeline.start - timeline.cost)[mine])
        found: dict[str, int] = defaultdict(int)
        for code in np.flatnonzero(net).tolist():
            definition = timeline.definitions.get(code)
            found[definition.name if definition else ""] += int(net[code])
        return found

    @cached_property
    def main_ns(self) -> int:
        """What the main thread spends on making batches itself inside a loader."""
        return sum(self.exact(*IN_PROCESS).values())

    @cached_property
    def wait_ns(self) -> int:
        return self.context.ns("data.wait", "evaluate/data.wait")

    @cached_property
    def start_ns(self) -> int:
        """Starting and stopping workers, as the main thread feels it."""
        return self.context.ns("data.workers", "evaluate/data.workers")

    @cached_property
    def worker_ns(self) -> int:
        """Making batches in workers, all of them together."""
        return sum(self.context.worker_ns(name) for name in ("fetch", "decode", "transform", "collate"))

    @cached_property
    def num_workers(self) -> int:
        return max((int(loader.get("num_workers") or 0) for loader in self.context.loaders.values()), default=0)

    @cached_property
    def batches(self) -> int:
        """Batches that loaders made, here and in workers."""
        here = self.context.count("data.collate") + self.context.count("evaluate/data.collate")
        return here + sum(
            row.count for row in self.context.account.overlapped if row.process.startswith("worker") and row.name == "collate"
        )

    @cached_property
    def samples(self) -> int:
        """Samples that loaders fetched one by one, as far as is known."""
        sizes = [int(one.get("batch_size") or 0) for one in self.context.loaders.values() if one.get("automatic_batching", True)]
        size = max(sizes, default=0)
        known = [int(one["samples"]) for one in self.context.loaders.values() if one.get("samples")]
        upper = self.epochs * sum(known) if known and self.epochs else self.batches * size
        return min(self.batches * size, upper) if upper else self.batches * size

    @cached_property
    def epochs(self) -> int:
        """How often the training data was gone through; 0 where nothing tells."""
        if self.context.account.steps.epochs:
            return int(self.context.account.steps.epochs)
        batch = self.context.facts.get("batch_size")
        known = max((int(one.get("samples") or 0) for one in self.context.loaders.values()), default=0)
        return int(self.context.steps * batch // known) if isinstance(batch, int) and known else 0

    @cached_property
    def per_sample_ns(self) -> float:
        """What fetching, transforming and collating one sample takes, wherever it is done."""
        return (self.main_ns + self.worker_ns) / self.samples if self.samples else 0.0

    @cached_property
    def loop_line(self) -> list[Where]:
        """The lines at which batches are asked for, most batches first."""
        sites = [one.get("site") for one in self.context.loaders.values()]
        return [Where(str(site[0]), int(site[1]), site[2]) for site in sites if isinstance(site, (list, tuple)) and len(site) == 3]

    @cached_property
    def deterministic(self) -> bool | None:
        """Whether a sample that was prepared again gave the same numbers; None where none was seen twice."""
        marks: dict[tuple[int, int], set[int]] = defaultdict(set)
        times: dict[tuple[int, int], int] = defaultdict(int)
        for _, fact in self.context.lane_facts("sample"):
            value = fact.get("value")
            if fact.get("name") == "sample" and isinstance(value, list) and len(value) >= 2:
                which = int(value[0]), int(value[3]) if len(value) > 3 else 0
                marks[which].add(int(value[1]))
                times[which] += 1
        again = [number for number, count in times.items() if count > 1]
        return all(len(marks[number]) == 1 for number in again) if again else None

    def work(self, *names: str) -> Work:
        """Some kinds of work as one."""
        whole = Work()
        for name in names:
            one = self.works.get(name)
            if one is None:
                continue
            whole.main += one.main
            whole.worker += one.worker
            whole.by_hand += one.by_hand
            for frame, ns in one.lines.items():
                whole.lines[frame] += ns
            for frame, ns in one.callers.items():
                whole.callers[frame] += ns
        return whole

    def felt(self, work: Work) -> int:
        """What the main thread would be spared without this work: its own share, and the waiting that the workers' share causes."""
        waiting = min(self.wait_ns, work.worker / max(self.num_workers, 1)) if self.worker_ns else 0
        return int(work.main + work.by_hand + waiting)

    def where(self, work: Work, *first: Where | None) -> tuple[Where, ...]:
        """The hot line, the place that is at fault if it is another, then what leads there."""
        hot = work.where(2)
        return lines.unique(*(place for place in first if place is not None), hot, self.loop_line[:1], work.called_from(), work.where(4))


def preparation(context: Context) -> Preparation:
    """All looks at the path of the data, sorted by kind; worked out once."""
    if "preparation" not in context._cache:
        context._cache["preparation"] = _sorted(context)
    found: Preparation = context._cache["preparation"]
    return found


def _sorted(context: Context) -> Preparation:
    found = Preparation(context)
    mine = [s for s in context.samples if s.time > found.begins and s.activity.removeprefix("evaluate/") in IN_PROCESS]
    theirs = [s for s in context.worker_samples if s.activity in WORKER]
    for group in (("data.fetch", "data.transform"), ("data.collate",), ("data.sample",)):
        looks = [s for s in mine if s.activity.removeprefix("evaluate/") in group]
        _share_out(found, looks, found.exact(*group), "main")
    parts = context.worker_parts("fetch") | context.worker_parts("decode")
    fetched = {name: ns for name, (ns, _) in parts.items()} | {"": context.worker_ns("transform")}
    _share_out(found, [s for s in theirs if s.activity != "collate"], fetched, "worker")
    _share_out(found, [s for s in theirs if s.activity == "collate"], {"": context.worker_ns("collate")}, "worker")
    loops = lines.step_lines(context)
    operators = max((one.count for one in context.operators() if one.phase == "script"), default=0)
    script = [seated(s, context) for s in context.samples if s.activity in BY_HAND and s.time > found.begins]
    seen = sum(sample.ns for sample in script)
    scale = sum(found.exact(*BY_HAND).values()) / seen if seen else 0.0
    for sample in script:
        place = position(sample, context)
        if place in ("before", "at"):
            kind = kind_of(sample)
            if kind in (PLAIN, TRANSFORM):
                # Work on whole batches is what a step needs; one element after the other it is not.
                inner = lines.inner_loop(sample, loops)
                single = (
                    inner is not None and operators < LOOPED_CALLS and "/torch/" not in sample.leaf[0] and not _with_model(inner, context)
                )
                if not single and place == "at":
                    continue
                kind = TRANSFORM if single else WHOLE
            _add(found, kind, sample, int(sample.ns * scale), "by_hand")
    _settle(found)
    return found


def _with_model(frame: tuple[str, int, str], context: Context) -> bool:
    """Whether the model is called in a loop around this line: that is playing a game or searching, not preparing samples."""
    if "model lines" not in context._cache:
        sites = (
            {(one.file, one.line) for one in context.main.timeline.definitions.values() if one.activity == "forward"}
            if context.main
            else set()
        )
        seen = {(f, n) for s in context.samples if s.activity.removeprefix("evaluate/") == "forward" for f, n, _ in s.frames}
        context._cache["model lines"] = sites | seen
    model: set[tuple[str, int]] = context._cache["model lines"]
    spans = lines.loops_around(frame[0], frame[1])
    training = lines.step_lines(context)
    inner = [span for span in spans if not any(file == frame[0] and span[0] <= at <= span[1] for file, at in training)]
    return any(file == frame[0] and low <= at <= high for low, high in inner for file, at in model)


def _share_out(found: Preparation, looks: list[Sample], exact: dict[str, int], to: str) -> None:
    """Give measured time to kinds of work: what spans name exactly goes there, the rest as the looks at it say."""
    rest = 0
    for name, ns in exact.items():
        kind = _SPANS.get(name.split(" ")[0]) if name else None
        named = [look for look in looks if look.span == name] if kind else []
        if kind is None:
            rest += ns
            continue
        work = found.works[kind]
        setattr(work, to, getattr(work, to) + ns)
        for look in named:
            _note(work, look, ns * look.ns // sum(one.ns for one in named))
    others = [look for look in looks if look.span.split(" ")[0] not in _SPANS]
    seen = sum(look.ns for look in others)
    for look in others:
        _add(found, kind_of(look), look, int(look.ns * rest / seen), to)
    if rest and not seen:
        work = found.works[PLAIN]
        setattr(work, to, getattr(work, to) + rest)


def _settle(found: Preparation) -> None:
    """Plain lines of the user's are work where a sample takes long, and only overhead where it does not; spans know some kinds exactly."""
    plain, overhead = found.works.get(PLAIN), found.works.get(OVERHEAD)
    if plain is not None:
        each = (plain.main + plain.worker) / found.samples if found.samples else float(HEAVY_SAMPLE_NS)
        _merge(found, PLAIN, TRANSFORM if each >= HEAVY_SAMPLE_NS else OVERHEAD)
    convert = found.works.get(CONVERT)
    if (
        convert is not None
        and found.samples
        and not convert.by_hand
        and (convert.main + convert.worker) / found.samples < HEAVY_SAMPLE_NS / 4
    ):
        _merge(found, CONVERT, OVERHEAD)
    if overhead is not None and found.samples and (overhead.main + overhead.worker) / found.samples > CHEAP_SAMPLE_NS * 2:
        _merge(found, OVERHEAD, BYTES)
    if SHRINK in found.works:
        # What is made small right after it was decoded had been decoded for nothing.
        both = found.work(DECODE).total >= 0.3 * found.work(SHRINK).total
        _merge(found, SHRINK, DECODE if both else TRANSFORM)


def _merge(found: Preparation, name: str, into: str) -> None:
    both = found.work(name, into)
    found.works.pop(name, None)
    found.works[into] = both


def _add(found: Preparation, kind: str, sample: Sample, ns: int, to: str) -> None:
    work = found.works[kind]
    setattr(work, to, getattr(work, to) + ns)
    _note(work, sample, ns)


def _note(work: Work, sample: Sample, ns: int) -> None:
    frames = sample.frames
    if frames:
        file, number, function = frames[0]
        frames = ((file, kinds.seat(file, number)[1], function), *frames[1:])
    for place, frame in enumerate(dict.fromkeys(frames)):
        (work.lines if place == 0 else work.callers)[frame] += ns


def drawn_anew(found: Preparation) -> bool:
    """Whether samples take long and come out different each time: neither keeping them nor one call for a batch saves that."""
    return found.deterministic is False and found.per_sample_ns >= LONG_SAMPLE_NS


def kind_of(sample: Sample) -> str:
    """The kind of work that one look saw."""
    span = sample.span
    if span == "sleep":
        return WAITING
    if span.startswith("decode") or span == "open image":
        return DECODE
    leaf = sample.leaf[0].replace("\\", "/")
    for kind, parts in _LEAVES:
        if any(part in leaf for part in parts):
            if kind == OVERHEAD and sample.frames and "dataset.py" not in leaf and "collate" not in leaf and "fetch" not in leaf:
                break
            if kind == TRANSFORM and sample.frames and kinds.kind(*sample.frames[0][:2]) == kinds.COPY:
                return COPY
            if kind == TRANSFORM and sample.leaf[2] in ("resize", "thumbnail", "reduce"):
                return SHRINK
            if kind == TRANSFORM and "/PIL/" in leaf and sample.leaf[2] in ("open", "load", "convert", "draft", "_open"):
                return DECODE
            return kind
    if span.startswith("read "):
        return STORAGE
    if not sample.frames:
        return OVERHEAD
    by_line = _LINES.get(kinds.seat(*sample.frames[0][:2])[0])
    # The line may say one thing and be at another: what torch itself does in Python is no conversion and no copy of the line's.
    if by_line is not None and (by_line not in (CONVERT, COPY) or "/torch/" not in leaf or "/torch/_tensor" in leaf):
        return by_line
    return TRANSFORM if sample.frames[0][2] == "__call__" else PLAIN
