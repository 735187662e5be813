"""Single records are read at random from a file whose layout makes each such read expensive."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import ACCESS, preparation
from unslow.findings.price import saved_share
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.access_pattern"


def check(context: Context) -> Iterator[Draft]:
    """Time in chunked or line-wise readers, or on lines that seek in a file or read it from its begin to the wanted record."""
    found = preparation(context)
    work = found.work(ACCESS)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    number, unit = (found.samples, "record") if found.samples else (max(context.steps, 1), "step")
    yield Draft(
        cause=CAUSE,
        title=f"reading single records out of order took {seconds(work.total / number)} a {unit}, {seconds(work.total)} in all",
        ns=felt,
        saved=saved_share(felt, 0.7, 0.9, 0.98),
        evidence=(
            evidence(f"reading, a {unit}", work.total / number / 1e3, "µs"),
            evidence("how often", number, f"{unit}s"),
            evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
        ),
        where=found.where(work),
        fix=Fix(
            "read-in-order",
            "display",
            "read in the order of the file (whole chunks, shuffled by chunk), keep the offsets of the records, or hold the data in memory",
        ),
        confidence=0.85,
        explains=frozenset(
            {"data.slow_storage", "data.decode", "data.tiny_batches_collate", "data.pipeline_serial", "data.too_few_workers"}
        ),
    )
