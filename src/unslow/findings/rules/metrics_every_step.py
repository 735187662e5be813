"""Costly metrics are computed in each step, though only now and then somebody looks at them."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.after import measured
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.thresholds import OFTEN, SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "metrics.every_step"


def check(context: Context) -> Iterator[Draft]:
    """Time in metrics of libraries and in the user's own functions for them, after the update of a step."""
    seen = measured(context)
    if seen.ns < SHARE_OF_LOOP * context.loop or 0 < seen.count < OFTEN * context.steps:
        return
    each = seen.ns / max(context.steps, 1)
    yield Draft(
        cause=CAUSE,
        title=f"{' and '.join(seen.names[:2]) or 'metrics'} took {seconds(each)} in each step, {seconds(seen.ns)} in all",
        ns=seen.ns,
        saved=(0.85 * seen.ns, 0.96 * seen.ns, 0.99 * seen.ns),
        evidence=(
            evidence("metrics, a step", each / 1e6, "ms"),
            evidence("calls", seen.count or context.steps, "calls"),
            evidence(f"of the training time ({share(seen.ns, context.loop)})", seen.ns / 1e9, "s"),
        ),
        where=seen.where,
        fix=Fix("measure-less", "display", "keep predictions (detached) and compute the metric once an epoch, or every 50 steps"),
        confidence=0.85,
        explains=frozenset({"sync.item"}),
    )
