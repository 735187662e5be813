"""bfloat16 or float16 on a processor that has no fast instructions for it, or that is busy converting to and fro."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context, Operator
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import is_matrix, needed, short, typical
from unslow.findings.thresholds import EMULATED, SHARE_OF_LOOP

CAUSE = "numerics.low_precision_emulated"
_HALF = ("torch.bfloat16", "torch.float16")


def check(context: Context) -> Iterator[Draft]:
    """Operators of an inspected step on 16-bit numbers, against what they would take in float32; and conversions."""
    cores = min(float(context.facts.get("threads") or 1), context.cores)
    saved = held = 0.0
    slow: list[Operator] = []
    converting = 0.0
    for phase, activities in (("forward", ("forward", "loss")), ("backward", ("backward",)), ("optimizer", ("optimizer",))):
        rows = typical(context, phase)
        whole = sum(row.ns for row in rows)
        half = [row for row in rows if row.dtype in _HALF]
        emulated = [row for row in half if is_matrix(row) and row.ns > EMULATED * needed(context, row, cores)]
        copies = [row for row in rows if short(row) == "_to_copy"] if half else []
        if not whole:
            continue
        scale = min(context.ns(*activities) / whole, 1.5 * context.steps)
        beyond = sum(row.ns - 1.5 * needed(context, row, cores) for row in emulated) + 0.9 * sum(row.ns for row in copies)
        saved += max(beyond, 0.0) * scale
        held += sum(row.ns for row in (*half, *copies)) * scale
        converting += sum(row.ns for row in copies) * scale
        slow += emulated
    saved = min(saved, 0.95 * held)
    if not held or saved < SHARE_OF_LOOP * context.loop:
        return
    worst = max(slow, key=lambda row: row.ns, default=None)
    kind = worst.dtype.removeprefix("torch.") if worst else "16-bit numbers"
    said = f"{converting / 1e9:.1f} s went into converting between float32 and 16-bit numbers"
    if worst is not None:
        each = needed(context, worst, cores) / worst.count
        said = f"{short(worst)} in {kind} takes {worst.ns / worst.count / 1e6:.2g} ms, in float32 about {each / 1e6:.2g} ms"
    yield Draft(
        cause=CAUSE,
        title=said,
        ns=round(held),
        saved=(0.7 * saved, saved, min(1.2 * saved, 0.97 * held)),
        evidence=(
            evidence("operators on 16-bit numbers", held / 1e9, "s"),
            evidence("converting between types", converting / 1e9, "s"),
            evidence("beyond what float32 would take", saved / 1e9, "s"),
        ),
        where=unique(
            context.made_at("autocast"), context.made_at("bfloat16"), context.made_at("half"), leading(context, "forward", "backward")[:3]
        ),
        fix=Fix("float32", "unsafe", "train in float32 on this processor: no autocast, no .half(), no .bfloat16()"),
        confidence=0.8,
        explains=frozenset({"dispatch.small_ops", "threads.overhead_small_ops"}),
    )
