"""Loader processes are started again for every epoch, or do so little that having them costs more than it brings."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.preparation import preparation
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.findings.workers import starts
from unslow.units import seconds

CAUSE = "data.worker_startup"


def check(context: Context) -> Iterator[Draft]:
    """What starts after the first cost; and whether the main thread stands still for longer than the workers' whole work takes."""
    found = preparation(context)
    if not found.num_workers:
        return
    seen = starts(context)
    stall = found.start_ns + found.wait_ns
    kept = seen.saved
    # In this process the same work takes as long as in a worker; handing over and waking up fall away. The first start is left
    # out: a longer run would not feel it.
    steady = kept + max(found.wait_ns - seen.first_waits, 0) - 1.1 * found.worker_ns
    if max(kept, steady if found.worker_ns else 0.0) < SHARE_OF_LOOP * context.loop:
        return
    useless = stall - 1.1 * found.worker_ns
    restarting = kept >= 0.5 * useless
    if restarting:
        saved = (0.85 * kept, 1.0 * kept, min(max(1.1 * kept, useless), 1.5 * kept))
        each = (seen.starting + seen.first_waits) / max(seen.starts, 1)
        title = f"loader workers were started {seen.starts} times, {seconds(each)} each time"
        fix = Fix("persistent-workers", "safe", "keep the workers from epoch to epoch: DataLoader(…, persistent_workers=True)")
    else:
        saved = (0.8 * useless, useless, 1.08 * useless)
        title = f"waiting for loader workers took {seconds(stall)}, doing their work here would take {seconds(found.worker_ns)}"
        fix = Fix("no-workers", "safe", "load in this process: DataLoader(…, num_workers=0)")
    where = found.loop_line
    yield Draft(
        cause=CAUSE,
        title=title,
        ns=stall,
        saved=saved,
        evidence=(
            evidence("starts of worker processes", seen.starts, "starts"),
            evidence("the main thread stood still for starting and stopping them", (seen.starting + seen.stopping) / 1e9, "s"),
            evidence("and for their batches", found.wait_ns / 1e9, "s"),
            evidence("work that the workers did, all together", found.worker_ns / 1e9, "s"),
        ),
        where=unique(where, context.hot_lines("data.workers", "data.wait")[:2], context.made_at("DataLoader")),
        fix=fix,
        confidence=0.9,
        explains=frozenset({"data.too_few_workers", "data.pipeline_serial", "data.tiny_batches_collate", "startup.lazy_import", "host.gc",
                            "startup.slow_teardown"}),
    )  # fmt: skip
