"""What a script subtracts: pairs of lines whose clock reads it takes the difference of, found in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_FUNCTIONS = ("time", "perf_counter", "monotonic", "process_time", "thread_time", "clock", "now", "default_timer")
_MODULES = ("time", "timeit", "datetime")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def clock_pairs(source: str, reads: set[int]) -> set[tuple[int, int]]:
    """Pairs ``(line of the earlier read, line of the later)`` that ``source`` subtracts. ``reads``: lines where a clock was read.

    Raises SyntaxError for source that this Python cannot parse.
    """
    tree = ast.parse(source)
    finder = _Finder(reads, _clock_names(tree))
    top = _Scope(None)
    # Twice: a name may be read above the line that sets it (a loop, a method above ``__init__``).
    for _ in range(2):
        finder.pairs.clear()
        finder.block(tree.body, top)
    return finder.pairs


def _clock_names(tree: ast.Module) -> set[str]:
    """Names in this file that stand for a clock: ``time``'s functions imported by name, under any name."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in _MODULES:
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and _is_clock_name(node.value.attr):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _is_clock_name(name: str) -> bool:
    return name.removesuffix("_ns") in _FUNCTIONS


@dataclass(slots=True)
class _Scope:
    """Names and the lines of the reads that they hold; attributes and items are looked up in the whole file."""

    outer: _Scope | None
    names: dict[str, set[int]] = field(default_factory=dict)

    def find(self, name: str) -> set[int]:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return set()


class _Finder:
    def __init__(self, reads: set[int], clocks: set[str]) -> None:
        self.reads = reads
        self.clocks = clocks
        self.pairs: set[tuple[int, int]] = set()
        self.held: dict[str, set[int]] = {}
        self.scopes: dict[int, _Scope] = {}
        self.returned: dict[str, set[int]] = {}

    def block(self, body: list[ast.stmt], scope: _Scope) -> None:
        """Statements of one scope, in order; inner functions have scopes of their own."""
        for statement in body:
            for node in _of_scope(statement):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    inner = self.scopes.setdefault(id(node), _Scope(scope))
                    self.block(node.body, inner)
                elif isinstance(node, ast.Assign):
                    for target in node.targets:
                        self.assign(target, node.value, scope)
                elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                    self.assign(node.target, node.value, scope)
                elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                    self.subtract(node.left, node.right, scope)
                elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub):
                    self.subtract(node.target, node.value, scope)

    def subtract(self, left: ast.expr, right: ast.expr, scope: _Scope) -> None:
        self.pairs |= {(a, b) for a in self.lines(right, scope) for b in self.lines(left, scope)}

    def assign(self, target: ast.expr, value: ast.expr, scope: _Scope) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for one, other in zip(target.elts, value.elts, strict=True):
                    self.assign(one, other, scope)
            return
        # A difference is no point in time any more.
        if any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) for node in ast.walk(value)):
            return
        found = self.lines(value, scope)
        if not found:
            return
        if isinstance(target, ast.Name):
            scope.names.setdefault(target.id, set()).update(found)
        else:
            self.held.setdefault(_key(target), set()).update(found)

    def lines(self, node: ast.expr, scope: _Scope) -> set[int]:
        """The reads that a value may hold: a clock call, or a name, attribute or item that was set from one."""
        if isinstance(node, ast.Call):
            if self.is_clock(node):
                return {line for line in range(node.lineno, (node.end_lineno or node.lineno) + 1) if line in self.reads}
            # ``round(time.time(), 2)`` is still that instant.
            found: set[int] = set()
            for argument in node.args:
                found |= self.lines(argument, scope)
            return found
        if isinstance(node, ast.Name):
            return scope.find(node.id)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self.held.get(_key(node), set())
        if isinstance(node, ast.NamedExpr):
            return self.lines(node.value, scope)
        if isinstance(node, ast.IfExp):
            return self.lines(node.body, scope) | self.lines(node.orelse, scope)
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Sub):
            return self.lines(node.left, scope) | self.lines(node.right, scope)
        return set()

    def is_clock(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name):
            return node.func.id in self.clocks or _is_clock_name(node.func.id)
        if isinstance(node.func, ast.Attribute):
            return _is_clock_name(node.func.attr) or (node.lineno in self.reads and not node.args)
        return False


def _key(node: ast.expr) -> str:
    """``self.start`` and ``timer.start`` are one: objects are not told apart, their attributes and items are."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else ast.unparse(node)


def _of_scope(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement in source order, not entering the bodies of functions; those of classes are entered."""
    yield statement
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    waiting = list(ast.iter_child_nodes(statement))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, _SCOPES):
            waiting[:0] = ast.iter_child_nodes(node)
