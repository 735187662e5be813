"""The operators of a step are so small that calling them takes the time, not what they compute."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import CALL_NS, needed, typical
from unslow.findings.thresholds import CALLS_SHARE, MANY_OPERATORS, NAMED_ONLY, SMALL_OPERATOR_NS

CAUSE = "dispatch.small_ops"


def check(context: Context) -> Iterator[Draft]:
    """Operators of an inspected step that take microseconds, hundreds of them, and a step that is little else than their calls."""
    rows = [row for row in typical(context) if row.phase in ("forward", "backward", "optimizer", "script")]
    calls = sum(row.count for row in rows)
    if calls < MANY_OPERATORS or not context.account.steps.median_ns:
        return
    work = sum(needed(context, row) - row.count * CALL_NS for row in rows)
    took = sum(row.ns for row in rows)
    step = context.account.steps.median_ns
    busy = context.ns("forward", "backward", "loss", "optimizer", "zero_grad", "script")
    if took / calls > SMALL_OPERATOR_NS or work > (1 - CALLS_SHARE) * took or busy < CALLS_SHARE * context.loop:
        return
    if step > 40 * CALL_NS * calls:
        return  # something else holds the step
    # Capturing the step as one program takes away about half of the way to each operator; it has to be compiled first.
    # By how much is not known from here: named, but no reason by itself to call a script slow.
    saved = min(0.25 * busy, NAMED_ONLY * context.wall)
    yield Draft(
        cause=CAUSE,
        title=f"{calls} operators a step take {took / calls / 1e3:.1f} µs each, of which {100 * work / took:.0f} % is arithmetic",
        ns=busy,
        saved=(0.0, saved, 2 * saved),
        evidence=(
            evidence("operators a step", calls, "operators"),
            evidence("each takes", took / calls / 1e3, "µs"),
            evidence("their arithmetic, of that", 100 * work / took, "%"),
        ),
        where=unique(leading(context, "forward")[:3], leading(context, "backward")[:1]),
        fix=Fix("larger-batches", "display", "larger batches, or torch.compile for a long run: fewer and larger operators"),
        confidence=0.5,
    )
