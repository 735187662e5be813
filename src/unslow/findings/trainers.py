"""Every process of a run that trains: its threads, its steps, what they took and what their operators would need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unslow.findings.context import Context
from unslow.findings.operators import needed, of_steps
from unslow.recording.model import Lane

_PARTS = ("forward", "loss", "backward", "optimizer", "zero_grad", "script")


@dataclass(frozen=True, slots=True)
class Trainer:
    """One process that trains. ``spent`` and ``needs``: nanoseconds of all its steps, measured and what their operators need."""

    lane: Lane
    threads: int
    steps: int
    begin: int
    end: int
    spent: int
    needs: float
    slowest: str
    slowest_ns: float
    slowest_needs: float


def trainers(context: Context) -> list[Trainer]:
    """The processes that ran backwards, each with the cores that are its share while they all run."""
    lanes = [(lane, times) for lane in context.recording.lanes if lane.thread == "main" and len(times := _backwards(lane)) >= 4]
    cores = context.cores / max(len(lanes), 1)
    found = [_trainer(context, lane, times, cores) for lane, times in lanes]
    return [one for one in found if one is not None]


def _backwards(lane: Lane) -> list[int]:
    codes = [code for code, definition in lane.definitions.items() if definition.activity == "backward" and definition.kind == "span"]
    return lane.event_time[np.isin(lane.event_code, codes) & (lane.event_end == 0)].tolist() if codes else []


def _trainer(context: Context, lane: Lane, times: list[int], cores: float) -> Trainer | None:
    facts = {str(fact["name"]): fact.get("value") for fact in lane.facts if "name" in fact}
    threads = facts.get("threads")
    rows = of_steps(lane.inspected)
    if not isinstance(threads, int) or not rows:
        return None
    if context.main is not None and lane is context.main.lane:
        spent = context.ns(*_PARTS)
    else:
        mine = [row for row in context.account.overlapped if row.process.startswith(f"process {lane.pid} ")]
        spent = sum(row.ns for row in mine if row.name in _PARTS and row.name != "script")
    worst = max(rows, key=lambda row: row.ns - needed(context, row))
    needs = sum(needed(context, row, min(cores, 1.0)) for row in rows)
    calls = max(worst.count, 1)
    return Trainer(
        lane=lane, threads=threads, steps=len(times), begin=times[0], end=times[-1], spent=spent, needs=needs * len(times),
        slowest=worst.name, slowest_ns=worst.ns / calls, slowest_needs=needed(context, worst) / calls,
    )  # fmt: skip
