"""Adding up a timeline: rows of the account for the whole run or any stretch of it, exact to the nanosecond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unslow.account.model import Activity, Part, Segment, Where
from unslow.account.sweep import NAMES, ROWS, Timeline, in_order
from unslow.recording.model import IntArray

MAX_PARTS = 200
MAX_SLICES = 400
ALWAYS = ("unexplained", "observer")
_OBSERVER = NAMES.index("observer")


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums by row and code: ``ns`` and ``count`` have the shape (rows, codes); ``cost`` went into observing."""

    ns: IntArray
    count: IntArray
    cost: int


def tally(timeline: Timeline) -> Tally:
    """Sums over the whole timeline."""
    return _sums(timeline, slice(None), timeline.end - timeline.start - timeline.cost, timeline.cost, timeline.count)


def tally_within(timeline: Timeline, starts: IntArray, ends: IntArray) -> Tally:
    """Sums over sorted, disjoint stretches of time (absolute nanoseconds)."""
    first = max(0, int(np.searchsorted(timeline.start, starts[0], side="right")) - 1)
    last = int(np.searchsorted(timeline.start, ends[-1]))
    part = slice(first, last)
    length = np.concatenate([[0], np.cumsum(ends - starts)])

    def covered(time: IntArray) -> IntArray:
        place = np.searchsorted(starts, time, side="right") - 1
        inside = np.minimum(time, ends[place]) - starts[place]
        total: IntArray = np.where(place >= 0, length[place] + inside, 0)
        return total

    begin, middle = covered(timeline.start[part]), covered(timeline.start[part] + timeline.cost[part])
    net = covered(timeline.end[part]) - middle
    place = np.searchsorted(starts, timeline.start[part], side="right") - 1
    begun = (place >= 0) & (timeline.start[part] < ends[place])
    return _sums(timeline, part, net, middle - begin, timeline.count[part] * begun)


def _sums(timeline: Timeline, part: slice, net: IntArray, cost: IntArray, count: IntArray) -> Tally:
    codes = max(timeline.definitions, default=0) + 1
    key = timeline.activity[part] * codes + timeline.code[part]
    shape = (len(ROWS), codes)
    # Sums of whole numbers below 2**53 are exact in the floating point that bincount uses.
    ns = np.bincount(key, weights=net, minlength=shape[0] * codes).astype(np.int64).reshape(shape)
    counts = np.bincount(key, weights=count, minlength=shape[0] * codes).astype(np.int64).reshape(shape)
    return Tally(ns, counts, int(cost.sum()))


def activities(
    timeline: Timeline, sums: Tally, where: dict[str, tuple[Where, ...]] | None = None, max_parts: int = MAX_PARTS
) -> tuple[Activity, ...]:
    """Rows, largest first, then ``unexplained`` and ``observer``, which are always there. ``sum(ns)`` is the length of the stretch."""
    rows: list[Activity] = []
    totals = sums.ns.sum(axis=1)
    last: dict[str, Activity] = {}
    names = list(dict.fromkeys(ROWS))
    for name in names:
        numbers = [number for number, row in enumerate(ROWS) if row == name]
        ns = int(totals[numbers].sum())
        count, parts = _parts(timeline, sums.ns[numbers].sum(axis=0), sums.count[numbers].sum(axis=0), name, max_parts)
        if name == "observer":
            ns += sums.cost
            spans = [code for code, definition in timeline.definitions.items() if definition.kind == "span"]
            hooks = int(sums.count[:, spans].sum())
            parts = (Part("hooks", sums.cost, hooks), *parts) if sums.cost else parts
            count = count or hooks
        row = Activity(name, ns, count, (where or {}).get(name, ()), parts)
        if name in ALWAYS:
            last[name] = row
        elif ns:
            rows.append(row)
    rows.sort(key=lambda row: -row.ns)
    return (*rows, *(last[name] for name in ALWAYS))


def _parts(timeline: Timeline, ns: IntArray, count: IntArray, name: str, limit: int) -> tuple[int, tuple[Part, ...]]:
    """How often, and the named shares of one row."""
    found: dict[str, list[int]] = {}
    own, named = 0, 0
    for code in np.flatnonzero((ns > 0) | (count > 0)).tolist():
        if code == 0:
            own = int(count[0])
            continue
        definition = timeline.definitions[code]
        entry = found.setdefault(definition.name, [0, 0])
        entry[0] += int(ns[code])
        entry[1] += int(count[code])
        # A span that keeps the activity around it is a part, not one more of that activity.
        named += int(count[code]) if definition.activity is not None else 0
    if not found and name not in ("loss", "evaluate/loss"):
        return own, ()
    if own or ns[0]:
        found["in the script"] = [int(ns[0]), own]
    parts = sorted((Part(part, *sums) for part, sums in found.items()), key=lambda part: -part.ns)
    if name == "startup.import":
        parts = _by_package(parts, limit // 2)
    if len(parts) > limit:
        parts = [*parts[: limit - 1], _together("{} others", parts[limit - 1 :])]
    return named or own or sum(part.count for part in parts), tuple(parts)


def _by_package(parts: list[Part], limit: int) -> list[Part]:
    """The longest modules one by one, the rest of each package in one: what a package took in all can still be added up."""
    rest: dict[str, list[Part]] = {}
    for part in parts[limit:]:
        rest.setdefault(part.name.split(".")[0], []).append(part)
    joined = [_together(package + ".* ({} more modules)", some) if len(some) > 1 else some[0] for package, some in rest.items()]
    return sorted([*parts[:limit], *joined], key=lambda part: -part.ns)


def _together(name: str, parts: list[Part]) -> Part:
    return Part(name.format(len(parts)), sum(part.ns for part in parts), sum(part.count for part in parts))


def strip(timeline: Timeline) -> tuple[Segment, ...]:
    """The run in at most ``MAX_SLICES`` slices, each named after the activity that held most of it, equal neighbours joined."""
    origin, stop = int(timeline.start[0]), int(timeline.end[-1])
    number = min(MAX_SLICES, stop - origin)
    if number <= 0:
        return ()
    edges = origin + np.arange(number + 1, dtype=np.int64) * (stop - origin) // number
    real = np.flatnonzero(timeline.end > timeline.start)
    starts = timeline.start[real]
    bounds = in_order(starts, edges[:-1])
    length = np.diff(np.append(bounds, stop))
    row = timeline.activity[real][np.searchsorted(starts, bounds, side="right") - 1]
    piece = np.searchsorted(edges, bounds, side="right") - 1
    sums = np.bincount(piece * len(ROWS) + row, weights=length, minlength=number * len(ROWS)).reshape(number, len(ROWS))
    names = [ROWS[one] for one in sums.argmax(axis=1).tolist()]
    changes = [0, *(i for i in range(1, number) if names[i] != names[i - 1])]
    return tuple(
        Segment(int(edges[low]) - origin, int(edges[high]) - origin, names[low])
        for low, high in zip(changes, [*changes[1:], number], strict=True)
    )
