"""What is done beside learning: logging, drawing, metrics, evaluations, while the training waits."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unslow.account.model import Where
from unslow.findings import kinds, source
from unslow.findings.context import Context, Sample
from unslow.findings.lines import unique
from unslow.findings.positions import first_forward, leads_to_step, position, seated

BY_HAND = ("script", "evaluate", "transfer.to_host", "evaluate/transfer.to_host")
_DRAWN = ("print", "progress bar")
_LIBRARIES = ("/sklearn/", "/torchmetrics/", "/scipy/stats", "/nltk/", "/evaluate/", "/sacrebleu/", "/rouge", "/seqeval/", "/pycocotools/")
# What functions that measure are called: whole words of a name, and longer ones anywhere in it.
_WORDS = frozenset({"acc", "f1", "auc", "roc", "iou", "dice", "wer", "cer", "mcc", "ece", "map", "ndcg", "mrr", "stats"})
_LONG_WORDS = (
    "accuracy", "precision", "recall", "metric", "score", "confusion", "perplexity", "correlation", "calibration", "bleu", "rouge",
    "distance", "kappa", "topk", "top_k",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Beside:
    """Something that steps wait for: nanoseconds, calls (0: not counted), names, lines."""

    ns: int
    count: int
    names: tuple[str, ...]
    where: tuple[Where, ...]


def while_training(context: Context, activity: str) -> tuple[int, int]:
    """Nanoseconds and calls of an activity from the first update to the last, evaluation included."""
    if context.main is None:
        return 0, 0
    timeline = context.main.timeline
    wanted = [number for number, name in enumerate(timeline.names) if name in (activity, f"evaluate/{activity}")]
    mine = np.isin(timeline.activity, wanted) & (timeline.step > 0)
    net = (timeline.end - timeline.start - timeline.cost)[mine]
    return int(net.sum()), int(timeline.count[mine].sum())


def saved_by_hand(context: Context) -> int:
    """Time of the script's own lines that save something."""
    return sum(sample.ns for sample in _looks(context) if _saves(sample, context))


def _looks(context: Context) -> list[Sample]:
    """All looks, those at the script's own lines where the work was."""
    if "looks" not in context._cache:
        context._cache["looks"] = [seated(s, context) if s.activity in BY_HAND else s for s in context.samples]
    found: list[Sample] = context._cache["looks"]
    return found


def _saves(sample: Sample, context: Context) -> bool:
    return sample.activity in BY_HAND and bool(sample.frames) and _writes(sample, context) == kinds.SAVE


def evaluations(context: Context) -> tuple[int, int]:
    """How many stretches of evaluation there were between updates, and their time in all."""
    if context.main is None:
        return 0, 0
    timeline = context.main.timeline
    mine = np.array([name.startswith("evaluate") for name in timeline.names])[timeline.activity] & (timeline.step > 0)
    length = (timeline.end - timeline.start - timeline.cost) * mine
    # All that is evaluated after the same update is one evaluation.
    return len(np.unique(timeline.step[mine & (length > 0)])), int(length.sum())


def logged(context: Context, drawn: bool) -> Beside:
    """Printing and drawing (``drawn``), or every other kind of logging, while training."""
    ns, count, names = _parts(context, "logging", lambda name: name in _DRAWN if drawn else name not in _DRAWN)
    kind = kinds.DRAW if drawn else kinds.WRITE

    def mine(sample: Sample) -> bool:
        if sample.activity.removeprefix("evaluate/") == "logging":
            return (sample.span in _DRAWN) == drawn
        return sample.activity in BY_HAND and bool(sample.frames) and _writes(sample, context) == kind

    by_hand = [sample for sample in _looks(context) if sample.activity in BY_HAND and mine(sample)]
    return Beside(ns + sum(sample.ns for sample in by_hand), count, tuple(names), _lines(context, mine))


def _writes(sample: Sample, context: Context) -> str:
    """Whether the user's line writes or draws, or stands in a function that is there to; a library is told by its file."""
    leaf = sample.leaf[0].replace("\\", "/")
    if "/tqdm/" in leaf or "/rich/" in leaf or "/progressbar" in leaf:
        return kinds.DRAW
    if "/logging/" in leaf or "/tensorboard" in leaf or "/wandb/" in leaf or "/mlflow/" in leaf or "/matplotlib/" in leaf:
        return kinds.WRITE
    own = kinds.kind(*sample.frames[0][:2])
    if own != kinds.PLAIN and own != kinds.CONVERT:
        return own
    for file, number, function in sample.frames[:3]:
        if leads_to_step(file, function, context):
            break
        inside = kinds.kinds_of_function(file, number)
        if inside & {kinds.DRAW, kinds.WRITE, kinds.SAVE}:
            # Building what is written belongs to the writing.
            return next(kind for kind in (kinds.SAVE, kinds.DRAW, kinds.WRITE) if kind in inside)
    return own


def measured(context: Context) -> Beside:
    """Metrics inside training steps, of libraries and by hand."""
    ns, count, names = _parts(context, "metrics", lambda _: True)
    hot = [sample for sample in _looks(context) if sample.activity in ("script", "loss", "transfer.to_host") and _measures(sample, context)]
    by_hand = sum(sample.ns for sample in hot)
    for sample in hot:
        name = sample.frames[0][2]
        if name not in names and name != "<module>":
            names.append(name)
    chosen = set(map(id, hot))
    return Beside(
        ns + by_hand, 0 if by_hand > ns else count, tuple(names), _lines(context, lambda s: s.activity == "metrics" or id(s) in chosen)
    )


def _measures(sample: Sample, context: Context) -> bool:
    leaf = sample.leaf[0].replace("\\", "/")
    if any(part in leaf for part in _LIBRARIES):
        return position(sample, context) != "before"
    where = position(sample, context)
    # On one line with the step itself the order is not known; what lies between forward and backward is the loss.
    if not sample.frames or (where != "after" and (where is not None or sample.activity != "script")):
        return False
    file, number, _ = sample.frames[0]
    line = source.line(file, number)
    words = [frame[2].lower() for frame in sample.frames[:3]] + [name.lower() for name in (line.names if line else ())]
    named = any(word in part for word in _LONG_WORDS for part in words) or any(_WORDS & set(part.split("_")) for part in words)
    # What writes is counted as writing, whatever it is given.
    writes = _writes(sample, context) in (kinds.WRITE, kinds.DRAW, kinds.SAVE)
    return named or (where == "after" and not writes and _takes_output(sample, context))


def _takes_output(sample: Sample, context: Context) -> bool:
    """Whether the line after the update hands what the model gave to a function: it is looked at, not learned from."""
    for file, number, function in sample.frames:
        first = first_forward(file, function, context)
        model, found = kinds.statement(file, first) if first is not None else None, kinds.statement(file, number)
        if model is None or found is None:
            continue
        given = {one.id for one in ast.walk(model[0]) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        calls = (
            [one for one in ast.walk(found[0]) if isinstance(one, ast.Call)]
            if not isinstance(found[0], ast.If | ast.For | ast.While)
            else []
        )
        taken = {name.id for call in calls for one in call.args for name in ast.walk(one) if isinstance(name, ast.Name)}
        return bool(given & taken)
    return False


def _parts(context: Context, activity: str, wanted: Callable[[str], bool]) -> tuple[int, int, list[str]]:
    """Time, calls and names of the spans of an activity while training."""
    if context.main is None:
        return 0, 0, []
    timeline = context.main.timeline
    rows = [number for number, name in enumerate(timeline.names) if name in (activity, f"evaluate/{activity}")]
    mine = np.isin(timeline.activity, rows) & (timeline.step > 0)
    net = timeline.end - timeline.start - timeline.cost
    sums: dict[str, int] = defaultdict(int)
    count = 0
    for code in np.unique(timeline.code[mine]).tolist():
        definition = timeline.definitions.get(code)
        name = definition.name if definition else "in the script"
        if wanted(name):
            chosen = mine & (timeline.code == code)
            sums[name] += int(net[chosen].sum())
            count += int(timeline.count[chosen].sum())
    return sum(sums.values()), count, sorted(sums, key=lambda name: -sums[name])


def _lines(context: Context, mine: Callable[[Sample], bool]) -> tuple[Where, ...]:
    """The hottest line of some samples, then those that lead to it."""
    hot: dict[tuple[str, int, str], int] = defaultdict(int)
    callers: dict[tuple[str, int, str], int] = defaultdict(int)
    for sample in _looks(context):
        if sample.frames and mine(sample):
            hot[sample.frames[0]] += sample.ns
            for frame in dict.fromkeys(sample.frames[1:]):
                callers[frame] += sample.ns
    first = [Where(f, n, fn, ns) for (f, n, fn), ns in sorted(hot.items(), key=lambda item: -item[1])]
    then = [Where(f, n, fn, ns) for (f, n, fn), ns in sorted(callers.items(), key=lambda item: -item[1])]
    return unique(first[:2], then[:3], first[2:4])
