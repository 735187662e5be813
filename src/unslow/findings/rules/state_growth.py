"""Something on the host grows with every step, and each step goes through all of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unslow.account.model import Fix, Where
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.thresholds import GROWTH, GROWTH_SHARE

CAUSE = "state.growth"
_NOT = ("startup", "setup", "teardown", "compile", "observer", "unexplained", "evaluate", "data.wait", "data.workers")


def check(context: Context) -> Iterator[Draft]:
    """Lines whose time a step grows from quarter to quarter of the steps while the rest stays as it was."""
    if context.trend() is None or context.main is None or _graph_grows(context):
        return
    quarters = _by_line(context)
    rest = np.sum(list(quarters.values()), axis=0) if quarters else np.zeros(4)
    if rest[0] <= 0:
        return
    place, mine = max(quarters.items(), key=lambda item: float(item[1][3] - item[1][0]))
    other = rest - mine
    drift = max(float(other[3] / other[0]), 1.0) if other[0] > 0 else 1.0
    first = max(float(mine[0]), 0.02 * float(rest[0]))
    # Rising throughout: one slow stretch, or another program that came by, is no growth.
    rising = mine[1] <= 1.15 * mine[2] and mine[0] < mine[2] and mine[1] < mine[3] and mine[2] < 1.02 * mine[3]
    if not rising or float(mine[3]) / first < GROWTH * drift or rest[3] < GROWTH * rest[0]:
        return
    if mine[3] - mine[0] < 0.5 * (rest[3] - rest[0]):
        return
    total = float(mine.sum())
    early = max(float(mine[0] - (mine[3] - mine[0]) / 6), 0.0)
    saved = total - 4 * early
    if saved < GROWTH_SHARE * context.loop:
        return
    activity, file, line, function = place
    each = context.steps / 4
    yield Draft(
        cause=CAUSE,
        title=(
            f"line {line} takes longer with every step: {mine[0] / each / 1e6:.2g} ms a step in the first quarter, "
            f"{mine[3] / each / 1e6:.2g} ms in the last"
        ),
        ns=round(total),
        saved=(0.8 * saved, saved, min(1.1 * saved, 0.98 * total)),
        evidence=(
            evidence("this line, first quarter of the steps", mine[0] / each / 1e6, "ms a step"),
            evidence("this line, last quarter", mine[3] / each / 1e6, "ms a step"),
            evidence("everything else, last quarter over the first", drift, "x"),
        ),
        where=unique(
            Where(file, line, function, round(total)), context.hot_lines(activity)[:2], context.hot_lines(activity, callers=True)[:3]
        ),
        fix=Fix(
            "bound-state", "display", "keep what each step needs (a running value, the last N entries), not everything since the start"
        ),
        confidence=0.85,
        explains=frozenset({"dispatch.small_ops", "dispatch.python_loop", "host.gc", "data.array_conversion"}),
    )


def _graph_grows(context: Context) -> bool:
    nodes = [int(step.get("seen", {}).get("nodes") or 0) for step in context.inspected]
    return len(nodes) > 1 and nodes[-1] > GROWTH * max(nodes[0], 1)


def _by_line(context: Context) -> dict[tuple[str, str, int, str], np.ndarray]:
    """Sampled time of each activity and innermost user line in each quarter of the steps."""
    assert context.main is not None
    timeline = context.main.timeline
    found: dict[tuple[str, str, int, str], np.ndarray] = {}
    for sample in context.samples:
        if not sample.frames or sample.activity.startswith(_NOT):
            continue
        tile = min(int(np.searchsorted(timeline.end, sample.time, side="right")), len(timeline.step) - 1)
        step = int(timeline.step[tile])
        if 0 < step < context.steps:
            file, line, function = sample.frames[0]
            row = found.setdefault((sample.activity, file, line, function), np.zeros(4))
            row[min(step * 4 // context.steps, 3)] += sample.ns
    return found
