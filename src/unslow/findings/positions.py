"""Where in a step a look lies: before the forward of its function, at it, or after its last backward or update."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from unslow.findings import kinds, source
from unslow.findings.context import Context, Sample


def seated(sample: Sample, context: Context) -> Sample:
    """The look with its innermost frame where the work was, which may be a line or two before the one that was seen."""
    if not sample.frames:
        return sample
    file, number, function = sample.frames[0]
    bounds = _anchors(context).get((file, function))
    line = kinds.seat(file, number, bounds is not None and number == bounds[0])[1]
    return sample if line == number else replace(sample, frames=((file, line, function), *sample.frames[1:]))


def position(sample: Sample, context: Context) -> str | None:
    """Whether a look lies ``before`` the forward of its step, ``at`` its line or ``after`` its update, in the order of the lines."""
    anchors = _anchors(context)
    found: str | None = None
    for frame in reversed(sample.frames):
        bounds = anchors.get((frame[0], frame[2]))
        if bounds is None:
            continue
        if frame[1] < bounds[0]:
            found = "before"
        elif frame[1] > bounds[1]:
            found = "after"
        else:
            found = "at" if frame[1] == bounds[0] else None
    return found


def first_forward(file: str, function: str, context: Context) -> int | None:
    """The first line in a function that leads to a forward."""
    bounds = _anchors(context).get((file, function))
    return bounds[0] if bounds is not None else None


def leads_to_step(file: str, function: str, context: Context) -> bool:
    """Whether a step of training is called from this function, directly or further down."""
    return (file, function) in _anchors(context)


def _anchors(context: Context) -> dict[tuple[str, str], tuple[int, int]]:
    """For each function that leads to forwards and updates: the first line of a forward, the last of a backward or update."""
    if "anchors" not in context._cache:
        context._cache["anchors"] = _find_anchors(context)
    found: dict[tuple[str, str], tuple[int, int]] = context._cache["anchors"]
    return found


def _find_anchors(context: Context) -> dict[tuple[str, str], tuple[int, int]]:
    first: dict[tuple[str, str], set[int]] = defaultdict(set)
    last: dict[tuple[str, str], set[int]] = defaultdict(set)
    for sample in context.samples:
        for into, activities in ((first, ("forward",)), (last, ("backward", "optimizer"))):
            if sample.activity in activities:
                for frame in sample.frames:
                    into[frame[0], frame[2]].add(frame[1])
    # Short parts of a step are seldom looked at: where the first call of each module stood, and what the source says.
    for one in context.main.timeline.definitions.values() if context.main is not None else ():
        if one.activity == "forward" and one.attributes.get("grad") and one.file and one.line and one.function:
            first[one.file, one.function].add(one.line)
    for (file, function), numbers in source.calls_that_lead_to(context.files, frozenset({"backward"})).items():
        last[file, function] |= numbers
    return {key: (min(first.get(key) or last[key]), max(last[key])) for key in last}
