"""What operators of an inspected step cost: their typical time, and what their arithmetic would need on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from unslow.account.floor import count_flops, operator_name
from unslow.findings.context import Context, Operator

CALL_NS = 6_000
"""An operator on next to nothing: the way through the dispatcher, autograd's bookkeeping and back."""

FLOPS_PER_CORE = 30e9
BYTES_PER_S = 6e9
"""Cautious rates of one core, where this machine's are not known."""

_VIEWS = (
    "view",
    "t",
    "transpose",
    "permute",
    "expand",
    "detach",
    "alias",
    "unbind",
    "split",
    "squeeze",
    "unsqueeze",
    "as_strided",
    "_unsafe_view",
)
MATRIX = ("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "mv", "addmv", "dot")


def typical(context: Context, phase: str | None = None) -> list[Operator]:
    """The operators of the last inspected step of the main process, each with its quickest mean: others may have had the core."""
    return [one for one in of_steps(context.inspected) if phase is None or one.phase == phase]


def of_steps(steps: Iterable[dict[str, Any]]) -> list[Operator]:
    """The operators of the last of these inspected steps, each with its quickest mean over all of them."""
    chosen = sorted((step for step in steps if step.get("ops")), key=lambda step: int(step["step"]))
    best: dict[str, float] = {}
    for step in chosen:
        for row in step["ops"]:
            if len(row) > 5 and row[3]:
                key = str((row[0], row[1], row[2], row[5]))
                best[key] = min(best.get(key, float("inf")), row[4] / row[3])
    found = []
    for name, shapes, dtype, count, _, phase, *_ in (row for step in chosen[-1:] for row in step["ops"] if len(row) > 5):
        flat = tuple(tuple(shape) if isinstance(shape, list) else shape for shape in shapes)
        ns = best.get(str((name, shapes, dtype, phase)), 0.0) * count
        found.append(Operator(str(name), flat, str(dtype), int(count), round(ns), str(phase)))
    return found


def short(operator: Operator) -> str:
    """``addmm`` for ``aten.addmm.default``."""
    return operator_name(operator.name)


def numel(operator: Operator) -> int:
    """The most numbers that one of its inputs holds; of a list of tensors, all together."""
    return max(lengths(operator), default=0)


def lengths(operator: Operator) -> list[int]:
    """How many numbers each of its inputs holds."""
    return [shape[1] if _is_list(operator, shape) else prod(shape) for shape in operator.shapes if isinstance(shape, tuple)]


def _is_list(operator: Operator, shape: tuple[int, ...]) -> bool:
    """A list of tensors is written as their number and all their elements together."""
    return len(shape) == 2 and operator_name(operator.name).startswith(("_foreach", "_fused", "cat", "stack"))


def inputs(operator: Operator) -> int:
    """How many tensors go in."""
    return sum(isinstance(shape, tuple) for shape in operator.shapes)


def is_matrix(operator: Operator) -> bool:
    """Whether this multiplies and adds: matrices, convolutions, recurrent layers, attention."""
    name = short(operator)
    return name in MATRIX or "convolution" in name or "rnn" in name or "lstm" in name or "gru" in name or "attention" in name


def rates_of_core(context: Context) -> tuple[float, float]:
    """Operations and bytes a second of one core that ordinary operators reach: half of the best that was measured, or a cautious guess."""
    rates = context.recording.run.rates or {}
    threads = float(rates.get("threads") or 1)
    if rates.get("noisy") or threads > context.cores or not rates.get("flops_per_s") or not rates.get("bytes_per_s"):
        return FLOPS_PER_CORE, BYTES_PER_S
    return 0.5 * float(rates["flops_per_s"]) / threads, 0.8 * float(rates["bytes_per_s"]) / threads


def _takes_part(operator: Operator) -> bool:
    """Whether this looks up some places of its largest input, or only looks at it in another way."""
    return short(operator) in _VIEWS or short(operator).startswith(("index", "gather", "embedding", "select", "slice", "narrow", "empty"))


def flops(operator: Operator) -> int:
    """Floating-point operations of all its calls in the step."""
    shapes = [list(shape) if isinstance(shape, tuple) else shape for shape in operator.shapes]
    return count_flops([[operator.name, shapes, operator.dtype, operator.count]])


def needed(context: Context, operator: Operator, cores: float = 1.0) -> float:
    """Nanoseconds that its calls would take on so many cores with nothing in the way."""
    per_core, memory = rates_of_core(context)
    size = 8 if "64" in operator.dtype else 2 if "16" in operator.dtype else 4
    read = sum(lengths(operator)) + numel(operator)
    if _takes_part(operator):
        read = sum(sorted(lengths(operator))[:-1])
    moved = read * size * operator.count
    return operator.count * CALL_NS + max(flops(operator) / per_core if is_matrix(operator) else 0.0, moved / memory) / cores * 1e9
