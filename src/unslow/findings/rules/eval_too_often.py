"""Validation runs after so few updates that most of the time goes into looking, not into learning."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.after import evaluations
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.thresholds import EVALUATION_EVERY, EVALUATION_SHARE
from unslow.units import seconds, share

CAUSE = "eval.too_often"


def check(context: Context) -> Iterator[Draft]:
    """How many stretches of evaluation there were, after how many updates, and what they took."""
    times, took = evaluations(context)
    if times < 5 or took < EVALUATION_SHARE * context.loop:
        return
    every = context.steps / times
    if every >= EVALUATION_EVERY:
        return
    # At a sensible interval some of it stays.
    stays = min(every / (2 * EVALUATION_EVERY), 0.5)
    hot = context.hot_lines("evaluate", "evaluate/")[:1]
    callers = [place for place in context.hot_lines("evaluate", "evaluate/", callers=True) if place.ns > 0.3 * took]
    yield Draft(
        cause=CAUSE,
        title=f"validation ran {times} times, after every {every:.1f} updates, {seconds(took / times)} each time",
        ns=took,
        saved=(0.9 * took * (1 - min(2 * stays, 0.6)), took * (1 - stays), took * 0.99),
        evidence=(
            evidence("evaluations", times, "times"),
            evidence("updates between two of them", every, "updates"),
            evidence(f"evaluating ({share(took, context.loop)} of the training time)", took / 1e9, "s"),
            evidence("one evaluation", took / times / 1e6, "ms"),
        ),
        where=unique(callers[:4], hot),
        fix=Fix(
            "evaluate-less",
            "display",
            f"evaluate every {4 * EVALUATION_EVERY} updates or once an epoch, not every {every:.0f}; see that its counter is reset",
        ),
        confidence=0.9,
        explains=_under(context),
    )


def _under(context: Context) -> frozenset[str]:
    """What is only seen because so much is evaluated."""
    inside = context.ns(
        "evaluate/data.fetch", "evaluate/data.collate", "evaluate/data.transform", "evaluate/data.wait", "evaluate/data.workers"
    )
    outside = context.ns("data.fetch", "data.collate", "data.transform", "data.wait", "data.workers")
    data = {"data.tiny_batches_collate", "data.per_sample_transform", "data.decode", "data.worker_startup", "data.slow_storage"}
    return frozenset({"sync.item", "metrics.every_step"} | (data if inside > outside else set()))
