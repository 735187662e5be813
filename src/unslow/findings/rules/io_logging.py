"""Summaries, files or trackers are written at each step, and the step waits for them."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.after import logged
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.thresholds import OFTEN, SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "io.logging"


def check(context: Context) -> Iterator[Draft]:
    """Time in calls that write summaries, rows or figures while training, by how often."""
    seen = logged(context, drawn=False)
    if not seen.count and not context.steps:
        return  # no call was seen and no step: a line that only looks like writing
    if seen.ns < SHARE_OF_LOOP * context.loop:
        return
    each = seen.ns / max(context.steps, 1)
    rare = 0 < seen.count < OFTEN * context.steps
    figures = [
        evidence("writing, a step", each / 1e6, "ms"),
        evidence(f"of the training time ({share(seen.ns, context.loop)})", seen.ns / 1e9, "s"),
    ]
    if seen.count:
        figures.append(evidence(f"calls ({', '.join(seen.names[:3])})", seen.count, "calls"))
    yield Draft(
        cause=CAUSE,
        title=f"logging took {seconds(each)} a step, {seconds(seen.ns)} in all",
        ns=seen.ns,
        saved=tuple(seen.ns * part for part in ((0.4, 0.7, 0.95) if rare else (0.85, 0.96, 0.99))),  # type: ignore[arg-type]
        evidence=tuple(figures),
        where=seen.where,
        fix=Fix(
            "log-less",
            "display",
            "log every 50 steps or once an epoch, keep the values as numbers until then, and let the file be flushed by itself",
        ),
        confidence=0.85,
        explains=frozenset({"sync.item"}),
    )
