"""Compiling takes longer than a run this short can win back."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.rules.compile_retrace import compilations
from unslow.findings.thresholds import COMPILING_SHARE, EAGER_AT_MOST

CAUSE = "compile.warmup"


def check(context: Context) -> Iterator[Draft]:
    """The time of first compilations against all steps that ran afterwards."""
    held = context.ns("compile")
    again = sum(span[2] for span in compilations(context) if span[3])
    first = held - again
    training = context.ns("forward", "backward", "loss", "optimizer", "zero_grad")
    if not context.steps or first < COMPILING_SHARE * context.wall:
        return
    # What the steps would take uncompiled is not known: at most this many times what they took compiled.
    slower = (EAGER_AT_MOST - 1) * training
    saved = first - 0.5 * slower
    if saved <= 0:
        return
    even = first / max(slower / max(context.steps, 1), 1.0)
    yield Draft(
        cause=CAUSE,
        title=(
            f"compiling took {first / 1e9:.1f} s, all {context.steps} steps after it {training / 1e9:.1f} s: "
            f"not won back before step {even:.0f} even if it makes them {EAGER_AT_MOST:g} times as fast"
        ),
        ns=round(first),
        saved=(max(first - slower, 0.3 * first), saved, first),
        evidence=(
            evidence("compiling", first / 1e9, "s"),
            evidence("forward, backward and optimizer of all steps", training / 1e9, "s"),
            evidence("share of the run", 100 * first / context.wall, "%"),
        ),
        where=unique(context.made_at("compile"), leading(context, "compile")[:3]),
        fix=Fix("no-compile", "unsafe", "leave torch.compile out for short runs; or compile only the part that repeats most"),
        confidence=0.85,
    )
