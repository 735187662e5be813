"""Operators so small that sharing them out among threads costs more than it saves."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import needed, of_steps, short
from unslow.findings.thresholds import BUSY_CORES, SHARE_OF_LOOP, THREADS_STALL, TINY_WORK_NS
from unslow.findings.trainers import trainers

CAUSE = "threads.overhead_small_ops"


def check(context: Context) -> Iterator[Draft]:
    """Operators whose arithmetic takes microseconds on one core and which take many times that, with several threads at work."""
    found = [one for one in trainers(context) if context.main is not None and one.lane is context.main.lane]
    if not found or found[0].threads < 2 or context.busy is None:
        return
    one, (own, others) = found[0], context.busy
    crowded = one.threads > context.cores
    if not crowded and (others > BUSY_CORES or own < 1.5):
        return  # another program has the cores, or the threads sleep: then it is not they that cost
    rows = [row for row in of_steps(one.lane.inspected) if needed(context, row) < TINY_WORK_NS * row.count]
    stalled = [row for row in rows if row.ns > THREADS_STALL * needed(context, row)]
    if not stalled or one.spent < THREADS_STALL * one.needs:
        return
    share = sum(row.ns for row in stalled) / max(sum(row.ns for row in of_steps(one.lane.inspected)), 1)
    saved = one.spent * min(share, 1 - 2 * one.needs / one.spent)
    if saved < SHARE_OF_LOOP * context.loop:
        return
    worst = max(stalled, key=lambda row: row.ns)
    told = context.facts.get("setting set_num_threads")
    site = told.get("site") if isinstance(told, dict) else None
    yield Draft(
        cause=CAUSE,
        title=(
            f"{short(worst)} needs {needed(context, worst) / worst.count / 1e3:.0f} µs on one core and takes "
            f"{worst.ns / worst.count / 1e3:.0f} µs with {one.threads} threads"
        ),
        ns=round(saved),
        saved=(0.88 * saved, 0.97 * saved, min(1.06 * saved, one.spent - 0.7 * one.needs)),
        evidence=(
            evidence(f"{short(worst)} with {one.threads} threads", worst.ns / worst.count / 1e3, "µs"),
            evidence("its arithmetic on one core", needed(context, worst) / worst.count / 1e3, "µs"),
            evidence("cores that the script kept busy", own, "cores"),
            evidence("operators of a step that wait for threads", sum(row.count for row in stalled), "operators"),
        ),
        where=unique(
            Where(str(site[0]), int(site[1]), site[2]) if site else None, leading(context, "backward")[:2], leading(context, "forward")[:2]
        ),
        fix=Fix("num-threads", "safe", "torch.set_num_threads(1)"),
        confidence=0.8,
        # Too many threads for operators that need none is the same fault seen from the other side.
        explains=frozenset({"dispatch.small_ops", "threads.oversubscription"}),
    )
