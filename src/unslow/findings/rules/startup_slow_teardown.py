"""After the script's last line the process takes long to leave."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.thresholds import SLOW_IMPORT_SHARE, USUAL_TEARDOWN_NS
from unslow.units import seconds, share

CAUSE = "startup.slow_teardown"


def check(context: Context) -> Iterator[Draft]:
    """Time after the last line, beyond what leaving with a framework loaded takes."""
    took = context.ns("teardown")
    # A machine that is slow to start is slow to leave: what imports took is the measure of it.
    usual = max(USUAL_TEARDOWN_NS, 0.5 * context.ns("startup.import"))
    # Lines of the user's that run there are no part of what is usual.
    mine = sum(sample.ns for sample in context.samples if sample.activity == "teardown" and sample.frames)
    extra = max(took - usual, min(mine, took))
    if extra < SLOW_IMPORT_SHARE * context.wall or took < USUAL_TEARDOWN_NS:
        return
    hot = context.hot_lines("teardown")
    callers = context.hot_lines("teardown", callers=True)
    registered = context.made_at("register") or context.made_at("Thread")
    last = context.hot_lines("optimizer", "backward", callers=True)[-1:]
    yield Draft(
        cause=CAUSE,
        title=f"leaving took {seconds(took)} after the last line, {share(took, context.wall)} of the run",
        ns=took,
        saved=(0.7 * extra, 0.95 * extra, min(1.1 * extra, took)),
        evidence=(
            evidence("from the last line to the end of the process", took / 1e9, "s"),
            evidence("of it, in lines of the script or beyond what leaving takes", extra / 1e9, "s"),
        ),
        where=unique(hot[:2], callers[:2], registered, last),
        fix=Fix(
            "leave-early",
            "display",
            "look at what is registered with atexit, at threads that are waited for, and at the size of what is freed at the end",
        ),
        confidence=0.7,
    )
