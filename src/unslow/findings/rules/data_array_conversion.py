"""Batches go through Python lists or objects, number by number, where the bytes could be copied at once."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import CONVERT, preparation
from unslow.findings.price import saved_share
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.array_conversion"


def check(context: Context) -> Iterator[Draft]:
    """Time on lines that make a tensor or array of a list, or set its elements in a loop, on the way to a batch."""
    found = preparation(context)
    work = found.work(CONVERT)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    batches = found.batches if work.main + work.worker > work.by_hand and found.batches else context.steps
    each = work.total / max(batches, 1)
    yield Draft(
        cause=CAUSE,
        title=f"each batch was made of Python objects one by one, {seconds(each)} a batch, {seconds(work.total)} in all",
        ns=felt,
        saved=saved_share(felt, 0.8, 0.92, 0.98),
        evidence=(
            evidence("converting lists or single numbers, a batch", each / 1e6, "ms"),
            evidence("batches made so", batches, "batches"),
            evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
        ),
        where=found.where(work),
        fix=Fix(
            "stack-first",
            "display",
            "put the arrays together with one call first: torch.from_numpy(np.stack(arrays)), or keep the data as one array and index it",
        ),
        confidence=0.9,
        explains=frozenset(
            {"data.tiny_batches_collate", "data.pipeline_serial", "data.too_few_workers", "host.gc", "dispatch.python_loop"}
        ),
    )
