"""The garbage collector walks a large heap again and again while training."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings import source
from unslow.findings.after import while_training
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.price import saved_share
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "host.gc"


def check(context: Context) -> Iterator[Draft]:
    """Time of collections from the first update on."""
    took, times = while_training(context, "gc")
    if took < SHARE_OF_LOOP * context.loop or times < 2:
        return
    asked = next((place for place in context.hot_lines("gc") if "collect" in _names(place.file, place.line)), None)
    text = "after the data is loaded, gc.collect() and gc.freeze() once: what lives for ever is not walked again"
    if asked is not None:
        text = "leave gc.collect() out of the loop: the collector runs by itself, and tensors are freed without it"
    yield Draft(
        cause=CAUSE,
        title=f"the garbage collector ran {times} times while training, {seconds(took / times)} each, {seconds(took)} in all",
        ns=took,
        saved=saved_share(took, 0.75, 0.92, 0.99),
        evidence=(
            evidence("collections while training", times, "times"),
            evidence("one collection", took / times / 1e6, "ms"),
            evidence(f"of the training time ({share(took, context.loop)})", took / 1e9, "s"),
        ),
        where=unique(asked, context.hot_lines("gc")[:2], context.hot_lines("gc", callers=True)[:3]),
        fix=Fix("gc-freeze" if asked is None else "gc-leave-out", "safe" if asked is None else "display", text),
        confidence=0.8,
    )


def _names(file: str, number: int) -> tuple[str, ...]:
    found = source.line(file, number)
    return found.names if found else ()
