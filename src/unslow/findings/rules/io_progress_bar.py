"""A line is printed or a bar is drawn again at each step, and the step waits for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.after import logged
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.thresholds import OFTEN, SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "io.progress_bar"


def check(context: Context) -> Iterator[Draft]:
    """Time in printing, in progress bars, and on lines that draw over a line of the terminal."""
    seen = logged(context, drawn=True)
    if not seen.count and not context.steps:
        return  # no call was seen and no step: a line that only looks like drawing
    if seen.ns < SHARE_OF_LOOP * context.loop or 0 < seen.count < OFTEN * context.steps:
        return
    each = seen.ns / max(context.steps, 1)
    yield Draft(
        cause=CAUSE,
        title=f"printing and drawing took {seconds(each)} a step, {seconds(seen.ns)} in all",
        ns=seen.ns,
        saved=(0.85 * seen.ns, 0.96 * seen.ns, 0.99 * seen.ns),
        evidence=(
            evidence("printing and drawing, a step", each / 1e6, "ms"),
            evidence(f"calls ({', '.join(seen.names[:3]) or 'by hand'})", seen.count or context.steps, "calls"),
            evidence(f"of the training time ({share(seen.ns, context.loop)})", seen.ns / 1e9, "s"),
        ),
        where=seen.where,
        fix=Fix(
            "draw-less", "display", "draw a few times a second (tqdm: mininterval=0.5, no refresh() of your own) and print every 50 steps"
        ),
        confidence=0.85,
        explains=frozenset({"sync.item"}),
    )
