"""Samples are read from files or from somewhere else each time they are needed, and the reading holds the training up."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import STORAGE, WAITING, preparation
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.slow_storage"


def check(context: Context) -> Iterator[Draft]:
    """Time in calls that read files, or that wait, on the path of the data."""
    found = preparation(context)
    work = found.work(STORAGE, WAITING)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    number, unit = (found.samples, "sample") if found.samples else (max(context.steps, 1), "step")
    again = 1 - 1 / found.epochs if found.epochs > 1 else 0.5 if found.epochs == 1 else 0.85
    each = seconds(work.total / number)
    times = f" in each of {found.epochs} epochs" if found.epochs > 1 else ""
    yield Draft(
        cause=CAUSE,
        title=f"every sample was read from storage{times}, {each} a {unit}, {seconds(work.total)} in all",
        ns=felt,
        saved=(felt * again * 0.8, felt * again * 0.97, felt * max(again, 0.9)),
        evidence=(
            evidence(f"reading, a {unit}", work.total / number / 1e3, "µs"),
            evidence("how often", number, f"{unit}s"),
            evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
        ),
        where=found.where(work),
        fix=Fix(
            "load-once",
            "display",
            "read all samples once, into memory or into one file, and index that; what does not fit in memory goes into a few large files",
        ),
        confidence=0.85 if found.epochs != 1 else 0.7,
        explains=frozenset({"data.tiny_batches_collate", "data.pipeline_serial", "data.too_few_workers", "host.gc"}),
    )
