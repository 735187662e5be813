"""Which of the user's lines to point at: the hot one, the ones that lead to it, and loops inside a step."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import lru_cache
from itertools import chain

from unslow.account.model import Where
from unslow.findings import source
from unslow.findings.context import Context, Sample

_LOOPS = ast.For | ast.While | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def unique(*groups: tuple[Where, ...] | list[Where] | Where | None) -> tuple[Where, ...]:
    """Places in this order, each line once, at most six."""
    flat = chain.from_iterable((group,) if isinstance(group, Where) else group or () for group in groups)
    seen: dict[tuple[str, int], Where] = {}
    for place in flat:
        seen.setdefault((place.file, place.line), place)
    return tuple(seen.values())[:6]


def leading(context: Context, *activities: str, own: int = 2) -> tuple[Where, ...]:
    """The hottest lines inside these activities and those that call them."""
    return unique(context.hot_lines(*activities)[:own], context.hot_lines(*activities, callers=True)[:6])


@lru_cache(maxsize=4096)
def loops_around(file: str, number: int) -> tuple[tuple[int, int], ...]:
    """First and last line of each loop or comprehension around a line, within its own function, outermost first."""
    parsed = source.tree(file)
    if parsed is None:
        return ()
    found: list[tuple[int, int]] = []
    waiting: list[ast.AST] = [parsed[0]]
    while waiting:
        node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            first, last = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
            if first is not None and last is not None and not first <= number <= last:
                continue
            if isinstance(child, _SCOPES) and first is not None and last is not None and first <= number <= last and first != number:
                found.clear()
            if isinstance(child, _LOOPS) and (not isinstance(child, ast.For | ast.AsyncFor | ast.While) or number > child.lineno):
                found.append((child.lineno, child.end_lineno or child.lineno))
            waiting.append(child)
    return tuple(sorted(found, key=lambda span: (span[0], -span[1])))


def step_lines(context: Context) -> set[tuple[str, int]]:
    """Lines where the user's code asks for gradients or updates parameters: the loops around them are those of training."""
    return {(frame[0], frame[1]) for sample in context.samples if sample.activity in ("backward", "optimizer") for frame in sample.frames}


def inner_loop(sample: Sample, training: set[tuple[str, int]]) -> tuple[str, int, str] | None:
    """The innermost frame of a sample that stands in a loop inside a step, or in a function that calls itself; None if there is none."""
    names = [(frame[0], frame[2]) for frame in sample.frames]
    for place, (file, number, function) in enumerate(sample.frames):
        for first, last in loops_around(file, number):
            if not any(where == file and first <= at <= last for where, at in training):
                return file, number, function
        if (file, function) in names[place + 1 :] and function != "<module>":
            return file, number, function
    return None


def looped(context: Context, *activities: str) -> tuple[int, list[Where]]:
    """Sampled time of loops inside a step, in these activities; and their lines, most first."""
    training = step_lines(context)
    sums: dict[tuple[str, int, str], int] = defaultdict(int)
    for sample in context.samples:
        if sample.activity in activities:
            found = inner_loop(sample, training)
            if found is not None:
                sums[found] += sample.ns
    lines = [Where(file, line, function, ns) for (file, line, function), ns in sorted(sums.items(), key=lambda item: -item[1])]
    return sum(sums.values()), lines


@lru_cache(maxsize=256)
def loop_node(file: str, number: int) -> ast.AST | None:
    """The innermost loop or comprehension around a line."""
    spans = loops_around(file, number)
    parsed = source.tree(file)
    if not spans or parsed is None:
        return None
    at = spans[-1]
    return next(node for node in ast.walk(parsed[0]) if isinstance(node, _LOOPS) and (node.lineno, node.end_lineno) == at)


@lru_cache(maxsize=256)
def turns(file: str, number: int) -> str:
    """How the turns of the loop around a line hang together.

    ``free``: each on its own (sums and lists apart). ``carried``: a state goes from turn to turn beside data of its own.
    ``feedback``: a turn has nothing but what the one before it put out.
    """
    loop = loop_node(file, number)
    if not isinstance(loop, ast.For | ast.While | ast.AsyncFor):
        return "free"
    seen: set[str] = set()
    read_first: set[str] = set()
    made: set[str] = set()
    for statement in (inner for part in loop.body for inner in ast.walk(part)):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            written = {name for target in targets for name in stored(target)}
            read_first |= {
                name for name in names(statement.value) - seen if not (name in written and isinstance(statement.value, ast.BinOp))
            }
            seen |= written
            made |= written
    carried = read_first & made
    if not carried:
        return "free"
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return "feedback"
    own = stored(loop.target)
    return "carried" if any(own & names(part) for part in loop.body) else "feedback"


def names(node: ast.AST) -> set[str]:
    """Every name that is read or written below a node."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - {"self"}


def stored(node: ast.AST) -> set[str]:
    """Names that an assignment to this target makes or replaces, the base of ``x[i] = …`` not among them."""
    if isinstance(node, ast.Tuple | ast.List):
        return {name for part in node.elts for name in stored(part)}
    if isinstance(node, ast.Starred):
        return stored(node.value)
    return {node.id} if isinstance(node, ast.Name) else set()
