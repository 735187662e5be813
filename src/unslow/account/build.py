"""From a recording to the account: choose the main thread, tile it, name it, add it up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unslow.account.facts import facts, unknown
from unslow.account.floor import floor
from unslow.account.intervals import intervals
from unslow.account.lines import lines
from unslow.account.model import Account, Interval, NotMeasured, Steps, Where
from unslow.account.overlap import overlapped
from unslow.account.phases import Signals, phases, signals
from unslow.account.rows import activities, strip, tally
from unslow.account.steps import Marker, find_steps, mark_steps
from unslow.account.sweep import (
    NAMES,
    ROWS,
    Swept,
    Tiles,
    Timeline,
    cut_parts,
    name_tiles,
    sweep,
    tile,
)
from unslow.account.sweep import codes as code_tables
from unslow.account.totals import cut_totals
from unslow.recording.model import Lane, Recording
from unslow.units import seconds

_SLOWED = tuple(NAMES.index(name) for name in ("forward", "loss", "backward", "optimizer", "zero_grad", "step", "metrics"))


@dataclass(frozen=True, slots=True)
class Main:
    """The main thread of a run, worked out: its lane, the signals and steps in it, the timeline."""

    lane: Lane
    swept: Swept
    signals: Signals
    marker: Marker
    timeline: Timeline


def timeline(recording: Recording) -> Timeline:
    """The main thread of the run, tiled from spawn to exit."""
    main, _ = work_out(recording)
    return main.timeline if main else _nothing(recording.run.start_ns, recording.run.end_ns)


def work_out(recording: Recording) -> tuple[Main | None, tuple[NotMeasured, ...]]:
    """Find the main thread and tile it completely; None where no process was recorded. With what that leaves unknown."""
    run = recording.run
    lane, notes = main_lane(recording)
    if lane is None:
        return None, notes
    alive = max((other.last_time for other in recording.lanes if other.pid == lane.pid), default=lane.last_time)
    swept = sweep(lane, run.start_ns, run.end_ns, alive)
    found, marker = signals(swept), mark_steps(swept)
    table = code_tables(lane.definitions)
    tiles = cut_parts(cut_totals(_charge(tile(swept, table), lane), swept, table), swept, table)
    named = name_tiles(tiles, phases(swept, found), lane.definitions, marker.ends)
    if lane.ended is None:
        if lane.totals:
            named = _unsaid(named, max(int(window["t1"]) for window in lane.totals))
        at = seconds(swept.alive - run.start_ns)
        notes = (*notes, NotMeasured("the end of the script", f"the process ended abruptly: the last that was seen of it is at {at}"))
    return Main(lane, swept, found, marker, named), notes


def _unsaid(tiled: Timeline, since: int) -> Timeline:
    """Where totals were kept and the process ended abruptly, the last window was never written: nothing is known of it."""
    activity = np.where((tiled.start >= since) & (tiled.code == 0), NAMES.index("unexplained"), tiled.activity)
    return replace(tiled, activity=activity)


def main_lane(recording: Recording) -> tuple[Lane | None, tuple[NotMeasured, ...]]:
    """The lane of the started command's main thread; behind a wrapper, the earliest Python below it."""
    mains = [lane for lane in recording.lanes if lane.thread == "main" and lane.role != "worker"]
    own = [lane for lane in mains if lane.pid == recording.run.pid]
    if len(own) > 1:
        # One process that replaced itself by another program: the longest of its lives is the one to account for.
        own.sort(key=lambda lane: lane.header["base"] - lane.last_time)
        why = f"the process replaced itself {len(own) - 1} times; the account is of the longest of its programs"
        return own[0], (NotMeasured("earlier programs of this process", why),)
    if own:
        return own[0], ()
    if mains:
        lane = min(mains, key=lambda lane: int(lane.header["base"]))
        later = [other for other in mains if other.pid != lane.pid and int(other.header["base"]) >= lane.last_time]
        if later:
            why = f"{len(later)} more Python processes followed; the account is of the first"
            return lane, (NotMeasured("later processes of the command", why),)
        return lane, ()
    why = "no process of the command was recorded: not Python 3.11 or newer, or started with -I, -E or -S, which switch the recording off"
    return None, (NotMeasured("everything", why),)


def _nothing(start: int, end: int) -> Timeline:
    """A run of which only the length is known."""
    one = np.zeros(1, dtype=np.int64)
    return Timeline(
        start=one + start, end=one + end, cost=one, code=one, activity=one + NAMES.index("unexplained"),
        evaluate=np.zeros(1, dtype=bool), step=one, count=one + 1, names=ROWS, definitions={},
    )  # fmt: skip


def _charge(tiles: Tiles, lane: Lane) -> Tiles:
    """Book what looking into a step cost as observing, spread over what was looked at."""
    cost = tiles.cost.copy()
    for step in lane.inspected:
        price = int(step.get("cost_ns") or 0)
        low, high = np.searchsorted(tiles.start, [step["t0"], step["t1"]])
        chosen = np.arange(low, high)
        chosen = chosen[np.isin(tiles.activity[low:high], (*_SLOWED, -1))]
        net = (tiles.end - tiles.start - cost)[chosen]
        total = int(net.sum())
        if price > 0 and total > 0:
            cost[chosen] += np.minimum((net * min(1.0, price / total)).astype(np.int64), net)
    return replace(tiles, cost=cost)


def build(recording: Recording) -> Account:
    """The account of a run; ``sum(activities.ns) == wall_ns`` whatever was recorded."""
    run = recording.run
    main, notes = work_out(recording)
    if main is None:
        tiled, steps = _nothing(run.start_ns, run.end_ns), Steps(count=0)
        where: dict[str, tuple[Where, ...]] = {}
        own: tuple[Interval, ...] = ()
    else:
        tiled = main.timeline
        steps = find_steps(main.swept, main.signals, main.marker, tiled)
        where = lines(recording, main.lane, tiled)
        own = intervals(recording, main.swept, main.marker, tiled)
    lane = main.lane if main else None
    limit, no_floor = floor(lane, run.rates, steps.count)
    return Account(
        command=run.command, exit_code=run.exit_code, script=run.script, source="run", wall_ns=run.wall_ns,
        activities=activities(tiled, tally(tiled), where), steps=steps, overlapped=overlapped(recording, lane), intervals=own,
        floor=limit, facts=facts(recording, lane, main.signals if main else None), not_measured=unknown(recording, (*notes, *no_floor)),
        strip=strip(tiled), started=run.started,
    )  # fmt: skip
