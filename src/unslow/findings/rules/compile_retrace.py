"""A compiled function is compiled again and again, for new shapes, new Python values or new function objects."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.thresholds import RECOMPILED, WORTH_FIXING

CAUSE = "compile.retrace"


def check(context: Context) -> Iterator[Draft]:
    """Spans of the compiler that are not the first of their function, or of many functions made from the same lines."""
    spans = compilations(context)
    again = [span for span in spans if span[3]]
    if len(again) < RECOMPILED:
        return
    held = sum(span[2] for span in again)
    # Whatever is compiled takes its backward and its code along: those spans have no function of their own.
    own = sum(span[2] for span in spans)
    lazy = max(context.ns("compile") - own, 0)
    held += round(lazy * len(again) / max(len(spans), 1))
    if held < (1 - 1 / WORTH_FIXING) * context.wall:
        return
    names = sorted({span[0] for span in again}, key=lambda name: -sum(span[2] for span in again if span[0] == name))
    where = [place for span in sorted(again, key=lambda span: -span[2]) if (place := span[1]) is not None]
    yield Draft(
        cause=CAUSE,
        title=f"{names[0]} was compiled {len(again) + 1} times in {context.steps} steps: {held / 1e9:.1f} s for all but the first",
        ns=round(held),
        saved=(0.7 * held, 0.9 * held, 0.99 * held),
        evidence=(
            evidence("compilations after the first", len(again), "compilations"),
            evidence("time of those", held / 1e9, "s"),
            evidence("functions that are compiled again", len(names), "functions"),
        ),
        where=unique(
            context.hot_lines("compile")[:2], where[:2], context.made_at("compile"), context.hot_lines("compile", callers=True)[:2]
        ),
        fix=Fix("compile-dynamic", "display", "torch.compile(…, dynamic=True), pad to a few fixed shapes, compile once outside the loop"),
        confidence=0.9,
        explains=frozenset({"compile.warmup", "dispatch.small_ops"}),
    )


def compilations(context: Context) -> list[tuple[str, Where | None, int, bool]]:
    """Function, its place, nanoseconds and whether it had been compiled before, of each compilation."""
    lane = context.main.lane if context.main else None
    row = context.rows.get("compile")
    if lane is None or row is None:
        return []
    definitions = {definition.name: definition for definition in lane.definitions.values() if definition.activity == "compile"}
    found: list[tuple[str, Where | None, int, bool]] = []
    lines: dict[tuple[str, int], int] = {}
    for part in row.parts:
        definition = definitions.get(part.name)
        if definition is None or ":" not in part.name:
            continue
        where = Where(definition.file, definition.line, definition.function) if definition.file and definition.line else None
        key = (where.file, where.line) if where else (part.name, 0)
        seen = lines[key] = lines.get(key, 0) + part.count
        again = bool(definition.attributes.get("recompile")) or seen > 1
        found.append((part.name.split(":")[0], where, part.ns, again))
    return found
