"""The optimizer goes tensor by tensor, several tiny operators for each, where one fused call would do them all."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import CALL_NS
from unslow.findings.thresholds import FUSED_CALLS, MANY_TENSORS, SHARE_OF_LOOP, SMALL_TENSOR

CAUSE = "optimizer.unfused"
FUSED_ON_CPU = ("Adam", "AdamW", "SGD", "Adagrad")


def check(context: Context) -> Iterator[Draft]:
    """Operators that an inspected step runs in the optimizer, over its tensors; the time of its ``step`` by the spans."""
    row = context.rows.get("optimizer")
    calls = sum(one.count for one in context.operators("optimizer"))
    for optimizer in context.optimizers:
        tensors, settings = int(optimizer.get("tensors") or 0), optimizer.get("settings") or {}
        if row is None or tensors < MANY_TENSORS or settings.get("fused") or settings.get("foreach"):
            continue
        name = str(optimizer["name"])
        # Operators are not told apart by optimizer: of several, each gets what its tensors are worth.
        each = calls / max(sum(int(one.get("tensors") or 0) for one in context.optimizers), 1)
        parts = [part for part in row.parts if part.name.rpartition(" ")[0] == name]
        held, count = sum(part.ns for part in parts), max(sum(part.count for part in parts), 1)
        if each < 2 or held < SHARE_OF_LOOP * context.loop or int(optimizer.get("parameters") or 0) / tensors > SMALL_TENSOR:
            continue
        if held / count / tensors < CALL_NS:
            continue
        likely = held * (1 - FUSED_CALLS / (each + 1))
        fused = name in FUSED_ON_CPU
        if fused:
            fix = Fix("fused-optimizer", "safe", f"torch.optim.{name}(…, fused=True)")
        else:
            text = f"{name}(…, foreach=True) where it has it; or keep the parameters in fewer, larger tensors"
            fix = Fix("foreach-optimizer", "display", text)
            likely *= 0.5
        yield Draft(
            cause=CAUSE,
            title=(
                f"{name} updates {tensors} tensors one by one: {each:.0f} operators each, {held / count / 1e6:.1f} ms a step, "
                f"{held / count / tensors / 1e3:.0f} µs a tensor of {int(optimizer['parameters']) // tensors} numbers"
            ),
            ns=held,
            saved=(0.8 * likely, likely, min(1.2 * likely, 0.95 * held)),
            evidence=(
                evidence("tensors that are updated one by one", tensors, "tensors"),
                evidence("operators for each", each, "operators"),
                evidence(f"{name}.step", held / count / 1e6, "ms"),
                evidence("share of the training time", 100 * held / context.loop, "%"),
            ),
            where=unique(leading(context, "optimizer")[:3], context.made_at(name)),
            fix=fix,
            confidence=0.9,
            explains=frozenset({"dispatch.small_ops"}),
        )
