"""The script's own clock: the account of what lies between two of its reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unslow.account.clocks import clock_pairs
from unslow.account.lines import resolved
from unslow.account.model import Interval
from unslow.account.rows import activities, tally_within
from unslow.account.steps import Marker, steps_between
from unslow.account.sweep import Swept, Timeline
from unslow.recording.model import IntArray, Recording

MAX_FURTHER = 4
MAX_PARTS = 30

Site = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two sites and the stretches of time between their reads, sorted and disjoint."""

    start: Site
    end: Site
    starts: IntArray
    ends: IntArray
    steps: float

    @property
    def ns(self) -> int:
        return int((self.ends - self.starts).sum())


def intervals(recording: Recording, swept: Swept, marker: Marker, timeline: Timeline) -> tuple[Interval, ...]:
    """``own``, the pair of reads that holds the most steps (ties: the longest), then up to ``MAX_FURTHER`` others, the longest first."""
    reads = _reads(recording, swept)
    pairs = _subtracted(recording, swept, marker, reads)
    if not pairs:
        pairs = _consecutive(swept, marker, reads)
    if not pairs:
        return ()
    ordered = sorted(pairs, key=lambda pair: (-pair.steps, -pair.ns))
    found: list[Interval] = []
    own: list[_Pair] = []
    # A whole step at least: the share of a window that an interval only touches is no step.
    if ordered[0].steps >= 0.5:
        own = [ordered[0]]
        found.append(_interval("own", ordered[0], timeline))
    others = [pair for pair in sorted(pairs, key=lambda pair: -pair.ns) if pair not in own and pair.ns > 0]
    return (*found, *(_interval("clock", pair, timeline) for pair in others[:MAX_FURTHER]))


def _interval(label: str, pair: _Pair, timeline: Timeline) -> Interval:
    rows = activities(timeline, tally_within(timeline, pair.starts, pair.ends), max_parts=MAX_PARTS)
    return Interval(label, *pair.start, *pair.end, pair.ns, rows, len(pair.starts))


def _reads(recording: Recording, swept: Swept) -> dict[str, dict[Site, IntArray]]:
    """Times of the reads of each clock at each line."""
    found: dict[str, dict[Site, list[IntArray]]] = {}
    for code, definition in swept.lane.definitions.items():
        if definition.attributes.get("event") == "clock" and definition.file and definition.line:
            times = swept.time[swept.lane.event_code == code]
            if len(times):
                site = (resolved(definition.file, recording.run.cwd), int(definition.line))
                found.setdefault(definition.name, {}).setdefault(site, []).append(times)
    return {clock: {site: np.sort(np.concatenate(times)) for site, times in sites.items()} for clock, sites in found.items()}


def _subtracted(recording: Recording, swept: Swept, marker: Marker, reads: dict[str, dict[Site, IntArray]]) -> list[_Pair]:
    """Pairs that the source subtracts; a file that is gone or that cannot be parsed has none."""
    files = {file for sites in reads.values() for file, _ in sites}
    wanted: set[tuple[Site, Site]] = set()
    for file in files:
        lines = {line for sites in reads.values() for other, line in sites if other == file}
        try:
            with open(file, encoding="utf-8", errors="replace") as source:
                wanted |= {((file, a), (file, b)) for a, b in clock_pairs(source.read(), lines)}
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
    pairs = []
    for sites in reads.values():
        for start, end in sorted(wanted):
            if start in sites and end in sites:
                pairs.append(_pair(swept, marker, start, end, sites[start], sites[end]))
    return [pair for pair in pairs if len(pair.starts)]


def _pair(swept: Swept, marker: Marker, start: Site, end: Site, starts: IntArray, ends: IntArray) -> _Pair:
    """Each read at ``end`` belongs to the latest at ``start`` before it; of several with one start, the last counts."""
    place = np.searchsorted(starts, ends) - 1
    ends, place = ends[place >= 0], place[place >= 0]
    last = np.append(place[1:] != place[:-1], True) if len(place) else place.astype(bool)
    starts, ends = starts[place[last]], ends[last]
    return _Pair(start, end, starts, ends, steps_between(swept, marker, starts, ends))


def _consecutive(swept: Swept, marker: Marker, reads: dict[str, dict[Site, IntArray]]) -> list[_Pair]:
    """Where the source does not tell: each read and the next of the same clock."""
    pairs = []
    for sites in reads.values():
        numbered = list(sites)
        which = np.repeat(np.arange(len(numbered)), [len(sites[site]) for site in numbered])
        times = np.concatenate([sites[site] for site in numbered])
        order = np.argsort(times, kind="stable")
        times, which = times[order], which[order]
        jump = which[:-1] * len(numbered) + which[1:]
        for one in np.unique(jump).tolist():
            mine = np.flatnonzero(jump == one)
            starts, ends = times[mine], times[mine + 1]
            start, end = numbered[one // len(numbered)], numbered[one % len(numbered)]
            pairs.append(_Pair(start, end, starts, ends, steps_between(swept, marker, starts, ends)))
    return pairs
