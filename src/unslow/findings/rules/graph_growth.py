"""The graph that a backward passes through grows with every step: what was computed before is never let go."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.thresholds import GROWTH, GROWTH_SHARE

CAUSE = "graph.growth"


def check(context: Context) -> Iterator[Draft]:
    """Nodes of the graph in early and late inspected steps, and a backward that takes longer and longer."""
    nodes = [(int(step["step"]), int(step.get("seen", {}).get("nodes") or 0)) for step in context.inspected]
    nodes = [item for item in nodes if item[1] > 0]
    whole, backward = context.trend(), context.trend("backward")
    if len(nodes) < 2 or whole is None or backward is None:
        return
    (early, few), (late, many) = nodes[0], nodes[-1]
    if many < GROWTH * few or backward[1] < GROWTH * backward[0]:
        return
    saved = growth(context, whole)
    if saved < GROWTH_SHARE * context.loop:
        return
    kept = _retained(context)
    per_step = (many - few) / max(late - early, 1)
    text = "detach what is carried from step to step (state = state.detach()), then backward() needs no retain_graph=True"
    yield Draft(
        cause=CAUSE,
        title=(
            f"each backward goes through everything computed before: {few} nodes in step {early}, {many} in step {late}; "
            f"{backward[0] / 1e6:.1f} ms a step in the first quarter, {backward[1] / 1e6:.1f} ms in the last"
        ),
        ns=round(saved),
        saved=(0.85 * saved, saved, 1.05 * saved),
        evidence=(
            evidence(f"nodes of the graph in step {early}", few, "nodes"),
            evidence(f"nodes of the graph in step {late}", many, "nodes"),
            evidence("nodes that each step adds", per_step, "nodes"),
            evidence("backward, last quarter of the steps over the first", backward[1] / backward[0], "x"),
        ),
        where=unique(kept, leading(context, "backward"), context.hot_lines("forward")[:2]),
        fix=Fix("detach-state", "display", text),
        confidence=0.95,
        explains=frozenset({"state.growth", "dispatch.small_ops", "dispatch.python_loop", "kernel.wrong_variant", "host.gc"}),
    )


def growth(context: Context, quarters: tuple[float, float]) -> float:
    """Nanoseconds that all steps together took beyond what the first one takes, for a growth in a straight line."""
    slope = (quarters[1] - quarters[0]) / 0.75
    slope = min(slope, 8 * quarters[0])  # the first step takes no less than nothing
    return slope / 2 * context.steps


def _retained(context: Context) -> list[Where]:
    lane = context.main.lane if context.main else None
    definitions = lane.definitions.values() if lane else ()
    return [Where(d.file, d.line, d.function) for d in definitions if d.attributes.get("retain_graph") and d.file and d.line]
