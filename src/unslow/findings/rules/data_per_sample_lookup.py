"""Each sample is looked up the slow way: a row of a data frame, a query, a search through all keys."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import LOOKUP, preparation
from unslow.findings.price import saved_share
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.per_sample_lookup"


def check(context: Context) -> Iterator[Draft]:
    """Time in the look-up code of a table library, or on lines that search everything for one key."""
    found = preparation(context)
    work = found.work(LOOKUP)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    looped = found.samples and work.main + work.worker > work.by_hand
    number, unit = (found.samples, "sample") if looped else (max(context.steps, 1), "step")
    yield Draft(
        cause=CAUSE,
        title=f"looking up the data took {seconds(work.total / number)} a {unit}, {seconds(work.total)} in all",
        ns=felt,
        saved=saved_share(felt, 0.75, 0.9, 0.98),
        evidence=(
            evidence(f"looking up, a {unit}", work.total / number / 1e3, "µs"),
            evidence("how often", number, f"{unit}s"),
            evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
        ),
        where=found.where(work),
        fix=Fix(
            "index-once",
            "display",
            "turn the table into arrays or a dictionary once, and index those: values = frame.to_numpy(); row_of = {key: row}",
        ),
        confidence=0.85,
        explains=frozenset(
            {"data.tiny_batches_collate", "data.pipeline_serial", "data.too_few_workers", "host.gc", "data.per_sample_transform"}
        ),
    )
