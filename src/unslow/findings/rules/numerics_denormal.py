"""Numbers below 1e-38 take the processor a detour of some 150 cycles each time they are computed with."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import flops, inputs, is_matrix, needed, numel, typical
from unslow.findings.thresholds import ASSIST_NS, LANES, SHARE_OF_LOOP, SUBNORMAL_SHARE

CAUSE = "numerics.denormal"
_MOVES = ("detach", "view", "t.", "transpose", "expand", "select", "slice", "empty", "zeros", "copy_", "clone", "cat", "stack")


def check(context: Context) -> Iterator[Draft]:
    """The share of subnormal numbers among those that inspected steps met in each part, times what each costs."""
    looks = [step["seen"]["subnormal"] for step in context.inspected if step.get("seen", {}).get("subnormal")]
    if not looks:
        return
    cores = min(float(context.facts.get("threads") or 1), context.cores)
    saved, held, found, share = 0.0, 0.0, [], 0.0
    for phase in {name for look in looks for name in look}:
        met = [look.get(phase, (0, 0, 0)) for look in looks]
        tiny, all_of_them = sum(one[0] for one in met), sum(one[1] for one in met)
        if not all_of_them or tiny / all_of_them < SUBNORMAL_SHARE or not sum(one[2] for one in met):
            continue
        part = tiny / all_of_them
        rows = [one for one in typical(context, phase) if numel(one) >= 1000 and not one.name.removeprefix("aten.").startswith(_MOVES)]
        touched = sum(numel(one) * one.count * min(1.0, part * inputs(one)) for one in rows if not is_matrix(one))
        multiplied = sum(flops(one) / 2 * min(1.0, 2 * part) for one in rows if is_matrix(one))
        spent = context.ns(phase, *(("zero_grad",) if phase == "optimizer" else ("loss",) if phase == "script" else ()))
        # As a share of what the operators would take in all: another program that has the cores slows both down alike.
        detours = (touched + multiplied) / LANES * ASSIST_NS / cores
        plain = sum(needed(context, one, cores) for one in rows)
        saved += min(detours / (detours + plain) if detours else 0.0, 0.9) * spent
        held += spent
        found.append((tiny / len(looks), phase))
        share = max(share, part)
    if saved < SHARE_OF_LOOP * context.loop:
        return
    numbers, phase = max(found)
    phases = tuple(name for _, name in sorted(found, reverse=True))
    yield Draft(
        cause=CAUSE,
        title=f"{numbers / 1e6:.2g} million numbers in {phase} are subnormal (below 1.2e-38), {100 * share:.0f} % of those looked at",
        ns=round(saved),
        saved=(0.6 * saved, saved, min(1.5 * saved, 0.95 * held)),
        evidence=(
            evidence(f"subnormal numbers a step in {phase}", numbers, "numbers"),
            evidence("share of the numbers looked at", 100 * share, "%"),
            evidence(f"{' and '.join(phases)}, a step", context.per_step(held) / 1e6, "ms"),
        ),
        where=unique(*(leading(context, name)[:2] for name in phases), context.hot_lines("script")[:1]),
        fix=Fix("flush-denormal", "unsafe", "torch.set_flush_denormal(True) at the top of the script; or scale the data to about 1"),
        confidence=0.9,
        explains=frozenset({"optimizer.unfused", "dispatch.small_ops", "numerics.float64"}),
    )
