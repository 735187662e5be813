"""Windows in which only totals were kept: their sums become tiles, evaluation apart from training."""

from __future__ import annotations

from typing import Any

import numpy as np

from unslow.account.phases import is_ambiguous, is_evaluation
from unslow.account.sweep import EDGE, Codes, Own, Segments, Swept, Tiles, cut
from unslow.recording.model import Definition, IntArray
from unslow.units import apportion

_TRAINING = ("forward", "backward", "zero_grad", "step")


def cut_totals(tiles: Tiles, swept: Swept, table: Codes) -> Tiles:
    """Fill the windows in which only totals were kept with what they say, in order; the window's length stays."""
    windows = sorted(swept.lane.totals, key=lambda window: int(window["t0"]))
    windows = [window for window in windows if window["t1"] > window["t0"] and window.get("parts", []) + window.get("eval", [])]
    if not windows:
        return tiles
    total_cost = max(0, int(swept.lane.header.get("span_cost_ns") or 0))
    inside = min(max(0, int(swept.lane.header.get("inside_cost_ns") or 0)), total_cost)
    last = len(tiles.start) - 1
    holders = np.clip(np.searchsorted(tiles.start, [window["t0"] for window in windows], side="right") - 1, 0, last)
    owners = tiles.owner[holders]
    if not (owners > EDGE).any():
        return tiles
    own = Own(tiles, owners[owners > EDGE], int(holders.min()))
    columns: list[tuple[int, int, int, int, int, int]] = []
    for window, owner in zip(windows, owners.tolist(), strict=True):
        if owner <= EDGE:
            continue
        low, high = (_reach(tiles, own, owner, int(window[key])) for key in ("t0", "t1"))
        rows = _rows(window, swept.lane.definitions)
        lengths = apportion([max(0, int(ns)) for _, ns, _, _ in rows], high - low)
        if sum(lengths) != high - low:
            continue
        outside = (total_cost - inside) * sum(int(count) for code, _, count, _ in rows if code)
        for (code, _, count, evaluate), length in zip(rows, lengths, strict=True):
            price = inside * int(count) if code else outside
            columns.append((low, low + length, int(code), int(count) if code else 1, min(price, length), evaluate))
            low += length
    return cut(tiles, own, _segments(columns), table)


def _rows(window: dict[str, Any], definitions: dict[int, Definition]) -> list[tuple[int, int, int, int]]:
    """``(code, ns, count, evaluate)`` of a window. Where nothing in it trained, all of it belongs to its evaluation forwards."""
    rows = [(int(code), int(ns), int(count)) for code, ns, count in window.get("parts", [])]
    known = [definitions[code] for code, _, _ in rows if code in definitions]
    backward = any(one.activity == "backward" for one in known)
    forwards = [one for one in known if one.activity == "forward"]
    validated = {one.code for one in forwards if is_evaluation(one.attributes) or (is_ambiguous(one.attributes) and not backward)}
    trains = any(one.code not in validated and (one.activity in _TRAINING or one.attributes.get("step")) for one in known)
    whole = bool(validated) and not trains
    marked = [(code, ns, count, int(whole or code in validated)) for code, ns, count in rows]
    return marked + [(int(code), int(ns), int(count), 1) for code, ns, count in window.get("eval", [])]


def _reach(tiles: Tiles, own: Own, owner: int, time: int) -> int:
    """The own-time coordinate of ``owner`` at an instant."""
    low = int(np.searchsorted(own.key, (owner + 1) * own.scale))
    high = int(np.searchsorted(own.key, (owner + 2) * own.scale))
    place = low + int(np.searchsorted(own.since[low:high], time, side="right")) - 1
    if place < low:
        return int(own.start[low])
    held = own.tiles[place]
    into = time - int(tiles.start[held]) - int(tiles.cost[held])
    return int(own.start[place]) + min(max(into, 0), int(own.end[place] - own.start[place]))


def _segments(columns: list[tuple[int, int, int, int, int, int]]) -> Segments:
    table: IntArray = np.array(columns, dtype=np.int64).reshape(-1, 6)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Segments(*(table[:, column] for column in range(6)))
