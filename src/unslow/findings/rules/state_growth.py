"""Something on the host grows with every step, and each step goes through all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from unslow.account.model import Fix, Where
from unslow.findings.context import Context, Operator
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.operators import numel, of_steps
from unslow.findings.thresholds import BUSY_CORES, CONTROL_SHARE, GROWTH, GROWTH_SHARE

CAUSE = "state.growth"
_GROWING = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "add_param_group",
    "append", "extend", "cat", "concatenate", "vstack",
)  # fmt: skip
_NOT = ("startup", "setup", "teardown", "compile", "observer", "unexplained", "evaluate", "data.wait", "data.workers", "gc")


def check(context: Context) -> Iterator[Draft]:
    """An activity whose time a step grows from quarter to quarter of the steps while the rest stays as it was."""
    if context.trend() is None or context.main is None or _graph_grows(context):
        return
    quarters = _by_activity(context)
    whole = np.sum(list(quarters.values()), axis=0) if quarters else np.zeros(4)
    if whole[0] <= 0:
        return
    activity, mine = max(quarters.items(), key=lambda item: float(item[1][3] - item[1][0]))
    other = whole - mine
    # Another program that came by slows down everything alike.
    compared = other[0] > CONTROL_SHARE * whole[0]
    drift = max(float(other[3] / other[0]), 1.0) if compared else 1.0
    first = max(float(mine[0]), 0.02 * float(whole[0]))
    rising = all(mine[i] < 1.1 * mine[i + 1] for i in range(3)) and mine[0] < mine[2] and mine[1] < mine[3]
    if not rising or float(mine[3]) / first < GROWTH * drift or whole[3] < GROWTH * whole[0]:
        return
    alone = context.busy is not None and context.busy[1] < BUSY_CORES
    if not compared and not _work_grows(context) and not (alone and mine[3] > 2 * GROWTH * first):
        return  # nothing to compare with: the machine may have become busier
    total = float(mine.sum())
    early = max(float(mine[0] - (mine[3] - mine[0]) / 6), 0.0)
    saved = min(total - 4 * early, 0.95 * total)
    lines = _late_lines(context, activity)
    if saved < GROWTH_SHARE * context.loop or not lines:
        return
    each = context.steps / 4
    yield Draft(
        cause=CAUSE,
        title=(
            f"line {lines[0].line} ({activity}) takes longer with every step: {mine[0] / each / 1e6:.2g} ms a step "
            f"in the first quarter, {mine[3] / each / 1e6:.2g} ms in the last"
        ),
        ns=round(total),
        saved=(0.8 * saved, saved, min(1.1 * saved, 0.98 * total)),
        evidence=(
            evidence(f"{activity}, first quarter of the steps", mine[0] / each / 1e6, "ms a step"),
            evidence(f"{activity}, last quarter", mine[3] / each / 1e6, "ms a step"),
            evidence("everything else, last quarter over the first", drift, "x"),
        ),
        where=unique(lines[:2], _grown(context), context.hot_lines(activity, callers=True)[:3]),
        fix=Fix(
            "bound-state", "display", "keep what each step needs (a running value, the last N entries), not everything since the start"
        ),
        confidence=0.85,
        explains=frozenset({"dispatch.small_ops", "dispatch.python_loop", "host.gc", "data.array_conversion"}),
    )


def _grown(context: Context) -> list[Where]:
    """Where the user's files hang one more on something: hooks, parameter groups, entries of a list, rows of a tensor."""
    return [place for name in _GROWING if (place := context.made_at(name)) is not None][:2]


def _graph_grows(context: Context) -> bool:
    nodes = [int(step.get("seen", {}).get("nodes") or 0) for step in context.inspected]
    return len(nodes) > 1 and nodes[-1] > GROWTH * max(nodes[0], 1)


def _work_grows(context: Context) -> bool:
    """Whether late inspected steps have more operators, or larger ones, than early ones."""
    work = [(sum(one.count for one in rows), sum(one.count * numel(one) for one in rows)) for rows in map(_rows, context.inspected)]
    return len(work) > 1 and (work[-1][0] > GROWTH * work[0][0] or work[-1][1] > GROWTH * work[0][1])


def _rows(step: dict[str, Any]) -> list[Operator]:
    return of_steps([step])


def _by_activity(context: Context) -> dict[str, np.ndarray]:
    """Time of each activity in each quarter of the steps."""
    assert context.main is not None
    timeline = context.main.timeline
    inside = (timeline.step > 0) & (timeline.step < context.steps)
    quarter = np.minimum(timeline.step[inside] * 4 // context.steps, 3)
    length = (timeline.end - timeline.start - timeline.cost)[inside]
    key = timeline.activity[inside] * 4 + quarter
    sums = np.bincount(key, weights=length, minlength=4 * len(timeline.names)).reshape(-1, 4)
    named = {name: sums[number] for number, name in enumerate(timeline.names)}
    return {name: row for name, row in named.items() if row.sum() > 0 and not name.startswith(_NOT)}


def _late_lines(context: Context, activity: str) -> list[Where]:
    """The user's lines by sampled time in this activity, in the second half of training."""
    own = [sample for sample in context.samples if sample.activity == activity and sample.frames]
    late: dict[tuple[str, int, str], int] = {}
    for sample in own[len(own) // 2 :]:
        late[sample.frames[0]] = late.get(sample.frames[0], 0) + sample.ns
    return [Where(file, line, function, ns) for (file, line, function), ns in sorted(late.items(), key=lambda item: -item[1])]
