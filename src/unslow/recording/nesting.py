"""How the spans of a lane nest: which begin belongs to which end, and which span is innermost after each event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unslow.recording.model import IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Nesting:
    """Arrays of shape (events,). ``begin``, ``finish``: the event opens or closes a span (a mark does neither).

    ``match``: the other end of the same span, -1 for a mark. ``owner``: the begin of the innermost span open after the event, or -1.
    """

    begin: BoolArray
    finish: BoolArray
    match: IntArray
    owner: IntArray


def nest(begin: BoolArray, finish: BoolArray) -> Nesting:
    """Match properly nested, fully closed spans, without a loop over events."""
    depth = np.cumsum(begin.astype(np.int32) - finish.astype(np.int32))
    spans = np.flatnonzero(begin | finish)
    # The level of a span is its depth while open; at one level begins and ends alternate.
    level = (depth + finish)[spans]
    order = spans[np.argsort(_narrow(level), kind="stable")]
    match = np.full(len(begin), -1, dtype=np.int64)
    match[order[0::2]] = order[1::2]
    match[order[1::2]] = order[0::2]

    # After a begin, the innermost span is that one; after an end or a mark it is the latest begin that reached the present depth.
    by_depth = np.argsort(_narrow(depth), kind="stable")
    position = np.where(begin[by_depth], np.arange(len(begin)), -1)
    latest = np.maximum.accumulate(position) if len(position) else position
    owner = np.full(len(begin), -1, dtype=np.int64)
    owner[by_depth] = np.where(latest >= 0, by_depth[latest], -1)
    owner[depth <= 0] = -1
    return Nesting(begin, finish, match, owner)


def _narrow(level: npt.NDArray[np.int32] | npt.NDArray[np.int64]) -> npt.NDArray[np.int16] | npt.NDArray[np.int32] | npt.NDArray[np.int64]:
    """Sixteen bits where they suffice: numpy sorts those in linear time."""
    return level.astype(np.int16) if len(level) and level.max() < 30_000 else level


def open_spans(begin: BoolArray, finish: BoolArray) -> list[int] | None:
    """Begins without an end, outermost first; None where an end comes without a begin."""
    depth = np.cumsum(begin.astype(np.int32) - finish.astype(np.int32))
    if len(depth) == 0:
        return []
    if depth.min() < 0:
        return None
    found: list[int] = []
    limit = len(depth)
    for level in range(int(depth[-1]), 0, -1):
        candidates = np.flatnonzero(begin[:limit] & (depth[:limit] == level))
        limit = int(candidates[-1])
        found.append(limit)
    return found[::-1]


def is_nested(code: IntArray, nesting: Nesting) -> bool:
    """Whether each end carries the code of the begin that it is matched with."""
    ends = np.flatnonzero(nesting.finish)
    return bool(np.array_equal(code[ends], code[nesting.match[ends]]))


def repair(time: IntArray, code: IntArray, begin: BoolArray, finish: BoolArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Make spans nest: an end without a begin is dropped, one that passes open spans closes them too.

    Returns time, code, end flag, and for each old event its place among the new ones. Slow; only for damaged or foreign data.
    """
    new: list[tuple[int, int, int]] = []
    place = np.zeros(len(time) + 1, dtype=np.int64)
    stack: list[int] = []
    for i, (t, c, opens, closes) in enumerate(zip(time.tolist(), code.tolist(), begin.tolist(), finish.tolist(), strict=True)):
        place[i] = len(new)
        if closes:
            if c in stack:
                while True:
                    top = stack.pop()
                    new.append((t, top, 1))
                    if top == c:
                        break
            continue
        if opens:
            stack.append(c)
        new.append((t, c, 0))
    place[len(time)] = len(new)
    columns = np.array(new, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2], place
