"""A Python loop over elements calls the same small operators again and again, where one call could take all elements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context, Operator
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import looped, turns, unique
from unslow.findings.operators import short, typical
from unslow.findings.thresholds import LOOPED_CALLS, SHARE_OF_LOOP, SMALL_OPERATOR_NS

CAUSE = "dispatch.python_loop"
_IDLE = ("detach", "view", "t.", "empty", "_unsafe_view", "alias", "expand", "profiler", "_record_function")


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
    order = turns(lines[0].file, lines[0].line) if lines else "free"
    if order == "feedback":
        return  # each turn works on what the one before it put out
    part = 0.93 if order == "free" else 0.6
    if held < SHARE_OF_LOOP * context.loop or not lines:
        return
    text = "one operator on the whole tensor in place of the loop (matmul, einsum, broadcasting, torch.vmap)"
    if order == "carried":
        text = "a layer that takes the whole sequence (nn.LSTM, nn.GRU, cumsum), or at least what does not need the state before the loop"
    calls = sum(row.count for name in phases for row in _repeated(context, name))
    yield Draft(
        cause=CAUSE,
        title=(
            f"a loop in Python calls {short(most)} {most.count} times a step on {_size(most)}, with the rest of its body "
            f"{calls} operators: {held / context.steps / 1e6:.1f} ms a step with their backward"
        ),
        ns=held,
        saved=(0.8 * part * held, part * held, min(1.3 * part, 0.98) * held),
        evidence=(
            evidence(f"calls of {short(most)} on the same shapes, a step", most.count, "calls"),
            evidence("each of them", most.ns / most.count / 1e3, "µs"),
            evidence("the loop and its backward, a step", held / context.steps / 1e6, "ms"),
            evidence("share of the training time", 100 * held / context.loop, "%"),
        ),
        where=unique(lines[:4], context.hot_lines("backward")[:1]),
        fix=Fix("batch-the-loop", "display", text),
        confidence=0.85 if order == "free" else 0.6,
        explains=frozenset({"dispatch.small_ops", "threads.overhead_small_ops", "data.array_conversion"}),
    )


def _repeated(context: Context, phase: str) -> list[Operator]:
    """Operators that were called often on the same shapes and are small, views among them left out."""
    rows = [row for row in typical(context, phase) if not row.name.removeprefix("aten.").startswith(_IDLE)]
    # A deep network calls as many modules as it has layers: those are no turns of one loop.
    depth = max((int(row[3]) for row in context.seen("modules") or ()), default=1)
    least = max(LOOPED_CALLS, 3 * depth)
    found = [row for row in rows if row.count >= least and row.ns <= 2 * row.count * SMALL_OPERATOR_NS]
    groups: dict[str, list[Operator]] = defaultdict(list)
    for row in rows:
        groups[row.name].append(row)
    # Shapes that differ from turn to turn, or an index among the arguments.
    return found + [max(group, key=lambda row: row.count) for group in groups.values() if len(group) >= least]


def _size(row: Operator) -> str:
    shape = next((shape for shape in row.shapes if isinstance(shape, tuple)), ())
    return " x ".join(str(length) for length in shape) + " numbers" if shape else "single numbers"
