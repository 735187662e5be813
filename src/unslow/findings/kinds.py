"""What kind of work a line does on its way to a batch, read from its syntax: copy of everything, look-up, conversion, reading, decoding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from unslow.findings import source

COPY, LOOKUP, CONVERT, STACK, READ = "copy", "lookup", "convert", "stack", "read"
SEEK, DECODE, WAIT, WRITE, DRAW, PLAIN = "seek", "decode", "wait", "write", "draw", "plain"

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

# Calls that make a new array or list of all that they are given.
_COPIES = {
    "copy", "deepcopy", "clone", "astype", "float", "double", "half", "to", "contiguous", "array", "asarray", "tensor", "as_tensor",
    "concatenate", "cat", "stack", "vstack", "hstack", "list", "tuple", "sorted", "to_numpy", "tolist", "FloatTensor", "LongTensor", "Tensor",
    "concat", "DataFrame", "tobytes", "permutation", "ascontiguousarray", "fromiter",
}  # fmt: skip
_CONVERSIONS = {
    "tensor", "as_tensor", "array", "asarray", "FloatTensor", "LongTensor", "DoubleTensor", "IntTensor", "Tensor", "tolist", "fromiter",
    "float32",
}  # fmt: skip
_LOOKUPS = {"iloc", "loc", "at", "iat", "query", "index", "execute", "fetchone", "fetchall", "get_group"}
_SEARCHES = {"where", "nonzero", "argwhere", "flatnonzero", "isin", "argmax", "searchsorted"}
_READS = {
    "open",
    "read",
    "read_bytes",
    "read_text",
    "readlines",
    "fromfile",
    "load",
    "stat",
    "exists",
    "listdir",
    "glob",
    "urlopen",
    "recv",
}
_SEEKS = {"seek", "readline", "islice", "getline", "memmap"}
_DECODES = {
    "decode", "loads", "decompress", "imread", "imdecode", "decode_jpeg", "decode_png", "decode_image", "read_image", "b64decode",
    "literal_eval", "fromstring", "loadtxt", "genfromtxt", "unpack", "unpackbits", "convert", "parse", "DictReader", "reader", "read_csv",
    "read_parquet", "read_json", "fromhex", "iter_unpack",
}  # fmt: skip
_DECODERS = {"Image", "cv2", "imageio", "gzip", "bz2", "lzma", "zipfile", "tarfile", "wave", "json"}
_WRITES = {
    "writerow", "writerows", "write", "writelines", "flush", "fsync", "dump", "print", "savefig", "log", "log_metrics", "add_scalar",
    "add_histogram", "info", "debug",
}  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Scope:
    """The function (or module) around a statement, the outermost loop in it that is no loop over keys, and what the file imports."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
    loop: ast.For | ast.While | None
    imported: frozenset[str]


@lru_cache(maxsize=8192)
def kind(file: str, number: int) -> str:
    """The kind of the statement on this line; ``plain`` where its syntax says nothing."""
    found = statement(file, number)
    if found is None:
        return PLAIN
    node, scope = found
    here = [part for part in _own(node) if _on(part, number)] or list(_own(node))
    calls = [part for part in here if isinstance(part, ast.Call)]
    names = {source.call_name(call) for call in calls}
    if copies_everything(node, here, scope) or _takes_from_copy(node, file):
        return COPY
    if _looks_up(node, here, scope):
        return LOOKUP
    if "sleep" in names:
        return WAIT
    if names & _SEEKS or _scans_file(node, scope):
        return SEEK
    if names & _DECODES or any(_root(call.func) in _DECODERS and source.call_name(call) in ("open", "load", "read") for call in calls):
        return DECODE
    if _parses_text(here):
        return DECODE
    if _stacks(calls):
        return STACK
    if names & _CONVERSIONS or _fills_elements(node, file, number):
        return CONVERT
    if names & _READS:
        return READ
    if names & _WRITES:
        drawn = any(isinstance(part, ast.Constant) and "\r" in str(part.value) for part in _own(node))
        terminal = any(isinstance(part, ast.Attribute) and part.attr in ("stdout", "stderr") for part in here) or "print" in names
        return DRAW if drawn or terminal else WRITE
    return PLAIN


def _stacks(calls: list[ast.Call]) -> bool:
    """Rows picked one by one and put together again, nothing else done to them."""
    for call in calls:
        if source.call_name(call) not in ("stack", "cat", "vstack", "concatenate") or not call.args:
            continue
        rows = call.args[0]
        if isinstance(rows, ast.ListComp | ast.GeneratorExp):
            inside = list(ast.walk(rows.elt))
            light = all(
                source.call_name(one) in ("from_numpy", "tensor", "as_tensor", "view", "item")
                for one in inside
                if isinstance(one, ast.Call)
            )
            if light and any(isinstance(one, ast.Subscript) for one in inside):
                return True
    return False


def statement(file: str, number: int) -> tuple[ast.stmt, Scope] | None:
    """The innermost statement on a line, and what is around it."""
    parsed = source.tree(file)
    if parsed is None:
        return None
    path: list[ast.AST] = [parsed[0]]
    best: tuple[ast.AST, ...] | None = None
    waiting: list[tuple[ast.AST, ...]] = [(parsed[0],)]
    while waiting:
        path = list(waiting.pop())
        for child in ast.iter_child_nodes(path[-1]):
            if isinstance(child, ast.stmt):
                if child.lineno <= number <= (child.end_lineno or child.lineno):
                    waiting.append((*path, child))
                    if best is None or len(path) + 1 > len(best):
                        best = (*path, child)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                waiting.append((*path, child))
    if best is None or not isinstance(best[-1], ast.stmt):
        return None
    around = best[:-1]
    scopes = [place for place, node in enumerate(around) if isinstance(node, _FUNCTIONS | ast.Module)]
    scope = around[scopes[-1]]
    assert isinstance(scope, _FUNCTIONS | ast.Module)
    loops = [node for node in around[scopes[-1] :] if isinstance(node, ast.For | ast.While) and not _over_keys(node)]
    return best[-1], Scope(scope, loops[0] if loops else None, _imported(parsed[0]))


def _takes_from_copy(node: ast.stmt, file: str) -> bool:
    """Whether a statement only picks from what the one before it copied: a look often sees the line after the call that took the time."""
    before = _statement_before(node, file)
    if before is None:
        return False
    number = before.lineno
    found = statement(file, number)
    if found is None or found[0] is not before or not isinstance(before, ast.Assign) or not isinstance(before.targets[0], ast.Name):
        return False
    name = before.targets[0].id
    picked = [p for p in _own(node) if isinstance(p, ast.Subscript) and isinstance(p.value, ast.Name) and p.value.id == name]
    return bool(picked) and copies_everything(before, _own(before), found[1])


def _statement_before(node: ast.stmt, file: str) -> ast.stmt | None:
    parsed = source.tree(file)
    for parent in ast.walk(parsed[0]) if parsed else ():
        for body in (getattr(parent, "body", None), getattr(parent, "orelse", None)):
            if isinstance(body, list) and node in body:
                place = body.index(node)
                return body[place - 1] if place else None
    return None


def persistent(node: ast.AST, scope: Scope) -> bool:
    """Whether an expression is a thing that outlives one use of it: an attribute of ``self``, a global, something from before the loop;
    whole, not picked by an index."""
    while True:
        if isinstance(node, ast.Subscript):
            if not _keeps_whole(node.slice, scope):
                return False
            node = node.value
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                return not _assigned_attribute(node.attr, scope)
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("values", "keys", "items"):
            node = node.func.value
        else:
            return isinstance(node, ast.Name) and _outlives(node.id, scope)


def _outlives(name: str, scope: Scope) -> bool:
    if name in scope.imported or name == "self":
        return False
    if scope.loop is not None:
        return name not in _stored(scope.loop)
    return isinstance(scope.node, _FUNCTIONS) and name not in _bound(scope.node)


def copies_everything(node: ast.stmt, here: list[ast.AST], scope: Scope) -> bool:
    """A copy or conversion of something that outlives the call, or of an argument of which only a part is taken afterwards."""
    for part in here:
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.BinOp) and not isinstance(part.slice, ast.Constant):
            if any(persistent(side, scope) for side in (part.value.left, part.value.right)):
                return True
        if not isinstance(part, ast.Call) or source.call_name(part) not in _COPIES:
            continue
        for one in _copied(part):
            if persistent(one, scope) or (isinstance(one, ast.Name) and _argument(one.id, scope) and _part_taken(part, node, scope)):
                return True
    return False


def _copied(call: ast.Call) -> Iterator[ast.expr]:
    """What a copying call goes over: its argument, or what it is a method of."""
    given: list[ast.expr] = list(call.args[:1])
    if isinstance(call.func, ast.Attribute) and (not isinstance(call.func.value, ast.Name) or not call.args):
        given.append(call.func.value)
    for one in given:
        if isinstance(one, ast.ListComp | ast.GeneratorExp):
            if not any(generator.ifs for generator in one.generators):
                yield one.generators[0].iter
        elif isinstance(one, ast.BinOp):
            yield from (one.left, one.right)
        else:
            yield one


def _own(node: ast.stmt) -> list[ast.AST]:
    """The expressions of a statement, without those of the statements inside it."""
    found: list[ast.AST] = []
    waiting = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt | ast.ExceptHandler)]
    while waiting:
        part = waiting.pop()
        found.append(part)
        waiting.extend(ast.iter_child_nodes(part))
    return found


def _on(node: ast.AST, number: int) -> bool:
    return getattr(node, "lineno", 0) <= number <= (getattr(node, "end_lineno", 0) or 0)


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _keeps_whole(index: ast.AST, scope: Scope) -> bool:
    """Whether this subscript names a column or cuts the filled part rather than picks some rows."""
    if isinstance(index, ast.Slice):
        # The filled part of a store (``[:self.size]``) is all of it; a window between two variables is a batch.
        return index.lower is None and not (isinstance(index.upper, ast.Name) and "batch" in index.upper.id)
    if isinstance(index, ast.Constant):
        return isinstance(index.value, str) or index.value is Ellipsis
    return isinstance(index, ast.Name) and index.id in _keys(scope.node)


def _loops_of(node: ast.AST) -> list[ast.For | ast.comprehension]:
    return [node] if isinstance(node, ast.For) else list(node.generators) if isinstance(node, _COMPREHENSIONS) else []


def _over_keys(node: ast.AST) -> bool:
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
        for loop in _loops_of(part):
            target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
            attribute = isinstance(loop, ast.comprehension) and isinstance(loop.iter, ast.Attribute)
            if isinstance(target, ast.Name) and (_over_keys(loop) or attribute):
                found.add(target.id)
    return frozenset(found)


@lru_cache(maxsize=64)
def _imported(module: ast.Module) -> frozenset[str]:
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


def _argument(name: str, scope: Scope) -> bool:
    """Whether a name is an argument of the function, or runs over the values of one (``for key, value in store.items()``)."""
    if not isinstance(scope.node, _FUNCTIONS):
        return False
    arguments = scope.node.args
    if name in {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}:
        return True
    for node in ast.walk(scope.node):
        for loop in _loops_of(node):
            if isinstance(loop.iter, ast.Call) and source.call_name(loop.iter) in ("items", "values"):
                if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(loop.target)):
                    return True
    return False


def _part_taken(call: ast.Call, node: ast.stmt, scope: Scope) -> bool:
    """Whether only some rows of what the call makes are used: it, or the name that it gets, is indexed with a variable."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    for part in ast.walk(scope.node):
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load) and not isinstance(part.slice, ast.Constant):
            base: ast.AST = part.value
            while isinstance(base, ast.Subscript):
                base = base.value
            if base is call or (isinstance(base, ast.Name) and base.id in names):
                return True
        if isinstance(part, ast.Call) and source.call_name(part) in ("sample", "choice", "choices", "islice") and part.args:
            if part.args[0] is call or (isinstance(part.args[0], ast.Name) and part.args[0].id in names):
                return True
    return False


def _looks_up(node: ast.stmt, here: list[ast.AST], scope: Scope) -> bool:
    """A table row by key or position, a search through everything, a comparison of a whole column with one key."""
    for part in here:
        if isinstance(part, ast.Attribute) and part.attr in _LOOKUPS and _root(part) not in scope.imported:
            return True
        if isinstance(part, ast.Call) and source.call_name(part) in _SEARCHES and _compares(part, scope):
            return True
        if isinstance(part, ast.Subscript) and _compares(part.slice, scope):
            return True
        if isinstance(part, _COMPREHENSIONS) and any(g.ifs and persistent(_behind(g.iter), scope) for g in part.generators):
            return True
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Compare) and persistent(node.value.left, scope):
        return True
    return isinstance(node, ast.For | ast.If | ast.Return | ast.Break) and _inside_search(node, scope, persistent)


def _compares(node: ast.AST, scope: Scope) -> bool:
    return any(isinstance(inner, ast.Compare) and persistent(inner.left, scope) for inner in ast.walk(node))


def _inside_search(node: ast.stmt, scope: Scope, everything: object) -> bool:
    """A loop over everything that stops at the entry that fits."""
    if not isinstance(scope.node, _FUNCTIONS):
        return False
    outside = Scope(scope.node, None, scope.imported)
    for loop in ast.walk(scope.node):
        if isinstance(loop, ast.For) and persistent(_behind(loop.iter), outside):
            inside = list(ast.walk(loop))
            stops = any(isinstance(one, ast.Break | ast.Return) for one in inside)
            if node in inside and stops and any(isinstance(one, ast.Compare) for one in inside):
                return True
    return False


def _behind(node: ast.AST) -> ast.AST:
    """What ``enumerate``, ``zip`` or ``iter`` goes over."""
    while isinstance(node, ast.Call) and source.call_name(node) in ("enumerate", "zip", "iter", "reversed") and node.args:
        node = node.args[0]
    return node


def _scans_file(node: ast.stmt, scope: Scope) -> bool:
    """Reading a file from its begin to the wanted line: a loop over an open file that stops somewhere."""
    if not isinstance(scope.node, _FUNCTIONS):
        return False
    opened: set[str] = set()
    for part in ast.walk(scope.node):
        for item in part.items if isinstance(part, ast.With) else ():
            if isinstance(item.optional_vars, ast.Name) and isinstance(item.context_expr, ast.Call):
                opened |= {item.optional_vars.id} if source.call_name(item.context_expr) == "open" else set()
    for loop in ast.walk(scope.node):
        behind = _behind(loop.iter) if isinstance(loop, ast.For) else None
        if isinstance(behind, ast.Name) and behind.id in opened and isinstance(loop, ast.For):
            inside = list(ast.walk(loop))
            if node in inside and any(isinstance(one, ast.Break | ast.Return) for one in inside):
                return True
    return False


def _parses_text(here: list[ast.AST]) -> bool:
    """Numbers made of text: ``float(v) for v in line.split()``."""
    names = {source.call_name(part) for part in here if isinstance(part, ast.Call)}
    mapped = {part.id for part in here if isinstance(part, ast.Name)}
    return "split" in names and bool((names | mapped) & {"float", "int", "map"})


def _fills_elements(node: ast.stmt, file: str, number: int) -> bool:
    """An element of an array or list is set or made in a loop inside a loop."""
    around = source.line(file, number)
    if around is None:
        return False
    if isinstance(node, ast.Assign | ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript) and around.loops >= 2:
            return True
    for part in _own(node):
        if isinstance(part, ast.ListComp):
            made = part.elt
            if isinstance(made, ast.ListComp) or (isinstance(made, ast.Call) and source.call_name(made) in ("float", "int", "list", "map")):
                return True
    return False
