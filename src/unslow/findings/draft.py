"""What a rule returns: a cause with its evidence and what its cure would save; the engine makes findings of drafts."""

from __future__ import annotations

from dataclasses import dataclass, field

from unslow.account.model import Evidence, Fix, Where


@dataclass(frozen=True, slots=True)
class Draft:
    """One cause that a rule has seen.

    ``ns``: time on the main thread that the cause holds. ``saved``: low, likely and high nanoseconds of the wall that go with it.
    ``explains``: causes that are only contributors or symptoms where this one is there. ``step_saved``: the same of the steady step.
    """

    cause: str
    title: str
    ns: int
    saved: tuple[float, float, float]
    evidence: tuple[Evidence, ...]
    where: tuple[Where, ...]
    fix: Fix | None
    confidence: float = 0.8
    step_saved: tuple[float, float, float] | None = None
    explains: frozenset[str] = field(default_factory=frozenset)


def evidence(text: str, value: float, unit: str) -> Evidence:
    """One measured figure; the value in the unit named."""
    return Evidence(text, round(float(value), 6), unit)
