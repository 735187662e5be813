"""The run as a trace for ui.perfetto.dev or chrome://tracing: the strip, and what else ran, as trace events."""

from __future__ import annotations

from typing import Any

import msgspec

from unslow.account.model import Account, Interval, Segment
from unslow.reports.words import clean, interval_place, label

MAIN = 1


def render(account: Account) -> str:
    """JSON in the trace event format; times are microseconds since the start of the run.

    The main thread is drawn as the account's strip: slices in which one activity held most of the time. For other processes and threads the
    account knows sums, not times: they are counters, one value for the whole run.
    """
    events: list[dict[str, Any]] = [
        _named("process_name", MAIN, 0, clean(account.script or " ".join(account.command or ("run",)))),
        _named("thread_name", MAIN, MAIN, "main thread (what held most of each slice)"),
        {"name": "whole run", "cat": "run", "ph": "X", "pid": MAIN, "tid": MAIN, "ts": 0, "dur": account.wall_ns / 1000},
    ]
    events += [_slice(segment) for segment in account.strip]
    processes = list(dict.fromkeys(row.process for row in account.overlapped))
    for number, process in enumerate(processes, MAIN + 1):
        events.append(_named("process_name", number, 0, clean(process)))
        sums: dict[str, int] = {}
        for row in account.overlapped:
            if row.process == process:
                sums[row.name] = sums.get(row.name, 0) + row.ns
        events += [_counter(number, name, ns, time) for name, ns in sums.items() for time in (0, account.wall_ns)]
    totals = {row.name: row.ns / 1e9 for row in account.activities}
    other = {
        "seconds": totals,
        "wall_s": account.wall_ns / 1e9,
        "clocks": [_clock(interval, account.script) for interval in account.intervals],
    }
    document = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}
    return msgspec.json.encode(document).decode() + "\n"


def _slice(segment: Segment) -> dict[str, Any]:
    return {
        "name": segment.activity, "cat": segment.activity.split(".")[0], "ph": "X", "pid": MAIN, "tid": MAIN,
        "ts": segment.start_ns / 1000, "dur": (segment.end_ns - segment.start_ns) / 1000, "args": {"what": label(segment.activity)},
    }  # fmt: skip


def _clock(interval: Interval, script: str | None) -> dict[str, Any]:
    """An interval of the script's own clock: a sum over all its turns, without a place in time."""
    seconds = {row.name: row.ns / 1e9 for row in interval.activities}
    return {"where": interval_place(interval, script), "times": interval.count, "s": interval.ns / 1e9, "seconds": seconds}


def _counter(pid: int, name: str, ns: int, time: int) -> dict[str, Any]:
    title = f"{clean(name)} (seconds in the whole run)"
    return {"name": title, "ph": "C", "pid": pid, "tid": 0, "ts": time / 1000, "args": {"s": ns / 1e9}}


def _named(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}
