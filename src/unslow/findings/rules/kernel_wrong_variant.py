"""A layer made for whole sequences is called once for each time step, though the whole sequence is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings import source
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import loop_node, looped, names, unique
from unslow.findings.operators import CALL_NS, is_matrix, needed, typical
from unslow.findings.thresholds import LAYER_CALLS, SHARE_OF_LOOP, SINGLE_STEPS, WHOLE_SEQUENCE_RATE

CAUSE = "kernel.wrong_variant"


def check(context: Context) -> Iterator[Draft]:
    """How often an inspected step called a recurrent layer of torch's, and with sequences of which length."""
    rows = [row for row in context.seen("modules") or () if len(row) > 6 and row[4] and row[6] and row[5] == 1]
    rows = [row for row in rows if row[2] >= SINGLE_STEPS * row[3]]
    if not rows:
        return
    name, calls, layers = str(rows[0][0]), sum(row[2] for row in rows), sum(row[3] for row in rows)
    _, lines = looped(context, "forward")
    lines = [place for place in lines if place.ns * 20 > sum(one.ns for one in lines)]
    here = next((place for place in lines if _runs_ahead(place)), None)
    if here is None:
        return
    spent = context.ns("forward", "backward", "loss")
    mine = [one for one in typical(context) if one.phase in ("forward", "backward")]
    took = 1.15 * sum(one.ns for one in mine)
    cores = min(float(context.facts.get("threads") or 1), context.cores)
    again = sum(needed(context, one, cores) - one.count * CALL_NS for one in mine if is_matrix(one)) / WHOLE_SEQUENCE_RATE
    if any("lstm" in one.name or "mkldnn_rnn" in one.name for one in mine):
        saved = spent * max(0.0, min(1 - again / max(took, 1.0), 0.95))
    else:
        # No kernel of its own for whole sequences: inside it goes step by step too, only without Python and a module's call.
        saved = min(calls * LAYER_CALLS * CALL_NS / max(took, 1.0), 0.7) * spent
    if saved < SHARE_OF_LOOP * context.loop:
        return
    yield Draft(
        cause=CAUSE,
        title=(
            f"{name} was called {calls} times a step with sequences of length 1, "
            f"{spent / context.steps / 1e6:.0f} ms a step with its backward"
        ),
        ns=spent,
        saved=(0.7 * saved, saved, min(1.25 * saved, 0.95 * spent)),
        evidence=(
            evidence(f"calls of {name} a step, each with one time step", calls, "calls"),
            evidence("layers that are called so", layers, "layers"),
            evidence("nodes of the graph a step", int(context.seen("nodes") or 0), "nodes"),
            evidence("forward and backward", spent / context.steps / 1e6, "ms a step"),
        ),
        where=unique(here, lines[:3], context.hot_lines("backward")[:1]),
        fix=Fix(
            "whole-sequence",
            "display",
            f"call the {name} once, with the whole sequence, before the loop: its input does not depend on its output",
        ),
        confidence=0.9,
        explains=frozenset({"dispatch.python_loop", "dispatch.small_ops", "graph.growth", "threads.overhead_small_ops", "state.growth"}),
    )


def _runs_ahead(place: Where) -> bool:
    """Whether what the call on this line is given is known before the loop: nothing of it was made from what came out."""
    loop = loop_node(place.file, place.line)
    if not isinstance(loop, ast.For | ast.While):
        return loop is not None
    made: set[str] = set()
    for _ in range(4):
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if node.lineno <= place.line <= (node.end_lineno or node.lineno) or made & names(node.value):
                    made |= {name for target in targets for name in names(target)}
    line = source.line(place.file, place.line)
    calls = [call for call in line.calls if call.args and not isinstance(call.func, ast.Name)] if line else []
    calls = calls or (list(line.calls) if line else [])
    # State goes back in as a later argument; it is the first that must not depend on what came out.
    outermost = max(calls, key=lambda call: (call.end_col_offset or 0) - call.col_offset, default=None)
    return outermost is None or not outermost.args or not made & names(outermost.args[0])
