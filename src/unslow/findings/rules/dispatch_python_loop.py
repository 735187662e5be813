"""A Python loop over elements calls the same small operators again and again, where one call could take all elements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context, Operator
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import looped, unique
from unslow.findings.operators import short, typical
from unslow.findings.thresholds import LOOPED_CALLS, SHARE_OF_LOOP, SMALL_OPERATOR_NS

CAUSE = "dispatch.python_loop"


def check(context: Context) -> Iterator[Draft]:
    """The same operator on the same small shapes dozens of times in an inspected step, at lines in a loop inside the step."""
    phases = [name for name in ("forward", "script") if _repeated(context, name)]
    if not phases:
        return
    most = max((row for name in phases for row in _repeated(context, name)), key=lambda row: row.ns)
    activities = tuple("forward" if name == "forward" else "script" for name in phases)
    if "script" in phases:
        activities += ("loss",)  # what the script computes between forward and backward
    held, lines = looped(context, *activities)
    forward = context.ns("forward", "loss", *(("script",) if "script" in phases else ()))
    # The backward of what a loop did is as long-winded as the loop.
    behind = context.ns("backward") * min(held / max(forward, 1), 1.0)
    held += round(behind)
    if held < SHARE_OF_LOOP * context.loop or not lines:
        return
    calls = sum(row.count for name in phases for row in _repeated(context, name))
    yield Draft(
        cause=CAUSE,
        title=(
            f"a loop in Python calls {short(most)} {most.count} times a step on {_size(most)}, with the rest of its body "
            f"{calls} operators: {held / context.steps / 1e6:.1f} ms a step with their backward"
        ),
        ns=held,
        saved=(0.75 * held, 0.93 * held, 0.98 * held),
        evidence=(
            evidence(f"calls of {short(most)} on the same shapes, a step", most.count, "calls"),
            evidence("each of them", most.ns / most.count / 1e3, "µs"),
            evidence("the loop and its backward, a step", held / context.steps / 1e6, "ms"),
            evidence("share of the training time", 100 * held / context.loop, "%"),
        ),
        where=unique(lines[:4], context.hot_lines("backward")[:1]),
        fix=Fix(
            "batch-the-loop", "display", "one operator on the whole tensor in place of the loop (matmul, einsum, broadcasting, torch.vmap)"
        ),
        confidence=0.85,
        explains=frozenset({"dispatch.small_ops", "threads.overhead_small_ops"}),
    )


def _repeated(context: Context, phase: str) -> list[Operator]:
    """Operators that were called often on the same shapes and are small, views among them left out."""
    rows = [row for row in typical(context, phase) if not row.name.startswith(("aten.detach", "aten.view", "aten.t.", "profiler"))]
    counts: dict[str, list[Operator]] = defaultdict(list)
    for row in rows:
        counts[row.name].append(row)
    found = [row for row in rows if row.count >= LOOPED_CALLS and row.ns <= row.count * SMALL_OPERATOR_NS * 2]
    for group in counts.values():
        # Shapes that differ from turn to turn, or an index among the arguments.
        total = sum(row.count for row in group)
        if len(group) >= LOOPED_CALLS and total >= 2 * LOOPED_CALLS:
            found.append(max(group, key=lambda row: row.count))
    return found


def _size(row: Operator) -> str:
    shape = next((shape for shape in row.shapes if isinstance(shape, tuple)), ())
    return " x ".join(str(length) for length in shape) + " numbers" if shape else "single numbers"
