"""Training waits for its batches while cores are idle that could prepare them."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.preparation import drawn_anew, preparation
from unslow.findings.thresholds import BUSY_WORKERS, CHEAP_SAMPLE_NS, IDLE_CORES, SHARE_OF_LOOP
from unslow.findings.workers import busy_share, idle_cores, starts
from unslow.units import seconds, share

CAUSE = "data.too_few_workers"


def check(context: Context) -> Iterator[Draft]:
    """Waiting (or working on batches in this process) beside idle cores, with workers that are busy themselves."""
    found = preparation(context)
    idle = idle_cores(context)
    if idle is None or idle < IDLE_CORES or not context.loaders:
        return
    now, more = found.num_workers, max(int(idle + 1 - IDLE_CORES), 1)
    if now:
        stall = found.wait_ns - starts(context).first_waits
        if busy_share(context) < BUSY_WORKERS:
            return
        gone = stall * more / (now + more)
    else:
        stall = found.main_ns
        if found.per_sample_ns < 2 * CHEAP_SAMPLE_NS or found.samples == 0:
            return
        # Workers prepare while the rest of the step runs; what takes longer than that is shared among them.
        rest = max(context.loop - stall, 0)
        gone = min(stall, rest * min(idle, 1.0) + stall * (1 - 1 / more))
    if stall < SHARE_OF_LOOP * context.loop or gone <= 0:
        return
    where = found.loop_line
    yield Draft(
        cause=CAUSE,
        title=f"training waited {seconds(stall)} for batches from {now} workers, while {idle:.1f} of {context.cores:.0f} cores were idle",
        ns=stall,
        saved=(0.5 * gone, 0.8 * gone, gone),
        evidence=(
            evidence("cores idle while training", idle, "cores"),
            evidence("workers", now, "workers"),
            evidence(f"standing still for batches ({share(stall, context.loop)} of the training time)", stall / 1e9, "s"),
        ),
        where=unique(context.made_at("DataLoader"), where),
        fix=Fix(
            "more-workers",
            "display",
            f"prepare batches in {now + more} workers: DataLoader(…, num_workers={now + more}, persistent_workers=True)",
        ),
        confidence=0.7,
        # Work that is drawn anew each time cannot be kept; where it is long as well, only more hands help.
        explains=frozenset({"data.pipeline_serial"} | ({"data.per_sample_transform"} if drawn_anew(found) else set())),
    )
