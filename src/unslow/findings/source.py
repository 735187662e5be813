"""The user's source as a syntax tree: what a hot line does, in which loop and function it stands, where a name is made."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the user's: its text, the calls made in it (innermost last part of the name), and the loops around it in its function."""

    text: str
    calls: tuple[ast.Call, ...]
    names: tuple[str, ...]
    loops: int
    function: str | None


@lru_cache(maxsize=64)
def tree(file: str) -> tuple[ast.Module, tuple[str, ...]] | None:
    """The parsed file and its lines, or None where it cannot be read or parsed."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
        return ast.parse(text), tuple(text.splitlines())
    except (OSError, SyntaxError, ValueError):
        return None


def line(file: str, number: int) -> Line | None:
    """What stands on a line."""
    parsed = tree(file)
    if parsed is None or not 0 < number <= len(parsed[1]):
        return None
    module, lines = parsed
    calls: list[ast.Call] = []
    loops = 0
    function: str | None = None
    for node in ast.walk(module):
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
        if isinstance(node, ast.Call) and first <= number <= last:
            calls.append(node)
    for node, parents in _with_parents(module):
        if isinstance(node, ast.stmt) and node.lineno <= number <= (node.end_lineno or node.lineno):
            inner = [parent for parent in (*parents, node) if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)]
            function = inner[-1].name if inner else None
            scope = (*parents, node)
            if inner:
                scope = scope[scope.index(inner[-1]) :]
            loops = sum(isinstance(parent, ast.For | ast.While | ast.AsyncFor) for parent in scope)
    on_line = tuple(call for call in calls if call.lineno <= number <= (call.end_lineno or call.lineno))
    return Line(lines[number - 1].strip(), on_line, tuple(dict.fromkeys(call_name(call) for call in on_line)), loops, function)


def call_name(call: ast.Call) -> str:
    """The last part of what is called: ``tensor`` for ``torch.tensor(…)``, ``copy`` for ``a[b].copy()``."""
    target = call.func
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def where_made(files: tuple[str, ...], name: str) -> tuple[str, int] | None:
    """The first line in ``files`` that calls ``name`` (where a transform or layer of this class is made)."""
    for file in files:
        parsed = tree(file)
        if parsed is None:
            continue
        found = [node.lineno for node in ast.walk(parsed[0]) if isinstance(node, ast.Call) and call_name(node) == name]
        if found:
            return file, min(found)
    return None


@lru_cache(maxsize=16)
def calls_that_lead_to(files: tuple[str, ...], names: frozenset[str]) -> dict[tuple[str, str], set[int]]:
    """By file and function: lines that call one of these names, or a function of the user's that does, up to three calls away."""
    found: dict[tuple[str, str], set[int]] = {}
    wanted = set(names)
    for _ in range(4):
        for file in files:
            parsed = tree(file)
            for node, parents in _with_parents(parsed[0]) if parsed else ():
                if isinstance(node, ast.Call) and call_name(node) in wanted:
                    around = [one.name for one in parents if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
                    found.setdefault((file, around[-1] if around else "<module>"), set()).add(node.lineno)
        wanted = {function for _, function in found if function != "<module>" and not function.startswith("__")}
    return found


def function_of(file: str, number: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function around a line."""
    parsed = tree(file)
    if parsed is None:
        return None
    around = [
        node
        for node in ast.walk(parsed[0])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= number <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno) if around else None


def _with_parents(module: ast.Module) -> list[tuple[ast.AST, tuple[ast.AST, ...]]]:
    found: list[tuple[ast.AST, tuple[ast.AST, ...]]] = []
    waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(module, ())]
    while waiting:
        node, parents = waiting.pop(0)
        found.append((node, parents))
        waiting.extend((child, (*parents, node)) for child in ast.iter_child_nodes(node))
    return found
