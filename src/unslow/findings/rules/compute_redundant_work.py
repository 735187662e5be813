"""More passes than intended: more and more updates on the same new data, or the model run again on what it has just seen."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from statistics import mean, median

from unslow.account.model import Fix, Where
from unslow.findings import source
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import leading, loops_around, unique
from unslow.findings.thresholds import REPEATED_FORWARD, RUN_LENGTHENS, SHARE_OF_LOOP

CAUSE = "compute.redundant_work"


def check(context: Context) -> Iterator[Draft]:
    """Marks of the model's inputs in some windows of steps: the same ones again, in a row or within one step."""
    windows = sorted((int(name.split()[1]), value) for name, value in context.facts.items() if name.startswith("inputs ") and value)
    if windows and context.steps >= 40:
        yield from _lengthening(context, [[(int(step), int(mark)) for step, mark in rows] for _, rows in windows])
        yield from _twice(context, [(int(step), int(mark)) for _, rows in windows for step, mark in rows])


def _lengthening(context: Context, windows: list[list[tuple[int, int]]]) -> Iterator[Draft]:
    """New data come all the time, but each is trained on in more steps than the one before."""
    runs: list[tuple[int, int, int]] = []
    for rows in windows:
        inputs = [(step, mark) for step, mark in dict(rows).items()]
        inner = [(mark, list(group)) for mark, group in groupby(inputs, key=lambda row: row[1])]
        # The first and the last of a window may have been cut; a window that is all the same is a run of at least that length.
        whole = inner[1:-1] or inner
        runs += [(group[0][0], mark, len(group)) for mark, group in whole]
    again = Counter(mark for _, mark, _ in runs)
    if len(runs) < 4 or max(again.values()) > 1:
        return  # the same data come back: these are epochs
    third = max(len(runs) // 3, 1)
    early, late = mean(length for _, _, length in runs[:third]), mean(length for _, _, length in runs[-third:])
    late = max(late, runs[-1][2])
    if late < 4 or late < RUN_LENGTHENS * early:
        return
    usual = (early + late) / 2
    loop = context.loop
    loops = _training_loops(context)
    yield Draft(
        cause=CAUSE,
        title=f"each new batch is trained on in more and more steps: {early:.0f} in a row early on, {late:.0f} or more late",
        ns=round(loop * (1 - 1 / usual)),
        saved=(loop * max(1 - early / usual, 0.5) * 0.9, loop * (1 - 1 / usual) * 0.97, loop * 0.99),
        evidence=(
            evidence("steps in a row on the same new data, early", early, "steps"),
            evidence("steps in a row on the same new data, late", late, "steps"),
            evidence("steps in all", context.steps, "steps"),
        ),
        where=unique(loops, leading(context, "backward")[:1]),
        fix=Fix("end-with-new-data", "display", "let the loop over batches end with the new data, not with what is longest"),
        confidence=0.85,
        explains=frozenset({"dispatch.small_ops", "state.growth", "optimizer.unfused"}),
    )


def _twice(context: Context, marks: list[tuple[int, int]]) -> Iterator[Draft]:
    """The same module on the same input several times within most steps, with gradients."""
    repeats: dict[int, int] = {}
    for (step, _), count in Counter(marks).items():
        repeats[step] = max(repeats.get(step, 1), count)
    often = [count for count in repeats.values() if count > 1]
    if len(repeats) < 20 or len(often) < REPEATED_FORWARD * len(repeats):
        return
    times = median(often)
    forward = context.ns("forward")
    saved = forward * (times - 1) / times
    told = context.facts.get("forward_backward") or {}
    if saved < SHARE_OF_LOOP * context.loop or int(told.get("backwards") or 0) >= times * max(int(told.get("steps") or 0), 1):
        return  # a backward for each: a second-order or two-step optimizer
    yield Draft(
        cause=CAUSE,
        title=f"the model runs {times:.0f} times on the same input in each step",
        ns=round(saved),
        saved=(0.7 * saved, 0.95 * saved, 1.3 * saved),
        evidence=(
            evidence("forward passes on the same input, a step", times, "passes"),
            evidence("steps that were looked at", len(repeats), "steps"),
            evidence("all forward passes, a step", forward / context.steps / 1e6, "ms"),
        ),
        where=unique(_calls_in_loop(context), leading(context, "forward")[:3]),
        fix=Fix("reuse-output", "display", "keep the output of the first pass and use it again"),
        confidence=0.8,
    )


def _calls_in_loop(context: Context) -> list[Where]:
    training = {(place.file, place.function) for place in context.hot_lines("backward")[:2]}
    return [place for place in context.hot_lines("forward", callers=True) if (place.file, place.function) in training][:3]


def _training_loops(context: Context) -> list[Where]:
    """The header of the innermost loop around the backward, and what the functions called in it return."""
    found: list[Where] = []
    for place in context.hot_lines("backward", callers=True)[:3]:
        spans, parsed = loops_around(place.file, place.line), source.tree(place.file)
        if not spans or parsed is None:
            continue
        header = source.line(place.file, spans[-1][0])
        found.append(Where(place.file, spans[-1][0], place.function))
        names = set(header.names) if header else set()
        for node in ast.walk(parsed[0]):
            if isinstance(node, ast.FunctionDef) and node.name in names:
                gives = [part for part in ast.walk(node) if isinstance(part, ast.Return | ast.Yield) and part.value is not None]
                gives.sort(key=lambda part: sum(isinstance(inner, ast.Call) for inner in ast.walk(part)), reverse=True)
                found += [Where(place.file, part.lineno, node.name) for part in gives[:2]]
        break
    return found
