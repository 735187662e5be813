"""Nanoseconds, and how times, shares, ratios and sizes are written for people."""

from __future__ import annotations

Ns = int

SECOND: Ns = 1_000_000_000

_TIMES = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", SECOND))
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def _short(value: float) -> str:
    """One decimal below a hundred, none above: never more digits than a person reads."""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.1f}"


def seconds(ns: float) -> str:
    """``17.9 s``, ``4.2 ms``, ``117 µs``, ``12 min 30 s``; nanoseconds are written whole."""
    size = abs(ns)
    if size >= 600 * SECOND:
        whole = round(size / SECOND)
        hours, rest = divmod(whole, 3600)
        minutes, secs = divmod(rest, 60)
        sign = "-" if ns < 0 else ""
        return f"{sign}{hours} h {minutes:02d} min" if hours else f"{sign}{minutes} min {secs:02d} s"
    # 999.6 would be written "1000": the next unit takes over where rounding reaches it.
    unit, scale = next((one for one in _TIMES if size < 999.5 * one[1]), _TIMES[-1])
    return f"{ns:.0f} ns" if scale == 1 else f"{_short(ns / scale)} {unit}"


def share(part: float, whole: float) -> str:
    """``89 %`` or ``0.4 %``; a whole of zero has no shares."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    return f"{percent:.0f} %" if abs(percent) >= 9.95 else f"{percent:.1f} %"


def ratio(value: float) -> str:
    """``1.27x``, ``5.4x``, ``120x``."""
    if abs(value) < 2:
        return f"{value:.2f}x"
    return f"{_short(value)}x"


def size(number: float) -> str:
    """``512 B``, ``1.6 MB``, in powers of a thousand."""
    value = float(number)
    for unit in _SIZES:
        if abs(value) < 999.5 or unit == _SIZES[-1]:
            return f"{value:.0f} B" if unit == "B" else f"{_short(value)} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def apportion(values: list[int], total: int) -> list[int]:
    """Scale non-negative whole ``values`` so that they sum to ``total`` exactly, by largest remainders."""
    whole = sum(values)
    if whole == total:
        return list(values)
    if whole == 0:
        return [0] * len(values)
    scaled = [value * total // whole for value in values]
    by_remainder = sorted(range(len(values)), key=lambda i: -(values[i] * total % whole))
    for i in by_remainder[: total - sum(scaled)]:
        scaled[i] += 1
    return scaled
