"""Runs every rule, puts the root before what only follows from it, prices, and says when nothing is worth fixing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from unslow.account.model import Account, Finding, NotMeasured
from unslow.findings import rules
from unslow.findings.context import Context
from unslow.findings.draft import Draft
from unslow.findings.price import gain
from unslow.findings.thresholds import WORTH_FIXING, WORTH_NAMING
from unslow.recording.model import Recording

_ONCE = ("startup.", "compile.", "data.worker_startup", "eval.", "io.checkpoint")
"""Causes outside the steady step: their cure leaves it as it is."""

Rule = Callable[[Context], Iterable[Draft]]


def all_rules() -> dict[str, Rule]:
    """Every rule by the cause it is named after."""
    found: dict[str, Rule] = {}
    for module in sorted(iter_modules(rules.__path__), key=lambda item: item.name):
        loaded = import_module(f"{rules.__name__}.{module.name}")
        if hasattr(loaded, "CAUSE"):
            found[loaded.CAUSE] = loaded.check
    return found


def diagnose(recording: Recording, account: Account) -> Account:
    """The account with its findings. A rule that raises is reported in ``not_measured`` and costs nothing else."""
    if not account.activities or account.wall_ns <= 0:
        return account
    context = Context.of(recording, account)
    drafts: list[Draft] = []
    trouble: list[NotMeasured] = []
    for cause, rule in all_rules().items():
        try:
            drafts += list(rule(context))
        except Exception as problem:
            trouble.append(NotMeasured(cause, f"its rule failed ({type(problem).__name__}: {problem})"))
    if context.main is None:
        return replace(account, not_measured=(*account.not_measured, *trouble))
    findings = rank([finding for draft in drafts if (finding := _finding(draft, context)) is not None], drafts)
    healthy = not any(f.gain is not None and f.gain.likely > WORTH_FIXING for f in findings if not f.secondary)
    return replace(account, findings=tuple(findings), healthy=healthy, not_measured=(*account.not_measured, *trouble))


def rank(findings: list[Finding], drafts: list[Draft]) -> list[Finding]:
    """Main cause first; what another one that is there explains is secondary and stands after all primary ones."""
    strength = {f.cause: f.gain.likely if f.gain else 1.0 for f in findings}
    present = set(strength)
    explained: set[str] = set()
    for draft in sorted(drafts, key=lambda d: -strength.get(d.cause, 0.0)):
        if draft.cause in present and draft.cause not in explained:
            explained |= draft.explains & present - {draft.cause}
    marked = [replace(f, secondary=f.cause in explained) for f in findings]
    return sorted(marked, key=lambda f: (f.secondary, -(f.gain.likely if f.gain else 1.0) * f.confidence))


def _finding(draft: Draft, context: Context) -> Finding | None:
    priced = gain(context.wall, draft.saved)
    if priced.likely < WORTH_NAMING:
        return None
    step = context.account.steps.median_ns
    if step and draft.step_saved is not None:
        per_step = gain(step, draft.step_saved)
    elif step and not draft.cause.startswith(_ONCE):
        # What is saved over the whole training is saved evenly: the same part of each step.
        per_step = gain(context.loop, draft.saved)
    else:
        per_step = None
    ns = min(max(int(draft.ns), 0), context.wall)
    return Finding(
        cause=draft.cause,
        title=draft.title,
        ns=ns,
        share=round(ns / context.wall, 4),
        confidence=draft.confidence,
        gain=priced,
        gain_step=per_step,
        evidence=draft.evidence,
        where=draft.where[:6],
        fix=draft.fix,
    )
