"""The state is saved so often, or so much of it, that training waits for the saving."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.after import saved_by_hand, while_training
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "io.checkpoint"


def check(context: Context) -> Iterator[Draft]:
    """Calls that save, between the steps."""
    took, times = while_training(context, "checkpoint")
    # Gathering what is saved (copies, arrays of each weight) goes before the call that saves.
    took += saved_by_hand(context)
    if took < SHARE_OF_LOOP * context.loop or times < 3:
        return
    every = context.steps / times
    # A checkpoint in a hundred updates, or one at the end where there are fewer, is what stays.
    stays = min(max(every / 100, 1 / times), 0.5)
    callers = context.hot_lines("checkpoint", "evaluate/checkpoint", callers=True)
    yield Draft(
        cause=CAUSE,
        title=f"the state was saved {times} times, after every {every:.1f} updates, {seconds(took / times)} each time",
        ns=took,
        saved=(0.9 * took * (1 - min(2 * stays, 0.6)), took * (1 - stays), took * 0.99),
        evidence=(
            evidence("saves", times, "times"),
            evidence("updates between two of them", every, "updates"),
            evidence(f"saving ({share(took, context.loop)} of the training time)", took / 1e9, "s"),
            evidence("one save", took / times / 1e6, "ms"),
        ),
        where=unique(context.hot_lines("checkpoint", "evaluate/checkpoint")[:1], [place for place in callers if place.ns > 0.3 * took][:4]),
        fix=Fix(
            "save-less",
            "display",
            f"save once an epoch or every few minutes, not every {max(every, 1):.0f} updates; see that its counter is reset",
        ),
        confidence=0.9,
        explains=frozenset({"host.gc"}),
    )
