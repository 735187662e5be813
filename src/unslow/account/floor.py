"""The physical limit of a step: what its arithmetic and its memory traffic need at this machine's measured rates."""

from __future__ import annotations

from math import prod
from typing import Any

from unslow.account.model import Floor, NotMeasured
from unslow.recording.model import Lane
from unslow.units import seconds, size

Shapes = list[list[int]]

_FREE = frozenset(
    {
        "view", "cat", "stack", "reshape",
        "_unsafe_view", "t", "transpose", "permute", "expand", "as_strided", "detach", "alias", "slice", "select",
        "squeeze", "unsqueeze", "split", "split_with_sizes", "chunk", "unbind", "narrow", "flatten", "unflatten", "empty", "empty_like",
        "empty_strided", "new_empty", "new_empty_strided", "lift_fresh", "_to_copy", "copy_", "set_", "resize_", "is_same_size",
        "diagonal", "movedim", "unfold", "view_as", "view_as_real", "view_as_complex", "broadcast_to", "item", "_local_scalar_dense",
        "record_stream",
    }
)  # fmt: skip
"""Operators that only look at memory in another way, or move it: they compute nothing."""


def floor(lane: Lane | None, rates: dict[str, Any] | None, num_steps: int) -> tuple[Floor | None, tuple[NotMeasured, ...]]:
    """The floor of one steady step, or None and why not."""
    if not num_steps:
        return None, ()
    step = inspected(lane)
    if step is None:
        return _without("no step was looked into completely")
    if not rates or not rates.get("flops_per_s") or not rates.get("bytes_per_s"):
        return _without("the rates of this machine are not known: unslow doctor measures them")
    if rates.get("noisy"):
        return _without("the rates of this machine could not be measured: it was too busy")
    flops, num_bytes = count_flops(step.get("ops", [])), int(step.get("distinct_bytes") or 0)
    by_flops = flops / float(rates["flops_per_s"]) * 1e9
    by_bytes = num_bytes / float(rates["bytes_per_s"]) * 1e9
    bound = "arithmetic" if by_flops >= by_bytes else "memory"
    operators = sum(int(row[3]) for row in step.get("ops", []))
    how = (
        f"step {step.get('step')} was looked into: {operators} operators, {flops:.2g} floating-point operations, "
        f"{size(num_bytes)} touched; at the rates of this machine with {rates.get('threads', '?')} threads "
        f"its arithmetic needs {seconds(by_flops)}, its memory {seconds(by_bytes)}: {bound} is the limit"
    )
    return Floor(flops, num_bytes, round(max(by_flops, by_bytes)), how), ()


def _without(why: str) -> tuple[None, tuple[NotMeasured, ...]]:
    return None, (NotMeasured("what the arithmetic of a step needs", why),)


def inspected(lane: Lane | None) -> dict[str, Any] | None:
    """The latest step that was looked into to its end."""
    whole = [step for step in (lane.inspected if lane else ()) if not step.get("truncated") and step.get("ops")]
    return max(whole, key=lambda step: int(step["t0"])) if whole else None


def operator_name(name: str) -> str:
    """``addmm`` for ``aten::addmm``, ``aten.addmm.default`` and the like."""
    parts = name.replace("::", ".").split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def count_flops(operators: list[list[Any]]) -> int:
    """Floating-point operations of a list of ``[operator, shapes of inputs, dtype, count, …]``; a multiply-add is two."""
    named = [(operator_name(str(row[0])), _shapes(row[1]), int(row[3])) for row in operators]
    # What a convolution puts out depends on stride and padding, which only its backward shows.
    outputs = {
        (tuple(shapes[1]), tuple(shapes[2])): shapes[0] for name, shapes, _ in named if name == "convolution_backward" and len(shapes) > 2
    }
    return sum(count * _flops(name, shapes, outputs) for name, shapes, count in named)


def _shapes(shapes: Any) -> Shapes:
    """Shapes of the tensor inputs, without the plain numbers among them; lists of shapes are laid flat."""
    found: Shapes = []
    for shape in shapes or []:
        if isinstance(shape, list) and shape and isinstance(shape[0], list):
            found += _shapes(shape)
        elif isinstance(shape, list):
            found.append([int(length) for length in shape])
    return found


def _flops(name: str, shapes: Shapes, outputs: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]]) -> int:
    if name in _FREE or not shapes:
        return 0
    if name.startswith(("_foreach", "_fused")):
        # A list of tensors is written as their number and all their elements.
        return max(shape[-1] if shape else 1 for shape in shapes)
    matrices = [shape for shape in shapes if len(shape) >= 2]
    if name in ("addmm", "mm", "bmm", "baddbmm", "addbmm", "matmul", "_addmm_activation") and len(matrices) >= 2:
        left, right = matrices[-2], matrices[-1]
        return 2 * prod(left) * right[-1]
    if name in ("mv", "dot", "vdot", "addmv"):
        return 2 * max(prod(shape) for shape in shapes)
    if name in ("linear", "mkldnn_linear", "_mkl_linear") and len(matrices) >= 2:
        return 2 * prod(shapes[0]) * matrices[1][0]
    if name in ("linear_backward", "mkldnn_linear_backward") and len(matrices) >= 3:
        return 4 * prod(shapes[0]) * matrices[1][-1]
    if "convolution" in name or name in ("conv1d", "conv2d", "conv3d"):
        return _convolution(name, shapes, outputs)
    if name.startswith("_scaled_dot_product") or name == "scaled_dot_product_attention":
        return _attention(name, shapes)
    if ("rnn_layer" in name or "lstm" in name or "gru" in name) and len(matrices) >= 3:
        return _recurrent(name, shapes, matrices)
    return max(prod(shape) for shape in shapes)


def _convolution(name: str, shapes: Shapes, outputs: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]]) -> int:
    if "backward" in name:
        if len(shapes) < 3:
            return 0
        return 2 * 2 * prod(shapes[0]) * prod(shapes[2][1:])
    if len(shapes) < 2:
        return 0
    image, weight = shapes[0], shapes[1]
    known = outputs.get((tuple(image), tuple(weight)))
    out = known or [image[0], weight[0], *image[2:]]
    return 2 * prod(out) * prod(weight[1:])


def _attention(name: str, shapes: Shapes) -> int:
    first = 1 if "backward" in name else 0
    if len(shapes) < first + 3:
        return 0
    query, key, value = shapes[first : first + 3]
    forward = 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    # Two products forward, five backward (one of them the forward's again).
    return forward * 5 // 2 if first else forward


def _recurrent(name: str, shapes: Shapes, matrices: Shapes) -> int:
    """A recurrent layer: every position is multiplied with the weights of the input and of the state; twice that backward."""
    positions = prod(shapes[0][:-1])
    weights = sum(prod(shape) for shape in matrices[1:] if len(shape) == 2 and shape != shapes[0])
    return 2 * positions * weights * (2 if "backward" in name else 1)
