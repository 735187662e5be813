"""Loader workers as the main thread feels them: what each start costs, how busy they are, whether they are worth it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unslow.findings.context import Context
from unslow.findings.preparation import preparation


@dataclass(frozen=True, slots=True)
class Starts:
    """``starts`` of worker sets, of which ``again`` would vanish if the workers were kept; nanoseconds that the main thread stood still:
    ``starting`` and ``stopping`` them, and ``first_waits`` for the first batch of each set."""

    starts: int
    again: int
    starting: int
    stopping: int
    first_waits: int

    @property
    def saved(self) -> int:
        """What keeping the workers would save."""
        return int((self.starting + self.stopping + 0.9 * self.first_waits) * self.again / self.starts) if self.starts else 0


def starts(context: Context) -> Starts:
    """Every start of a set of workers in the main thread."""
    if context.main is None:
        return Starts(0, 0, 0, 0, 0)
    timeline = context.main.timeline
    names = {code: (one.name, one.attributes.get("loader")) for code, one in timeline.definitions.items() if one.kind == "span"}
    start_codes = [code for code, (name, _) in names.items() if name == "start workers"]
    wait_codes = [code for code, (name, _) in names.items() if name == "wait for a worker"]
    data = [number for number, name in enumerate(timeline.names) if name.removeprefix("evaluate/").startswith("data.") or name == "gc"]
    length = timeline.end - timeline.start
    is_start = np.isin(timeline.code, start_codes)
    begins = np.flatnonzero(is_start & (timeline.count > 0))
    again: dict[object, int] = {}
    first_waits = 0
    working = np.flatnonzero(~np.isin(timeline.activity, data) & (length > 0))
    is_wait = np.isin(timeline.code, wait_codes)
    waits = length * is_wait
    usual = float(np.median(waits[is_wait & (timeline.count > 0)])) if is_wait.any() else 0.0
    for place in begins.tolist():
        loader = names[int(timeline.code[place])][1]
        # With workers that persist, an epoch after the first only wakes them.
        kept = bool(context.loaders.get(int(loader) if isinstance(loader, int) else -1, {}).get("persistent_workers"))
        again[loader] = again.get(loader, -1) + (not kept or loader not in again)
        # Everything waited for between the start and the first thing that is done with a batch.
        first = np.flatnonzero(is_wait[place:])
        if len(first):
            after = working[np.searchsorted(working, place + int(first[0]))] if working[-1:] > place + first[0] else len(length)
            first_waits += max(int(waits[place:after].sum() - usual), 0)
    stop_codes = [code for code, (name, _) in names.items() if name == "stop workers"]
    stopping = int(length[np.isin(timeline.code, stop_codes)].sum())
    return Starts(sum(again.values()) + len(again), sum(again.values()), int(length[is_start].sum()), stopping, first_waits)


def busy_share(context: Context) -> float:
    """The share of their time, once they work, that workers spend on batches rather than waiting for indices or for room."""
    work = preparation(context).worker_ns
    idle = context.worker_ns("idle") + context.worker_ns("hand-over")
    return work / (work + idle) if work + idle else 0.0


def idle_cores(context: Context) -> float | None:
    """Cores that nobody used while training, on average; None where nobody watched."""
    return None if context.busy is None else max(context.cores - sum(context.busy), 0.0)
