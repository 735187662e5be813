"""Other programs have the cores that the training would use."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.thresholds import BUSY_CORES, OTHERS_CORES, WORTH_FIXING

CAUSE = "host.contention"


def check(context: Context) -> Iterator[Draft]:
    """All cores busy while training, a good part of them for somebody else."""
    if context.busy is None:
        return
    own, others = context.busy
    if others < max(BUSY_CORES, OTHERS_CORES * context.cores) or own + others < 0.85 * context.cores:
        return
    # What the script would do with the cores is not known: its threads may have waited, or not have been there. It is no fault of the
    # script either, so that it stays below what counts as worth a change of it.
    wanted = min(own + others, context.cores)
    most = context.loop * (1 - own / wanted)
    least = context.wall * (1 - 1 / (WORTH_FIXING - 0.01))
    likely = min(least, most)
    yield Draft(
        cause=CAUSE,
        title=f"other programs kept {others:.1f} of {context.cores:.0f} cores busy while this one trained on {own:.1f}",
        ns=int(most),
        saved=(0.3 * likely, likely, max(most, likely)),
        evidence=(
            evidence("cores busy for other programs while training", others, "cores"),
            evidence("cores busy for this one", own, "cores"),
            evidence("cores that it may use", context.cores, "cores"),
        ),
        where=(),
        fix=Fix(
            "quiet-machine",
            "display",
            "end or move the other programs (top shows them), then measure again: every time above is longer than it need be",
        ),
        confidence=0.6,
    )
