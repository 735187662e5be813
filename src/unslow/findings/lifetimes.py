"""What outlives one use of it: whether an expression in the user's source is a store, an argument, or made anew each time."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from unslow.findings import source

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """The function (or module) around a statement, the outermost loop in it that is no loop over keys, and what the file imports."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
    loop: ast.For | ast.While | None
    imported: frozenset[str]
    myself: str = "self"


def persistent(node: ast.AST, scope: Scope) -> bool:
    """Whether an expression is a thing that outlives one use of it: an attribute of ``self``, a global, something from before the loop;
    whole, not picked by an index."""
    while True:
        if isinstance(node, ast.Subscript):
            if not _keeps_whole(node.slice, scope):
                return False
            node = node.value
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == scope.myself:
                return not _assigned_attribute(node.attr, scope)
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("values", "keys", "items"):
            node = node.func.value
        else:
            return isinstance(node, ast.Name) and _outlives(node.id, scope)


def _outlives(name: str, scope: Scope) -> bool:
    if name in scope.imported or name == scope.myself:
        return False
    another = _another_name_of(name, scope.node)
    if another is not None:
        return persistent(another, scope)
    if scope.loop is not None:
        return name not in _stored(scope.loop)
    return isinstance(scope.node, _FUNCTIONS) and name not in _bound(scope.node)


@lru_cache(maxsize=4096)
def _another_name_of(name: str, function: ast.AST) -> ast.expr | None:
    """What a local name stands for, where it is given once, to an attribute (``data = self.data``)."""
    if not isinstance(function, _FUNCTIONS):
        return None
    given = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    for node in ast.walk(function) if len(given) == 1 else ():
        if isinstance(node, ast.Assign) and node.targets == given and isinstance(node.value, ast.Attribute):
            return node.value
    return None


def _keeps_whole(index: ast.AST, scope: Scope) -> bool:
    """Whether this subscript names a column or cuts the filled part rather than picks some rows."""
    if isinstance(index, ast.Slice):
        # The filled part of a store (``[:self.size]``) is all of it; a window between two variables is a batch.
        return index.lower is None and not (isinstance(index.upper, ast.Name) and "batch" in index.upper.id)
    if isinstance(index, ast.Constant):
        return isinstance(index.value, str) or index.value is Ellipsis
    return isinstance(index, ast.Name) and index.id in _keys(scope.node)


def loops_of(node: ast.AST) -> list[ast.For | ast.comprehension]:
    return [node] if isinstance(node, ast.For) else list(node.generators) if isinstance(node, _COMPREHENSIONS) else []


def over_keys(node: ast.AST) -> bool:
    """Whether a loop runs over the columns of something, not over its rows."""
    if not isinstance(node, ast.For | ast.comprehension):
        return False
    if isinstance(node.iter, ast.Call) and source.call_name(node.iter) in ("keys", "items"):
        return True
    if isinstance(node.iter, ast.Tuple | ast.List):
        return all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in node.iter.elts)
    target = node.target.id if isinstance(node.target, ast.Name) else ""
    if not target or not isinstance(node, ast.For) or not isinstance(node.iter, ast.Name | ast.Attribute):
        return False
    wanted = ast.dump(node.iter)
    inside = (part for part in ast.walk(node) if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Name))
    return any(part.slice.id == target and ast.dump(part.value) == wanted for part in inside if isinstance(part.slice, ast.Name))


@lru_cache(maxsize=1024)
def _keys(node: ast.AST) -> frozenset[str]:
    """Names that run over columns."""
    found: set[str] = set()
    for part in ast.walk(node):
        for loop in loops_of(part):
            target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
            attribute = isinstance(loop, ast.comprehension) and isinstance(loop.iter, ast.Attribute)
            if isinstance(target, ast.Name) and (over_keys(loop) or attribute):
                found.add(target.id)
    return frozenset(found)


@lru_cache(maxsize=64)
def imported_names(module: ast.Module) -> frozenset[str]:
    """Names of modules, functions and classes: no data."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, _FUNCTIONS | ast.ClassDef):
            found.add(node.name)
    return frozenset(found)


@lru_cache(maxsize=1024)
def _stored(node: ast.AST) -> frozenset[str]:
    """Names that get a value inside a loop."""
    return frozenset(part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


@lru_cache(maxsize=1024)
def _bound(function: ast.AST) -> frozenset[str]:
    """Names that belong to a function: arguments and what it assigns."""
    return _stored(function) | {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}


@lru_cache(maxsize=4096)
def _assigned_attribute(name: str, scope: Scope) -> bool:
    """Whether this function gives the attribute a new value: then it is no store that outlives the call."""
    return any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and n.attr == name for n in ast.walk(scope.node))


def is_argument(name: str, scope: Scope) -> bool:
    """Whether a name is an argument of the function, or runs over the values of one (``for key, value in store.items()``)."""
    if not isinstance(scope.node, _FUNCTIONS):
        return False
    arguments = scope.node.args
    if name in {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}:
        return True
    for node in ast.walk(scope.node):
        for loop in loops_of(node):
            values = isinstance(loop.iter, ast.Call) and source.call_name(loop.iter) in ("items", "values")
            if values and any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(loop.target)):
                return True
    return False
