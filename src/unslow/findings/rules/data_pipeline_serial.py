"""Batches are prepared by hand between the steps, on one core, without overlap with training."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import preparation
from unslow.findings.thresholds import IDLE_CORES, SHARE_OF_LOOP
from unslow.findings.workers import idle_cores
from unslow.units import seconds, share

CAUSE = "data.pipeline_serial"


def check(context: Context) -> Iterator[Draft]:
    """Preparation in the script itself, before each forward, beside idle cores."""
    found = preparation(context)
    idle = idle_cores(context)
    if idle is None or idle < IDLE_CORES or found.num_workers:
        return
    work = found.work(*found.works)
    stall = work.by_hand
    rest = max(context.loop - stall, 0)
    gone = min(stall, rest * min(idle, 1.0))
    if stall < 2 * SHARE_OF_LOOP * context.loop or work.main > stall:
        return
    yield Draft(
        cause=CAUSE,
        title=f"batches were prepared between the steps, {seconds(stall)} in all, while {idle:.1f} of {context.cores:.0f} cores were idle",
        ns=stall,
        saved=(0.5 * gone, 0.8 * gone, gone),
        evidence=(
            evidence("cores idle while training", idle, "cores"),
            evidence(f"preparing by hand ({share(stall, context.loop)} of the training time)", stall / 1e9, "s"),
        ),
        where=found.where(work),
        fix=Fix(
            "overlap", "display", "let a DataLoader with workers, or a thread with a queue, prepare the next batch while this one trains"
        ),
        confidence=0.6,
        explains=frozenset(),
    )
