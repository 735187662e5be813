"""Of a large table a step uses a few rows, but its gradient and the optimizer go over all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unslow.account.model import Fix
from unslow.findings.context import Context, Operator
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import is_matrix, numel, typical
from unslow.findings.thresholds import LARGE_TABLE, ROWS_USED, SHARE_OF_LOOP

CAUSE = "optimizer.dense_embedding"
_DENSE = ("backward", "optimizer", "zero_grad")


def check(context: Context) -> Iterator[Draft]:
    """Rows that an inspected step looks up, and the share of its operators that went over the whole table."""
    for table in _tables(context):
        size, share = table["rows"] * table["width"], table["rows_used"] / table["rows"]
        if size < LARGE_TABLE or share > ROWS_USED or _multiplied(context, table):
            continue
        held, over = 0.0, 0
        for phase in ("backward", "optimizer", "script"):
            rows = typical(context, phase)
            whole = [one for one in rows if _over_table(one, table)]
            activity = context.ns(*(("backward",) if phase == "backward" else (phase, "zero_grad") if phase == "optimizer" else (phase,)))
            total = sum(one.ns for one in rows)
            held += activity * sum(one.ns for one in whole) / total if total else 0.0
            over += sum(one.count for one in whole)
        if held < SHARE_OF_LOOP * context.loop or over < 2:
            continue
        made = context.made_at("Embedding") or context.made_at("EmbeddingBag")
        name = next((str(one["name"]) for one in context.optimizers), "Adam")
        sparse = "SparseAdam" if "Adam" in name else "SGD" if name == "SGD" else "Adagrad"
        yield Draft(
            cause=CAUSE,
            title=(
                f"a step uses {table['rows_used']:.0f} of the {table['rows']} rows of a table, but {over} operators "
                f"went over all {size * 4 / 1e6:.0f} MB of it"
            ),
            ns=round(held),
            saved=(0.85 * held, 0.94 * held, 0.99 * held),
            evidence=(
                evidence("rows used in a step", table["rows_used"], "rows"),
                evidence("rows in the table", table["rows"], "rows"),
                evidence("operators a step over the whole table", over, "operators"),
                evidence("backward and optimizer on the whole table", held / max(context.steps, 1) / 1e6, "ms a step"),
            ),
            where=unique(leading(context, "optimizer")[:2], made, leading(context, "backward")[:1]),
            fix=Fix("sparse-embedding", "unsafe", f"nn.Embedding({table['rows']}, {table['width']}, sparse=True), its rows in {sparse}"),
            confidence=0.95,
            explains=frozenset({"optimizer.unfused", "numerics.denormal", "dispatch.small_ops", "compute.padding_waste"}),
        )
        return


def _tables(context: Context) -> list[dict[str, Any]]:
    """Tables that are looked up in training, each with the rows that a step uses on average."""
    if any(one.get("sparse_gradients") for one in context.optimizers) and len(context.optimizers) == 1:
        return []
    found: dict[tuple[int, int], list[int]] = {}
    for step in context.inspected:
        for one in step.get("seen", {}).get("embeddings") or ():
            found.setdefault((int(one["rows"]), int(one["width"])), []).append(int(one["distinct"]))
    # A table that is a plain parameter, and indexed.
    for one in context.operators("forward"):
        if one.name.startswith(("aten.index.", "aten.index_select", "aten.gather")) and one.shapes and isinstance(one.shapes[0], tuple):
            table, rows = one.shapes[0], max((s[-1] for s in one.shapes[1:] if isinstance(s, tuple) and s), default=0)
            if len(table) == 2 and rows and tuple(table) not in found:
                found[(table[0], table[1])] = [rows]
    tables = [{"rows": r, "width": w, "rows_used": sum(used) / len(used)} for (r, w), used in found.items()]
    return sorted(tables, key=lambda table: -table["rows"] * table["width"])


def _multiplied(context: Context, table: dict[str, Any]) -> bool:
    """Whether the table is also a factor of a product (tied to the output layer): then every row has a gradient anyway."""
    both = {(table["rows"], table["width"]), (table["width"], table["rows"])}
    return any(is_matrix(one) and both & set(one.shapes) for one in context.operators() if one.phase in ("forward", "script"))


def _over_table(operator: Operator, table: dict[str, Any]) -> bool:
    """Whether an operator goes over all numbers of a table (or of a list of tensors that is little else)."""
    size = table["rows"] * table["width"]
    if "embedding" in operator.name and "backward" in operator.name:
        return table["rows"] in operator.shapes  # a plain number among its arguments
    return size <= numel(operator) <= 2 * size and not operator.name.startswith(("aten.detach", "aten.view", "aten.t."))
