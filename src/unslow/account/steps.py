"""Training steps: what marked one, how many there were, and how long the steady one takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unslow.account.model import Bin, Steps
from unslow.account.phases import Signals
from unslow.account.sweep import Swept, Timeline
from unslow.recording.model import IntArray

NUM_BINS = 24
MIN_LEFT = 8
"""Fewer steps than this say nothing about the steady one: then none is left out."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What marks a step: its name, the codes that mean it, and the events that end one."""

    signal: str | None
    codes: tuple[int, ...]
    ends: IntArray


def mark_steps(swept: Swept) -> Marker:
    """Choose the most frequent optimizer, or the gradients where there is none. Of nested spans only the outermost is a step."""
    definitions = swept.lane.definitions
    occurrences = np.bincount(swept.lane.event_code[swept.nesting.begin], minlength=max(definitions, default=0) + 1)
    for window in swept.lane.totals:
        for code, _, count in [*window.get("parts", []), *window.get("eval", [])]:
            if 0 < code < len(occurrences):
                occurrences[code] += count
    seen = [definition for definition in definitions.values() if definition.kind == "span" and occurrences[definition.code]]
    steps = [definition for definition in seen if definition.attributes.get("step")]
    signal: str | None
    if steps:
        best = max(steps, key=lambda definition: (occurrences[definition.code], -definition.code))
        signal = "optimizer.step" if best.activity == "optimizer" else best.name
        codes: tuple[int, ...] = (best.code,)
    else:
        codes = tuple(definition.code for definition in seen if definition.activity == "backward")
        signal = "backward" if codes else None
    mine = np.zeros(len(occurrences), dtype=bool)
    mine[list(codes)] = True
    marked = mine[swept.lane.event_code]
    begin, finish = swept.nesting.begin & marked, swept.nesting.finish & marked
    depth = np.cumsum(begin.astype(np.int64) - finish.astype(np.int64))
    return Marker(signal, codes, np.flatnonzero(finish & (depth == 0)))


def find_steps(swept: Swept, found: Signals, marker: Marker, timeline: Timeline) -> Steps:
    """Count, epochs, and the distribution of the time from one step's end to the next."""
    signal, ends = marker.signal, marker.ends
    count = len(ends) + sum(_count_in(window, marker.codes) for window in swept.lane.totals)
    if not count:
        return Steps(count=0)
    epochs = int(found.loader_trains.sum()) or None
    differences, values = _differences(swept, found, ends, timeline)
    bins = [(int(bound), int(number)) for window in swept.lane.totals for bound, number in window.get("step_ns", [])]
    # A bin of a totals window stands for its middle: its bounds are a power of two or three quarters of one.
    values = np.concatenate([values, np.repeat([_middle(bound) for bound, _ in bins], [number for _, number in bins])]) if bins else values
    if not len(values):
        return Steps(count=count, epochs=epochs, signal=signal)
    tenth, median, ninth = (round(float(value)) for value in np.percentile(values, [10, 50, 90]))
    return Steps(
        count=count, epochs=epochs, median_ns=median, p10_ns=tenth, p90_ns=ninth, signal=signal,
        histogram=_histogram(np.concatenate([differences, values[len(values) - sum(n for _, n in bins) :]]) if bins else differences),
    )  # fmt: skip


def _middle(bound: int) -> int:
    power = 1 << (bound - 1).bit_length()
    lower = power * 3 // 4 if bound == power else power // 2
    return (lower + bound) // 2


def _count_in(window: dict[str, Any], codes: tuple[int, ...]) -> int:
    """Steps inside a window of totals: as often as the span that marks one began there."""
    return sum(int(count) for code, _, count in [*window.get("parts", []), *window.get("eval", [])] if code in codes)


def _differences(swept: Swept, found: Signals, ends: IntArray, timeline: Timeline) -> tuple[IntArray, IntArray]:
    """All times from one step's end to the next, and those of the steady step.

    Left out of the second are those with an evaluation or the start of an epoch in them. Where the epochs are so short that this
    would leave too few, the steady step is the mean over each epoch instead: in such a loop the start of an epoch is what it does,
    and workers deliver the batches of an epoch in bursts.
    """
    times = swept.time[ends]
    between = np.diff(times)
    if not len(between):
        return between, between
    between = np.maximum(between - _observed(timeline, times), 0)
    tile_event = np.flatnonzero(timeline.evaluate)
    evaluated_at = timeline.start[tile_event]
    has_evaluation = np.searchsorted(evaluated_at, times[1:]) > np.searchsorted(evaluated_at, times[:-1])
    restart = np.searchsorted(found.loader_begin, ends[1:]) > np.searchsorted(found.loader_begin, ends[:-1])
    lone = between[~has_evaluation & ~restart]
    if len(lone) >= MIN_LEFT and len(lone) * 4 >= 3 * len(between):
        return between, lone
    epochs = found.loader_begin[found.loader_trains]
    if len(epochs) >= 3:
        last = np.unique(np.searchsorted(ends, [*epochs[1:].tolist(), len(swept.time)]) - 1)
        last = last[last >= 0]
        steps = np.diff(last)
        if len(steps) >= 2 and (steps > 0).all():
            total = np.concatenate([[0], np.cumsum(between)])
            return between, (np.diff(total[last]) // steps).repeat(steps)
    without = between[~has_evaluation]
    return between, without if len(without) >= MIN_LEFT else between


def _observed(timeline: Timeline, times: IntArray) -> IntArray:
    """What observing cost between consecutive instants."""
    total = np.concatenate([[0], np.cumsum(timeline.cost)])
    return np.diff(total[np.searchsorted(timeline.start, times)])


def _histogram(values: IntArray) -> tuple[Bin, ...]:
    """About ``NUM_BINS`` bars of equal width on a logarithmic scale."""
    values = np.maximum(values.astype(np.int64), 1)
    low, high = int(values.min()), int(values.max())
    if high <= low + 1:
        return (Bin(low, high + 1, len(values)),)
    number = max(1, min(NUM_BINS, len(values)))
    edges = np.unique(np.round(np.exp(np.linspace(math.log(low), math.log(high + 1), number + 1))).astype(np.int64))
    edges[0], edges[-1] = low, high + 1
    counts = np.histogram(values, bins=edges)[0]
    return tuple(Bin(int(a), int(b), int(c)) for a, b, c in zip(edges[:-1], edges[1:], counts, strict=True))


def steps_between(swept: Swept, marker: Marker, starts: IntArray, stops: IntArray) -> float:
    """How many steps lie in sorted, disjoint stretches of time; a window of totals counts with the share that lies in them."""
    times = swept.time[marker.ends]
    number = float((np.searchsorted(times, stops, side="right") - np.searchsorted(times, starts)).sum())
    for window in swept.lane.totals:
        mine = _count_in(window, marker.codes)
        length = window["t1"] - window["t0"]
        if mine and length > 0:
            inside = np.minimum(stops, window["t1"]) - np.maximum(starts, window["t0"])
            number += mine * float(np.maximum(inside, 0).sum()) / length
    return number
