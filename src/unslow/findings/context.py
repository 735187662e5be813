"""What a rule may ask: the account, the timeline, the samples, the inspected steps, the facts, the machine."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from unslow.account.build import Main, work_out
from unslow.account.model import Account, Activity, Where
from unslow.account.overlap import is_worker, worker_activity
from unslow.account.sweep import codes, sweep, tile
from unslow.findings import source
from unslow.recording.model import Lane, Recording

DATA = ("data.fetch", "data.collate", "data.sample", "data.transform", "data.wait", "data.workers")
OUTSIDE_LOOP = ("startup.interpreter", "startup.import", "startup.device", "setup", "teardown", "observer", "unexplained")


@dataclass(frozen=True, slots=True)
class Operator:
    """One row of an inspected step: the operator, shapes of its inputs, dtype, how often, nanoseconds in all, part of the step."""

    name: str
    shapes: tuple[Any, ...]
    dtype: str
    count: int
    ns: int
    phase: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What one look of the sampler stands for: an activity, the user's frames (innermost first), the innermost frame of any file."""

    ns: int
    time: int
    activity: str
    frames: tuple[tuple[str, int, str], ...]
    leaf: tuple[str, int, str]
    span: str = ""
    """The name of the innermost span (``decode image``, ``ToTensor``), where there is one."""


@dataclass(frozen=True)
class Context:
    """Everything that was measured, with the questions that rules ask of it. All times in nanoseconds."""

    recording: Recording
    account: Account
    main: Main | None = None
    _cache: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(recording: Recording, account: Account) -> Context:
        main, _ = work_out(recording)
        return Context(recording, account, main)

    # Seconds ----------------------------------------------------------------------------------------------------------------

    @property
    def wall(self) -> int:
        return self.account.wall_ns

    @cached_property
    def rows(self) -> dict[str, Activity]:
        return {row.name: row for row in self.account.activities}

    def ns(self, *names: str) -> int:
        """Own time of these activities together; a name ending in ``/`` stands for all below it."""
        return sum(row.ns for name, row in self.rows.items() if name in names or any(n.endswith("/") and name.startswith(n) for n in names))

    def count(self, name: str) -> int:
        row = self.rows.get(name)
        return row.count if row else 0

    def part(self, activity: str, *prefixes: str) -> int:
        """Nanoseconds of the parts of an activity (and of its evaluation twin) whose names begin with one of these."""
        found = 0
        for name in (activity, f"evaluate/{activity}"):
            row = self.rows.get(name)
            found += sum(part.ns for part in row.parts if part.name.startswith(prefixes)) if row else 0
        return found

    @cached_property
    def loop(self) -> int:
        """The time of training itself: the wall without start, setup, end and what is not known."""
        return max(self.wall - self.ns(*OUTSIDE_LOOP), 1)

    @cached_property
    def steps(self) -> int:
        return self.account.steps.count

    def per_step(self, ns: float) -> float:
        return ns / max(self.steps, 1)

    # Facts ------------------------------------------------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        return self.account.facts

    @cached_property
    def loaders(self) -> dict[int, dict[str, Any]]:
        """Facts of each loader by number."""
        return {int(n.split()[1]): v for n, v in self.facts.items() if n.startswith("loader ") and isinstance(v, dict)}

    @cached_property
    def optimizers(self) -> list[dict[str, Any]]:
        return [v for n, v in self.facts.items() if n.startswith("optimizer ") and isinstance(v, dict)]

    def lane_facts(self, prefix: str) -> list[tuple[Lane, dict[str, Any]]]:
        """Every fact of any process whose name begins so, in order of time within a lane."""
        return [(lane, fact) for lane in self.recording.lanes for fact in lane.facts if str(fact.get("name", "")).startswith(prefix)]

    @property
    def cores(self) -> float:
        """Cores that the script may really use."""
        return float(self.recording.run.machine.get("cores_usable") or 1)

    @cached_property
    def busy(self) -> tuple[float, float] | None:
        """Cores busy on average while training, the script's own and everybody else's; None where nobody watched."""
        rows = [row for row in self.recording.run.watched if self._loop_bounds[0] <= row[0] <= self._loop_bounds[1]]
        if len(rows) < 3 or rows[-1][0] <= rows[0][0]:
            return None
        span = rows[-1][0] - rows[0][0]
        own = (rows[-1][2] - rows[0][2]) / span
        return max(own, 0.0), max((rows[-1][1] - rows[0][1]) / span - own, 0.0)

    @cached_property
    def _loop_bounds(self) -> tuple[int, int]:
        if self.main is None or not len(self.main.marker.ends):
            return self.recording.run.start_ns, self.recording.run.end_ns
        times = self.main.swept.lane.event_time
        ends = np.asarray(self.main.marker.ends)
        ends = ends[ends < len(times)]
        return (int(times[ends[0]]), int(times[ends[-1]])) if len(ends) else (self.recording.run.start_ns, self.recording.run.end_ns)

    # Inspected steps --------------------------------------------------------------------------------------------------------

    @cached_property
    def inspected(self) -> list[dict[str, Any]]:
        """Complete inspected steps of the main process, early to late."""
        lane = self.main.lane if self.main else None
        return sorted((s for s in (lane.inspected if lane else ()) if s.get("ops")), key=lambda s: s["step"])

    def operators(self, phase: str | None = None) -> list[Operator]:
        """Operators of the last inspected step."""
        if not self.inspected:
            return []
        rows = [
            Operator(str(r[0]), tuple(map(_shape, r[1])), str(r[2]), int(r[3]), int(r[4]), str(r[5]))
            for r in self.inspected[-1]["ops"]
            if len(r) > 5
        ]
        return [row for row in rows if phase is None or row.phase == phase]

    def seen(self, name: str) -> Any:
        """What the last inspected step noted under a name (``subnormal``, ``embeddings``, ``phases``, ``operators``)."""
        return self.inspected[-1].get("seen", {}).get(name) if self.inspected else None

    # Lines ------------------------------------------------------------------------------------------------------------------

    @cached_property
    def samples(self) -> list[Sample]:
        """Looks of the sampler at the main thread, each with the activity that ran."""
        if self.main is None:
            return []
        timeline, pid = self.main.timeline, self.main.lane.pid
        found: list[Sample] = []
        for lane in self.recording.lanes:
            if lane.pid != pid or lane.thread != "sampler" or not len(lane.sample_time):
                continue
            place = np.searchsorted(timeline.end, lane.sample_time, side="right").clip(0, len(timeline.end) - 1)
            gaps = np.diff(lane.sample_time, prepend=lane.sample_time[0] - 40_000_000).clip(0, 1_000_000_000)
            names = [timeline.names[int(number)] for number in timeline.activity[place]]
            spans = [one.name if (one := timeline.definitions.get(code)) else "" for code in timeline.code[place].tolist()]
            looks = zip(lane.sample_time.tolist(), gaps.tolist(), names, lane.sample_stack.tolist(), spans, strict=True)
            for time, gap, name, stack, span in looks:
                known = lane.stacks.get(stack)
                if known is not None:
                    found.append(Sample(gap, time, name, known.frames, known.leaf, span))
        return found

    def hot_lines(self, *activities: str, callers: bool = False) -> list[Where]:
        """The user's lines by sampled time inside these activities (none: all), most first; ``callers``: every frame counts."""
        sums: dict[tuple[str, int, str], int] = defaultdict(int)
        for sample in self.samples:
            if activities and not any(sample.activity == a or (a.endswith("/") and sample.activity.startswith(a)) for a in activities):
                continue
            for frame in dict.fromkeys(sample.frames if callers else sample.frames[:1]):
                sums[frame] += sample.ns
        return [Where(f, n, fn, ns) for (f, n, fn), ns in sorted(sums.items(), key=lambda item: -item[1])]

    def leaf_share(self, part_of_path: str, *activities: str) -> float:
        """The share of the samples in these activities whose innermost frame lies in a file with this in its path."""
        mine = [s for s in self.samples if not activities or s.activity in activities]
        whole = sum(s.ns for s in mine)
        return sum(s.ns for s in mine if part_of_path in s.leaf[0]) / whole if whole else 0.0

    def leaf_ns(self, part_of_path: str, *activities: str) -> int:
        """Sampled time in these activities whose innermost frame lies in a file with this in its path."""
        return sum(s.ns for s in self.samples if (not activities or s.activity in activities) and part_of_path in s.leaf[0])

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The user's files that were seen, the script first."""
        seen = dict.fromkeys(([self.account.script] if self.account.script else []) + [f for s in self.samples for f, _, _ in s.frames])
        return tuple(seen)

    def made_at(self, name: str) -> Where | None:
        """Where the user's code makes an object of this class or calls this function."""
        found = source.where_made(self.files, name)
        return Where(found[0], found[1]) if found else None

    # Workers ----------------------------------------------------------------------------------------------------------------

    @cached_property
    def worker_samples(self) -> list[Sample]:
        """Looks of the samplers at loader workers; the activity is what an account calls a worker's work (``fetch``, ``idle`` …)."""
        found: list[Sample] = []
        for lane in self.recording.lanes:
            if lane.thread != "main" or not is_worker(lane):
                continue
            looks = next((s for s in self.recording.lanes if s.pid == lane.pid and s.thread == "sampler" and len(s.sample_time)), None)
            if looks is None:
                continue
            swept = sweep(lane, int(lane.header["base"]), self.recording.run.end_ns)
            tiles = tile(swept, codes(lane.definitions))
            place = np.searchsorted(tiles.end, looks.sample_time, side="right").clip(0, len(tiles.end) - 1)
            gaps = np.diff(looks.sample_time, prepend=looks.sample_time[0] - 40_000_000).clip(0, 1_000_000_000)
            rows = zip(looks.sample_time.tolist(), gaps.tolist(), tiles.code[place].tolist(), looks.sample_stack.tolist(), strict=True)
            works = [code for code, one in lane.definitions.items() if one.kind == "span" and (one.activity or "").startswith("data.")]
            begins = lane.event_time[np.isin(lane.event_code, works)]
            for time, gap, code, stack in rows:
                known, definition = looks.stacks.get(stack), lane.definitions.get(code)
                if known is not None and len(begins) and time >= begins[0]:
                    name = worker_activity(definition, before_work=False) or "other"
                    found.append(Sample(gap, time, name, known.frames, known.leaf, definition.name if definition else ""))
        return found

    def worker_ns(self, name: str) -> int:
        """Time of all loader workers together under one of their names (fetch, transform, collate, idle, hand-over)."""
        return sum(row.ns for row in self.account.overlapped if row.process.startswith("worker") and row.name == name)

    def worker_parts(self, name: str) -> dict[str, tuple[int, int]]:
        """Nanoseconds and counts of the parts of a worker row, over all workers."""
        sums: dict[str, tuple[int, int]] = {}
        for row in self.account.overlapped:
            if row.process.startswith("worker") and row.name == name:
                for part in row.parts:
                    ns, count = sums.get(part.name, (0, 0))
                    sums[part.name] = (ns + part.ns, count + part.count)
        return sums

    # Change over time -------------------------------------------------------------------------------------------------------

    def trend(self, activity: str | None = None) -> tuple[float, float] | None:
        """Mean nanoseconds a step in the first and in the last quarter of the steps (of one activity, or of all); None if too few."""
        if self.main is None or self.steps < 40:
            return None
        timeline = self.main.timeline
        step = timeline.step
        inside = (step > 0) & (step < self.steps)
        if activity is not None:
            inside &= timeline.activity == timeline.names.index(activity) if activity in timeline.names else False
        else:
            skip = [timeline.names.index(n) for n in timeline.names if n.startswith(("evaluate", "startup", "compile")) or n == "gc"]
            inside &= ~np.isin(timeline.activity, skip)
        length = (timeline.end - timeline.start)[inside]
        quarter = np.minimum(step[inside] * 4 // self.steps, 3)
        sums = np.bincount(quarter, weights=length, minlength=4)
        each = self.steps / 4
        return float(sums[0] / each), float(sums[3] / each)


def _shape(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
