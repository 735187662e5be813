"""What a cure would give: intervals of before over after, from what remains when the cause is gone."""

from __future__ import annotations

from unslow.account.model import Gain


def gain(whole_ns: int, saved_ns: tuple[float, float, float]) -> Gain:
    """Before over after where of ``whole_ns`` low, likely and high nanoseconds are saved; never more than is there."""
    low, likely, high = (min(max(saved, 0.0), whole_ns * 0.98) for saved in saved_ns)
    return Gain(*(round(whole_ns / max(whole_ns - saved, 1.0), 3) for saved in (low, likely, high)))


def saved_share(ns: float, low: float, likely: float, high: float) -> tuple[float, float, float]:
    """Shares of ``ns`` that vanish."""
    return ns * low, ns * likely, ns * high
