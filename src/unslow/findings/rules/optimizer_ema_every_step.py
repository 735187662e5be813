"""A running average of all weights is brought up to date after every single step, tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings import source
from unslow.findings.context import Context, Operator
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import short, typical
from unslow.findings.thresholds import SHARE_OF_LOOP

CAUSE = "optimizer.ema_every_step"
_NAMES = ("lerp", "lerp_", "mul", "mul_", "add", "add_", "sub", "sub_", "copy_")
_CALLS = {*_NAMES, "update_parameters", "_foreach_lerp_", "_foreach_mul_", "_foreach_add_", "state_dict", "parameters"}


def check(context: Context) -> Iterator[Draft]:
    """Outside of forward, backward and optimizer, an inspected step multiplies and adds tensors shaped as all parameters are."""
    tensors = sum(int(one.get("tensors") or 0) for one in context.optimizers)
    shapes = {one.shapes[0] for one in context.operators("backward") if short(one) == "detach" and one.shapes}
    shapes |= {one.shapes[0] for one in context.operators("optimizer") if one.shapes}
    mine = typical(context, "script")
    whole = sum(one.ns for one in mine)
    if not tensors or not whole:
        return
    averaging = [one for one in mine if short(one).removeprefix("_foreach_") in _NAMES and _on_parameters(one, shapes)]
    counts: dict[str, float] = {}
    for one in averaging:
        # One call on a list of tensors does as much as one on each.
        times = one.shapes[0][0] if short(one).startswith("_foreach") else one.count
        kind = short(one).removeprefix("_foreach_").rstrip("_")
        counts[kind] = counts.get(kind, 0) + times
    each = 0.8 * tensors
    if counts.get("lerp", 0) < each and not (counts.get("mul", 0) >= each and counts.get("add", 0) + counts.get("sub", 0) >= each):
        return
    held = context.ns("script") * sum(one.ns for one in averaging) / whole
    if held < SHARE_OF_LOOP * context.loop:
        return
    calls = sum(one.count for one in averaging)
    lines = [place for place in context.hot_lines("script", callers=True) if _averages(place)]
    yield Draft(
        cause=CAUSE,
        title=(
            f"after each of {context.steps} steps a running average of {tensors} tensors is brought up to date: "
            f"{calls} operators, {held / context.steps / 1e6:.1f} ms a step"
        ),
        ns=round(held),
        saved=(0.7 * held, 0.93 * held, 1.1 * held),
        evidence=(
            evidence("averaging, a step", held / context.steps / 1e6, "ms"),
            evidence("operators a step that average", calls, "operators"),
            evidence("share of the training time", 100 * held / context.loop, "%"),
        ),
        where=unique(lines[:3], leading(context, "script")[:2]),
        fix=Fix("ema-less-often", "unsafe", "average every 10th step with decay ** 10; or all tensors in one call of torch._foreach_lerp_"),
        confidence=0.85,
        explains=frozenset({"dispatch.small_ops", "dispatch.python_loop"}),
    )


def _on_parameters(operator: Operator, shapes: set[object]) -> bool:
    return bool(operator.shapes) and (operator.shapes[0] in shapes or short(operator).startswith("_foreach"))


def _averages(place: Where) -> bool:
    line = source.line(place.file, place.line)
    return line is not None and bool(_CALLS & set(line.names))
