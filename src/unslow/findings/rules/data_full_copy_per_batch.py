"""The whole source is copied or converted each time, though only a small part of it goes into the batch."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import COPY, preparation
from unslow.findings.price import saved_share
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.full_copy_per_batch"


def check(context: Context) -> Iterator[Draft]:
    """Time on lines that copy or convert something that outlives the batch, whole."""
    found = preparation(context)
    work = found.work(COPY)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    each = work.total / max(context.steps, 1)
    trend = context.trend()
    figures = [
        evidence("copying all of the source, a step", each / 1e6, "ms"),
        evidence("steps", context.steps, "steps"),
        evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
    ]
    if trend is not None and trend[1] > 1.5 * trend[0]:
        figures.append(
            evidence("a step in the last quarter over one in the first: the copy grows with the source", trend[1] / trend[0], "x")
        )
    yield Draft(
        cause=CAUSE,
        title=f"the whole source was copied for every batch, {seconds(each)} a step, {seconds(work.total)} in all",
        ns=felt,
        saved=saved_share(felt, 0.85, 0.96, 1.0),
        evidence=tuple(figures),
        where=found.where(work),
        fix=Fix(
            "index-first",
            "display",
            "index first and copy only the rows of the batch: source[rows].copy() instead of source.copy()[rows]",
        ),
        confidence=0.9,
        explains=frozenset({"data.array_conversion", "data.per_sample_lookup", "data.tiny_batches_collate", "state.growth", "host.gc",
                            "data.pipeline_serial", "data.too_few_workers", "data.per_sample_transform"}),
    )  # fmt: skip
