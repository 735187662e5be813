"""Samples are decoded each time they are needed, or more of them than is used."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import DECODE, STORAGE, TRANSFORM, preparation
from unslow.findings.thresholds import DATA_KIND_LEADS, SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.decode"


def check(context: Context) -> Iterator[Draft]:
    """Time in decoders (images, archives, text), and in making small what had just been decoded."""
    found = preparation(context)
    work = found.work(DECODE)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    number, unit = (found.samples, "sample") if found.samples else (max(context.steps, 1), "step")
    again = 1 - 1 / found.epochs if found.epochs > 1 else 0.5 if found.epochs == 1 else 0.85
    times = f" in each of {found.epochs} epochs" if found.epochs > 1 else ""
    leads = work.total >= DATA_KIND_LEADS * found.work(DECODE, TRANSFORM).total
    under = {"data.pipeline_serial", "data.too_few_workers", "data.tiny_batches_collate", "host.gc"}
    under |= {"data.per_sample_transform"} if leads else set()
    under |= {"data.slow_storage"} if work.total > found.work(STORAGE).total else set()
    yield Draft(
        cause=CAUSE,
        title=f"every sample was decoded{times}, {seconds(work.total / number)} a {unit}, {seconds(work.total)} in all",
        ns=felt,
        saved=(felt * again * 0.75, felt * again * 0.93, felt * max(again, 0.9)),
        evidence=(
            evidence(f"decoding, a {unit}", work.total / number / 1e6, "ms"),
            evidence("how often", number, f"{unit}s"),
            evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
        ),
        where=found.where(work),
        fix=Fix(
            "decode-once",
            "display",
            "decode and shrink once, before the training, and keep the small arrays in memory or in uncompressed files",
        ),
        confidence=0.85 if found.epochs != 1 else 0.7,
        explains=frozenset(under),
    )
