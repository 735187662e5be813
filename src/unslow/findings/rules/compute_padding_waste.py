"""Most of what the model computes on is padding: short sequences filled up to a length that few have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from statistics import mean

from unslow.account.model import Fix, Where
from unslow.findings import source
from unslow.findings.context import Context, Operator
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import typical
from unslow.findings.thresholds import PADDING_SHARE, SHARE_OF_LOOP

CAUSE = "compute.padding_waste"


def check(context: Context) -> Iterator[Draft]:
    """The share of positions of an inspected step that hold one and the same filler at an end of the rows."""
    looks = [look for step in context.inspected if (look := _filler(step.get("seen", {}))) is not None]
    if not looks:
        return
    rows, length = looks[-1][0], looks[-1][1]
    share, trimmed = mean(look[2] for look in looks), mean(look[3] for look in looks)
    if share < PADDING_SHARE:
        return
    work = [one for one in typical(context) if one.phase in ("forward", "backward")]
    whole = sum(one.ns for one in work if _on_all(one, rows, length)) / max(sum(one.ns for one in work), 1)
    held = context.ns("forward", "backward", "loss") * whole
    if held * share < SHARE_OF_LOOP * context.loop:
        return
    yield Draft(
        cause=CAUSE,
        title=(
            f"{100 * share:.0f} % of the positions are padding: rows of {length}, of which {length * (1 - share):.0f} are used on average"
        ),
        ns=round(held * share),
        saved=(held * max(0.9 * trimmed, 0.6 * share), held * 0.9 * share, held * min(1.1 * share, 0.98)),
        evidence=(
            evidence("positions that hold padding", 100 * share, "%"),
            evidence("positions that are padding in every row of the batch", 100 * trimmed, "%"),
            evidence("length of the rows", length, "positions"),
            evidence("share of forward and backward that goes over all positions", 100 * whole, "%"),
        ),
        where=unique(_pads(context), leading(context, "forward")[:3]),
        fix=Fix("pad-less", "display", "pad each batch to its own longest row, and put rows of like length into one batch"),
        confidence=0.85,
        explains=frozenset({"dispatch.small_ops"}),
    )


def _filler(seen: dict[str, object]) -> tuple[int, int, float, float] | None:
    """Rows, length, the share of filler at the ends of rows, and the share that no row of the batch uses."""
    found: list[tuple[int, int, float, float]] = []
    for one in seen.get("embeddings") or ():  # type: ignore[attr-defined]
        shape = one.get("shape") or []
        if len(shape) >= 2 and shape[-1] >= 4 and "trailing" in one:
            side = "trailing" if one["trailing"] >= one["leading"] else "leading"
            rows = prod(shape[:-1])
            found.append((rows, shape[-1], one[side] / (rows * shape[-1]), one[f"{side}_least"] / shape[-1]))
    for shape, trailing, least in seen.get("filled") or ():  # type: ignore[attr-defined]
        if shape[1] >= 4:
            found.append((shape[0], shape[1], trailing / (shape[0] * shape[1]), least / shape[1]))
    return max(found, key=lambda one: (one[0] * one[1], one[2]), default=None)


def _on_all(operator: Operator, rows: int, length: int) -> bool:
    """Whether an operator goes over every position, padding included."""
    for shape in operator.shapes:
        if isinstance(shape, tuple) and shape:
            first = set(shape[:3])
            if rows * length in first or (length in first and (rows in first or shape[0] % rows == 0 or shape[0] == length)):
                return True
    return False


def _pads(context: Context) -> list[Where]:
    """Calls that pad, or make room for a greatest length, in the user's files."""
    found: list[Where] = []
    for file in context.files:
        parsed = source.tree(file)
        for node in ast.walk(parsed[0]) if parsed else ():
            if isinstance(node, ast.Call):
                name = source.call_name(node).lower()
                said = [word.arg or "" for word in node.keywords] + [
                    part.id for arg in node.args for part in ast.walk(arg) if isinstance(part, ast.Name)
                ]
                longest = any("max" in word.lower() or "pad" in word.lower() for word in said)
                if ("pad" in name and "packed" not in name) or (
                    longest and name in ("zeros", "full", "new_zeros", "new_full", "ones", "empty")
                ):
                    found.append(Where(file, node.lineno))
    return found[:2]
