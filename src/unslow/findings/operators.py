"""What operators of an inspected step cost: their typical time, and what their arithmetic would need on this machine."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from unslow.account.floor import count_flops, operator_name
from unslow.findings.context import Context, Operator

CALL_NS = 6_000
"""An operator on next to nothing: the way through the dispatcher, autograd's bookkeeping and back."""

FLOPS_PER_CORE = 30e9
BYTES_PER_S = 6e9
"""Cautious rates of one core, where this machine's are not known."""

MATRIX = ("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "mv", "addmv", "dot")


def typical(context: Context, phase: str | None = None) -> list[Operator]:
    """The operators of the last inspected step; each with its quickest mean: others may have had the core."""
    best: dict[tuple[str, str, str, str], float] = {}
    for step in context.inspected:
        for row in step["ops"]:
            if len(row) > 5 and row[3]:
                key = (str(row[0]), str(row[1]), str(row[2]), str(row[5]))
                best[key] = min(best.get(key, float("inf")), row[4] / row[3])
    found = []
    for one in context.operators(phase):
        key = (one.name, str([list(s) if isinstance(s, tuple) else s for s in one.shapes]), one.dtype, one.phase)
        found.append(replace(one, ns=round(min(one.ns, best.get(key, one.ns / max(one.count, 1)) * one.count))))
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


def flops(operator: Operator) -> int:
    """Floating-point operations of all its calls in the step."""
    shapes = [list(shape) if isinstance(shape, tuple) else shape for shape in operator.shapes]
    return count_flops([[operator.name, shapes, operator.dtype, operator.count]])


def needed(context: Context, operator: Operator, cores: float = 1.0) -> float:
    """Nanoseconds that its calls would take on so many cores with nothing in the way."""
    rates = context.recording.run.rates or {}
    threads = max(float(rates.get("threads") or 1), 1.0)
    per_core = float(rates.get("flops_per_s") or 0) / threads * 0.5 or FLOPS_PER_CORE
    memory = float(rates.get("bytes_per_s") or 0) / threads * 0.8 or BYTES_PER_S
    size = 8 if "64" in operator.dtype else 2 if "16" in operator.dtype else 4
    moved = (sum(lengths(operator)) + numel(operator)) * size * operator.count
    return operator.count * CALL_NS + max(flops(operator) / per_core if is_matrix(operator) else 0.0, moved / memory) / cores * 1e9
