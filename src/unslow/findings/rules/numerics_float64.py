"""The heavy operators compute in double precision, or tensors go back and forth between it and single precision."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings import source
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, unique
from unslow.findings.operators import CALL_NS, short, typical
from unslow.findings.thresholds import SHARE_OF_LOOP

CAUSE = "numerics.float64"
_PHASES = {"forward": ("forward",), "backward": ("backward",), "optimizer": ("optimizer",), "script": ("script", "loss")}
_NAMES = ("double", "float64", "set_default_dtype", "set_default_tensor_type", "DoubleTensor")


def check(context: Context) -> Iterator[Draft]:
    """The time of an inspected step's operators on float64, without what each call costs whatever it works on."""
    saved = held = copied = 0.0
    calls = converted = 0
    for phase, activities in _PHASES.items():
        rows = typical(context, phase)
        whole = sum(row.ns for row in rows)
        if not whole:
            continue
        double = [row for row in rows if row.dtype == "torch.float64"]
        copies = [row for row in double if short(row) == "_to_copy"]
        work = sum(max(row.ns - row.count * CALL_NS, 0) for row in double if short(row) != "_to_copy")
        scale = context.ns(*activities) / max(whole, 1)
        saved += (0.5 * work + 0.9 * sum(row.ns for row in copies)) * min(scale, context.steps * 1.5)
        held += sum(row.ns for row in double) * min(scale, context.steps * 1.5)
        copied += sum(row.ns for row in copies)
        calls += sum(row.count for row in double)
        converted += sum(row.count for row in copies)
    if saved < SHARE_OF_LOOP * context.loop:
        return
    yield Draft(
        cause=CAUSE,
        title=(
            f"{calls} operators a step compute in double precision, {held / 1e9:.1f} s in all: twice the bytes and half the rate of float32"
        ),
        ns=round(held),
        saved=(0.75 * saved, saved, min(1.25 * saved, 0.9 * held)),
        evidence=(
            evidence("operators a step on float64", calls, "operators"),
            evidence("time of operators on float64", held / 1e9, "s"),
            evidence("conversions from float64 a step", converted, "operators"),
        ),
        where=unique(_made(context), leading(context, "forward")[:2], leading(context, "backward")[:1]),
        fix=Fix("float32", "unsafe", "data and model in float32: x.float(), model.float(), no set_default_dtype(torch.float64)"),
        confidence=0.85,
        explains=frozenset({"optimizer.unfused"}),
    )


def _made(context: Context) -> list[Where]:
    """The setting that was seen, then places in the user's files that ask for double precision."""
    told = context.facts.get("setting set_default_dtype")
    site = told.get("site") if isinstance(told, dict) and context.facts.get("default_dtype") == "torch.float64" else None
    found = [Where(str(site[0]), int(site[1]), site[2])] if site else []
    for file in context.files:
        parsed = source.tree(file)
        for node in ast.walk(parsed[0]) if parsed else ():
            if isinstance(node, ast.Attribute) and node.attr in _NAMES:
                found += [Where(file, node.lineno)]
    numpy = context.made_at("from_numpy") or context.made_at("as_tensor")
    return (found or ([numpy] if numpy else []))[:3]
