"""Turning the events of one lane into tiles: every nanosecond belongs to the innermost span, to a part of it, or to no span."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unslow.activities import ACTIVITIES, evaluated
from unslow.recording.model import Definition, IntArray, Lane
from unslow.recording.nesting import BoolArray, Nesting, nest

NAMES = tuple(ACTIVITIES)
"""An activity's number is its place here; -1 stands for the script's own level, which ``phases`` names."""

UNEXPLAINED = NAMES.index("unexplained")

HEAD = 2
"""Tiles before the first event's: from the start of the process to the lane's base, and from there to the first event."""

OUTSIDE, EDGE, ADDED = -1, -2, -3
"""Owners that are no span: script level, before and after the lane, and a piece that parts or totals have filled."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Consecutive pieces of time. All arrays have the shape (tiles,); ``start`` of one is ``end`` of the one before.

    ``cost``: nanoseconds at the start that went into observing. ``code``: 0 outside all spans. ``owner``: the begin event of
    the span whose own time this is. ``event``: the place in the lane (``HEAD`` + event index). ``count``: spans or pieces that began.
    ``activity``: number of the activity, -1 at script level. ``early``: 1 where it is ``setup`` as long as training has not begun.
    ``evaluate``: 1 where a totals window says that it was evaluation.
    """

    start: IntArray
    end: IntArray
    cost: IntArray
    code: IntArray
    owner: IntArray
    event: IntArray
    count: IntArray
    activity: IntArray
    early: IntArray
    evaluate: IntArray

    @property
    def net(self) -> IntArray:
        """Length without the cost of observing."""
        return self.end - self.start - self.cost


@dataclass(frozen=True, slots=True)
class Timeline:
    """The main thread, tiled from spawn to exit: what later stages ask for evidence. Arrays have the shape (tiles,).

    ``activity`` indexes ``names`` (activities, then their evaluation twins); ``cost`` nanoseconds at the start of each tile
    belong to ``observer`` instead. ``step`` counts the updates that ended before the tile.
    """

    start: IntArray
    end: IntArray
    cost: IntArray
    code: IntArray
    activity: IntArray
    evaluate: BoolArray
    step: IntArray
    count: IntArray
    names: tuple[str, ...]
    definitions: dict[int, Definition]


ROWS = NAMES + tuple(evaluated(name) for name in NAMES)
"""Row names by number: the activities, then what each is called inside evaluation."""

_IN_EVALUATION = np.array([ROWS.index(evaluated(name)) for name in NAMES])


@dataclass(frozen=True, slots=True)
class Phases:
    """For each place in the lane: the script level's activity, and flags for what lies there. Shape: (tiles before any cut,)."""

    script: IntArray
    before_training: BoolArray
    evaluate: BoolArray


@dataclass(frozen=True, slots=True)
class Swept:
    """A lane with its nesting; event times are clipped to the run and never run backwards."""

    lane: Lane
    time: IntArray
    nesting: Nesting
    begin: int
    base: int
    alive: int
    finish: int


def sweep(lane: Lane, begin: int, finish: int, alive: int | None = None) -> Swept:
    """Nest the spans of ``lane`` within ``begin`` … ``finish``; spans open at an abrupt end last until ``alive``."""
    spans = np.zeros(0x8001, dtype=bool)
    for code, definition in lane.definitions.items():
        if 0 < code <= 0x7FFF:
            spans[code] = definition.kind == "span"
    is_span = spans[lane.event_code]
    nesting = nest(is_span & (lane.event_end == 0), is_span & (lane.event_end == 1))
    # Not before the lane's last word, whatever the other lanes of the process say.
    alive = max(lane.last_time, alive or 0) if lane.ended is None else max(lane.ended, lane.last_time)
    time = lane.event_time.copy()
    if lane.unclosed and lane.ended is None:
        time[-lane.unclosed :] = alive
    base = min(max(int(lane.header["base"]), begin), finish)
    alive = min(max(alive, base), finish)
    return Swept(lane, np.clip(time, base, alive), nesting, begin, base, alive, finish)


@dataclass(frozen=True, slots=True)
class Codes:
    """What the definitions of a lane say, as arrays indexed by code. ``activity``: -1 where a span keeps the one around it."""

    activity: IntArray
    otherwise: IntArray
    setup: IntArray


def codes(definitions: dict[int, Definition]) -> Codes:
    """Tables of ``definitions``; an activity that is not in the vocabulary is unexplained."""
    size = max(definitions, default=0) + 1
    activity, otherwise = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    setup = np.zeros(size, dtype=np.int64)
    numbers = {name: number for number, name in enumerate(NAMES)}
    for code, definition in definitions.items():
        if definition.activity is not None:
            activity[code] = otherwise[code] = numbers.get(definition.activity, UNEXPLAINED)
        elif "otherwise" in definition.attributes:
            # What would be the script's own stays at script level: the phase names it (setup, teardown, evaluate).
            name = definition.attributes["otherwise"]
            otherwise[code] = -1 if name == "script" else numbers.get(name, UNEXPLAINED)
        setup[code] = bool(definition.attributes.get("setup"))
    return Codes(activity, otherwise, setup)


def _activities(swept: Swept, table: Codes) -> tuple[IntArray, BoolArray]:
    """For each event: the activity of the span that is innermost after it, and whether that is ``setup`` before training.

    A span without an activity is a named part of the nearest span around it that has one.
    """
    nesting, code = swept.nesting, swept.lane.event_code
    begins = np.flatnonzero(nesting.begin)
    activity = np.full(len(code) + 1, -1, dtype=np.int64)
    activity[begins] = table.activity[code[begins]]
    around = np.concatenate([[-1], nesting.owner])
    pending = begins[activity[begins] < 0]
    outer = around[pending]
    while len(pending):
        found = activity[outer]
        activity[pending] = found
        done = (found >= 0) | (outer < 0)
        # One that has none around it either is left at -1 here: directly in the script.
        pending, outer = pending[~done], around[outer[~done]]
    early = np.zeros(len(code) + 1, dtype=bool)
    own = table.activity[code[begins]] >= 0
    early[begins] = (table.setup[code[begins]] > 0) & (own | (activity[begins] < 0))
    loose = begins[activity[begins] < 0]
    activity[loose] = table.otherwise[code[loose]]
    return activity[nesting.owner], early[nesting.owner]


def _named_by_importer(code: IntArray, owner: IntArray, activity: IntArray, swept: Swept, table: Codes) -> IntArray:
    around = np.concatenate([swept.nesting.owner, [-1]])
    named, place = code.copy(), owner.copy()
    pending = np.flatnonzero((activity == NAMES.index("startup.import")) & (owner >= 0) & (table.activity[code] < 0))
    while len(pending):
        # ``around`` of a begin event is the span that was innermost before it.
        place[pending] = around[place[pending] - 1]
        pending = pending[place[pending] >= 0]
        named[pending] = swept.lane.event_code[place[pending]]
        pending = pending[table.activity[named[pending]] < 0]
    return named


def tile(swept: Swept, table: Codes) -> Tiles:
    """The plain tiles: ``HEAD`` of them before the first event, one after each event, one after the lane."""
    lane, nesting = swept.lane, swept.nesting
    count = len(swept.time)
    edges = np.concatenate([[swept.begin, swept.base], swept.time, [swept.alive, swept.finish]])
    owner = np.concatenate([[EDGE, OUTSIDE], nesting.owner, [EDGE]])
    code = np.where(owner >= 0, np.concatenate([lane.event_code, [0]])[np.maximum(owner, -1)], 0)
    length = np.diff(edges)
    total_cost = max(0, int(lane.header.get("span_cost_ns") or 0))
    inside = min(max(0, int(lane.header.get("inside_cost_ns") or 0)), total_cost)
    # A hook works before the first and after the last clock read of its span: that is time of the tile after the end.
    cost = np.zeros(count + HEAD + 1, dtype=np.int64)
    cost[HEAD:-1] = nesting.begin * inside + nesting.finish * (total_cost - inside)
    begun = (owner < 0) & (length > 0)
    begun[HEAD:-1] |= nesting.begin
    activity = np.full(len(owner), -1, dtype=np.int64)
    early = np.zeros(len(owner), dtype=np.int64)
    activity[HEAD:-1], early[HEAD:-1] = _activities(swept, table)
    # What a module does while it is imported (it sleeps, it reads) is that module's own time.
    code = _named_by_importer(code, owner, activity, swept, table)
    return Tiles(
        start=edges[:-1], end=edges[1:], cost=np.minimum(cost, length), code=code, owner=owner,
        event=np.arange(count + HEAD + 1), count=begun.astype(np.int64), activity=activity, early=early,
        evaluate=np.zeros(count + HEAD + 1, dtype=np.int64),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Segments:
    """Stretches of own time that belong to something else, in the coordinate of ``Own``, in order, without overlap."""

    low: IntArray
    high: IntArray
    code: IntArray
    count: IntArray
    cost: IntArray
    evaluate: IntArray


class Own:
    """The own time of chosen spans, laid end to end: each span is one stretch of a common coordinate. Tiles from ``first`` on."""

    def __init__(self, tiles: Tiles, owners: npt.ArrayLike, first: int = 0) -> None:
        lookup = np.zeros(int(tiles.owner.max()) + 5, dtype=bool)
        lookup[np.asarray(owners)] = True
        chosen = first + np.flatnonzero(lookup[tiles.owner[first:]])
        self.scale = int(tiles.event[-1]) + 2
        # Owners are at least OUTSIDE here; pieces of one event keep their order.
        key = (tiles.owner[chosen] + 1) * self.scale + tiles.event[chosen]
        order = np.argsort(key, kind="stable")
        self.tiles = chosen[order]
        self.key = key[order]
        length = tiles.net[self.tiles]
        self.end = np.cumsum(length)
        self.start = self.end - length
        self.since = tiles.start[self.tiles]

    def first(self, owner: IntArray) -> IntArray:
        """Where the stretch of ``owner`` begins."""
        place = np.searchsorted(self.key, (owner + 1) * self.scale)
        return np.concatenate([self.start, self.end[-1:]])[place]

    def before(self, owner: IntArray, event: IntArray) -> IntArray:
        """How far the own time of ``owner`` has come when ``event`` (a place in the lane) happens."""
        place = np.searchsorted(self.key, (owner + 1) * self.scale + event) - 1
        return np.maximum(np.where(place >= 0, self.end[place], 0), self.first(owner))


def in_order(*arrays: IntArray) -> IntArray:
    """The distinct values of sorted arrays: a stable sort merges their runs, far faster than ``np.unique``."""
    merged = np.sort(np.concatenate(arrays), kind="stable")
    distinct: IntArray = merged[np.append(True, merged[1:] != merged[:-1])[: len(merged)]]
    return distinct


def cut_parts(tiles: Tiles, swept: Swept, table: Codes) -> Tiles:
    """Give parts their nanoseconds, out of the own time of the span around them and before the place where they were written."""
    lane = swept.lane
    if not len(lane.part_ns):
        return tiles
    owner = np.concatenate([[OUTSIDE], swept.nesting.owner])[lane.part_event]
    place = lane.part_event + HEAD
    own = Own(tiles, owner)
    order = np.argsort((owner + 1) * own.scale + place, kind="stable")
    owner, place = owner[order], place[order]
    reach, floor = own.before(owner, place), own.first(owner)
    length = np.minimum(np.maximum(lane.part_ns[order], 0), reach - floor)
    # A span cannot lose more than it has: what its parts claim beyond that is taken off the later ones.
    running = np.cumsum(length)
    starts = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
    group = np.repeat(np.arange(len(starts)), np.diff(np.concatenate([starts, [len(owner)]])))
    before_group = (running - length)[starts][group]
    stops = np.append(starts[1:], len(owner)).tolist()
    excess = group[running - before_group > reach - floor]
    for one in excess[np.append(True, excess[1:] != excess[:-1])[: len(excess)]].tolist():
        used = 0
        for i in range(int(starts[one]), stops[one]):
            length[i] = min(int(length[i]), int(reach[i] - floor[i]) - used)
            used += int(length[i])
    # Each part ends as late as it can: at its place, or where the next one begins.
    later = np.cumsum(length[::-1])[::-1]
    after = np.concatenate([later[1:], [0]])
    low = np.minimum.accumulate((reach + after)[::-1])[::-1] - later
    zeros = np.zeros(len(low), dtype=np.int64)
    segments = Segments(low, low + length, lane.part_code[order], lane.part_count[order], zeros, zeros)
    return cut(tiles, own, segments, table)


def cut(tiles: Tiles, own: Own, segments: Segments, table: Codes) -> Tiles:
    """Cut the tiles of ``own`` at the segments' ends. Their cost and count stay in a head of no net length."""
    if not len(segments.low) or not len(own.tiles):
        return tiles
    total = int(own.end[-1])
    real = np.flatnonzero(segments.high > segments.low)
    empty = np.flatnonzero((segments.high <= segments.low) & (segments.code > 0))
    low, high = segments.low[real], segments.high[real]
    bounds = in_order(own.start, low, high)
    bounds = bounds[bounds < total]
    stops = np.append(bounds[1:], total)
    place = np.searchsorted(own.end, bounds, side="right")
    held = own.tiles[place]
    inner = np.searchsorted(low, bounds, side="right") - 1
    within = (inner >= 0) & (bounds < np.append(high, 0)[inner])
    which = np.append(real, 0)[inner]
    first = within & (np.append(low, 0)[inner] == bounds)

    start = tiles.start[held] + tiles.cost[held] + bounds - own.start[place]
    # Code 0 is the time outside all spans: it stays what the tile was.
    coded = np.where(within & (segments.code[which] > 0), segments.code[which], 0)
    pieces = Tiles(
        start=start, end=start + stops - bounds,
        cost=np.where(first, np.minimum(segments.cost[which], stops - bounds), 0),
        code=np.where(coded > 0, coded, tiles.code[held]), activity=np.where(coded > 0, table.otherwise[coded], tiles.activity[held]),
        early=np.where(coded > 0, table.setup[coded], tiles.early[held]),
        owner=np.where(within, ADDED, tiles.owner[held]), event=tiles.event[held],
        count=np.where(first, segments.count[which], 0),
        evaluate=np.where(within, segments.evaluate[which], tiles.evaluate[held]),
    )  # fmt: skip
    heads = _take(tiles, own.tiles)
    heads = replace(heads, end=heads.start + heads.cost)
    place = np.minimum(np.searchsorted(own.end, segments.low[empty]), len(own.tiles) - 1)
    held = own.tiles[place]
    at = tiles.start[held] + tiles.cost[held] + np.maximum(segments.low[empty] - own.start[place], 0)
    nothing = replace(
        _take(tiles, held), start=at, end=at, cost=np.zeros_like(at), owner=np.full_like(at, ADDED),
        code=segments.code[empty], activity=table.otherwise[segments.code[empty]], early=table.setup[segments.code[empty]],
        count=segments.count[empty],
    )  # fmt: skip
    untouched = np.ones(len(tiles.start), dtype=bool)
    untouched[own.tiles] = False
    return _joined([_take(tiles, np.flatnonzero(untouched)), heads, nothing, pieces])


def _take(tiles: Tiles, index: IntArray) -> Tiles:
    return Tiles(*(getattr(tiles, name)[index] for name in Tiles.__slots__))


def _joined(groups: list[Tiles]) -> Tiles:
    columns: dict[str, Any] = {name: np.concatenate([getattr(group, name) for group in groups]) for name in Tiles.__slots__}
    # By time, then by place in the lane; what has no length comes before what begins at the same instant.
    order = np.lexsort((columns["end"], columns["event"], columns["start"]))
    return Tiles(**{name: column[order] for name, column in columns.items()})


def name_tiles(tiles: Tiles, named: Phases, definitions: dict[int, Definition], step_ends: IntArray) -> Timeline:
    """The finished timeline: script level by phase, set-up before training, evaluation apart."""
    evaluate = named.evaluate[tiles.event] | (tiles.evaluate > 0)
    activity = np.where(tiles.activity < 0, named.script[tiles.event], tiles.activity)
    activity = np.where((tiles.early > 0) & named.before_training[tiles.event] & ~evaluate, NAMES.index("setup"), activity)
    activity = np.where(evaluate, _IN_EVALUATION[activity], activity)
    step = np.searchsorted(step_ends + HEAD, tiles.event, side="right")
    return Timeline(
        start=tiles.start, end=tiles.end, cost=tiles.cost, code=tiles.code, activity=activity, evaluate=evaluate, step=step,
        count=tiles.count, names=ROWS, definitions=definitions,
    )  # fmt: skip
