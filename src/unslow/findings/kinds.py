"""What kind of work a line does on its way to a batch, read from its syntax: copy of everything, look-up, conversion, reading, decoding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from unslow.findings import source
from unslow.findings.lifetimes import Scope, imported_names, is_argument, over_keys, persistent

COPY, LOOKUP, CONVERT, STACK, READ = "copy", "lookup", "convert", "stack", "read"
SEEK, DECODE, WAIT, WRITE, DRAW, SAVE, PLAIN = "seek", "decode", "wait", "write", "draw", "save", "plain"

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

# Calls that make a new array or list of all that they are given.
_COPIES = {
    "copy", "deepcopy", "clone", "astype", "float", "double", "half", "to", "contiguous", "array", "asarray", "tensor", "as_tensor",
    "concatenate", "cat", "stack", "vstack", "hstack", "list", "tuple", "sorted", "to_numpy", "tolist", "FloatTensor", "LongTensor",
    "Tensor",
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
_SAVERS = {"pickle", "joblib", "torch", "dill", "cloudpickle"}
_LIGHT = {
    "tensor", "from_numpy", "as_tensor", "array", "asarray", "int", "float", "len", "item", "view", "reshape", "flatten", "unsqueeze",
    "long",
    "randint", "integers", "range", "choice", "stack", "dict", "tuple", "append",
}  # fmt: skip
MOST_BEFORE = 5
_WRITES = {
    "writerow", "writerows", "write", "writelines", "flush", "fsync", "dump", "print", "savefig", "log_metrics", "add_scalar",
    "add_histogram", "info", "debug",
}  # fmt: skip


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
    if "state_dict" in names:
        return SAVE
    if copies_everything(node, here, scope):
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
    if names & _READS:
        return READ
    if _stacks(calls):
        return STACK
    if names & _CONVERSIONS or _fills_elements(node, file, number):
        return CONVERT
    if names & {"save", "savez", "savez_compressed", "state_dict"} or any(
        source.call_name(c) == "dump" and _root(c.func) in _SAVERS for c in calls
    ):
        return SAVE
    if names & _WRITES or any(_reports(call) for call in calls):
        drawn = any(isinstance(part, ast.Constant) and "\r" in str(part.value) for part in _own(node))
        terminal = any(isinstance(part, ast.Attribute) and part.attr in ("stdout", "stderr") for part in here) or "print" in names
        return DRAW if drawn or terminal else WRITE
    return PLAIN


@lru_cache(maxsize=2048)
def kinds_of_function(file: str, number: int) -> frozenset[str]:
    """The kinds of all lines of the function around a line; nothing at the level of the module."""
    function = source.function_of(file, number)
    if function is None:
        return frozenset()
    return frozenset(kind(file, node.lineno) for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function)


@lru_cache(maxsize=8192)
def seat(file: str, number: int, calls_model: bool = False) -> tuple[str, int]:
    """The kind of work that a look at this line most likely saw, and the line of that work.

    A look waits until the thread gives the interpreter lock away, which a call that works inside the interpreter does not: it is then
    seen at the next call that does, some lines further on, or in the next round of the loop. A line that does next to nothing stands for
    the work just before it. ``calls_model``: the line calls the model, and the look came before that call.
    """
    own = kind(file, number)
    found = statement(file, number)
    if found is None or own not in (PLAIN, CONVERT, STACK) or not _light(found[0], calls_model):
        return own, number
    work = None
    for before in _statements_before(found[0], file)[-MOST_BEFORE:][::-1]:
        if _step_of_training(before):
            break
        its = kind(file, before.lineno)
        if its in (COPY, LOOKUP, SEEK, DECODE, READ, WAIT) or (its == CONVERT and not _light(before)):
            return its, before.lineno
        if work is None and not _light(before) and not _now_and_then(before):
            work = its, before.lineno
    return (own, number) if work is None else work


def _light(node: ast.stmt, calls_model: bool = False) -> bool:
    """Whether a statement only wraps, picks or returns: no loop over elements, no call but those that do little."""
    if isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try):
        return False
    parts = _own(node)
    if any(isinstance(part, _COMPREHENSIONS) and not _few(part) for part in parts):
        return False
    for part in parts:
        # A list that is converted is gone through element by element.
        if (
            isinstance(part, ast.Call)
            and source.call_name(part) in _CONVERSIONS
            and any(isinstance(one, _COMPREHENSIONS) for one in part.args)
        ):
            return False
    return calls_model or all(source.call_name(part) in _LIGHT for part in parts if isinstance(part, ast.Call))


def _step_of_training(node: ast.stmt) -> bool:
    """Backward and update give the lock away: what lies before them is not seen after them."""
    return any(isinstance(part, ast.Call) and source.call_name(part) in ("backward", "step", "zero_grad") for part in ast.walk(node))


def _now_and_then(node: ast.stmt) -> bool:
    """Something that is done every so many steps."""
    return isinstance(node, ast.If) and any(isinstance(part, ast.Mod) for part in ast.walk(node.test))


def _few(comprehension: ast.AST) -> bool:
    """A comprehension that only picks."""
    inside = list(ast.walk(comprehension))
    return any(isinstance(part, ast.Subscript) for part in inside) and all(
        source.call_name(part) in ("randint", "integers", "range", "len", "choice") for part in inside if isinstance(part, ast.Call)
    )


def _statements_before(node: ast.stmt, file: str) -> list[ast.stmt]:
    """The statements before this one in its block; in a loop those after it come first, from the round before."""
    parsed = source.tree(file)
    for parent in ast.walk(parsed[0]) if parsed else ():
        for body in (getattr(parent, "body", None), getattr(parent, "orelse", None)):
            if isinstance(body, list) and node in body:
                place = body.index(node)
                around = body[place + 1 :] if isinstance(parent, ast.For | ast.While) else []
                return [one for one in (*around, *body[:place]) if isinstance(one, ast.stmt)]
    return []


def _reports(call: ast.Call) -> bool:
    """``logger.log(…)``, ``run.log(…)``: a call named ``log`` of something that keeps a log, not the logarithm."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("log", "report"):
        return False
    of = ast.unparse(call.func.value).lower()
    return any(word in of for word in ("log", "writer", "wandb", "run", "track", "mlflow", "record", "report"))


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
    loops = [node for node in around[scopes[-1] :] if isinstance(node, ast.For | ast.While) and not over_keys(node)]
    myself = "self"
    if isinstance(scope, _FUNCTIONS) and scopes[-1] > 0 and isinstance(around[scopes[-1] - 1], ast.ClassDef) and scope.args.args:
        myself = scope.args.args[0].arg
    return best[-1], Scope(scope, loops[0] if loops else None, imported_names(parsed[0]), myself)


def copies_everything(node: ast.stmt, here: list[ast.AST], scope: Scope) -> bool:
    """A copy or conversion of something that outlives the call, or of an argument of which only a part is taken afterwards."""
    for part in here:
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.BinOp) and not isinstance(part.slice, ast.Constant):
            whole = [side for side in (part.value.left, part.value.right) if persistent(side, scope)]
            if whole:
                return True
        if not isinstance(part, ast.Call) or source.call_name(part) not in _COPIES:
            continue
        for one in _copied(part):
            if persistent(one, scope) or (isinstance(one, ast.Name) and is_argument(one.id, scope) and _part_taken(part, node, scope)):
                return True
    return False


def _copied(call: ast.Call) -> Iterator[ast.expr]:
    """What a copying call goes over: its argument, or what it is a method of."""
    given: list[ast.expr] = list(call.args[:1])
    if isinstance(call.func, ast.Attribute):
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
            given = part.args[0]
            if given is call or (isinstance(given, ast.Name) and given.id in names):
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
    return isinstance(node, ast.For | ast.If | ast.Return | ast.Break) and _inside_search(node, scope)


def _compares(node: ast.AST, scope: Scope) -> bool:
    return any(isinstance(inner, ast.Compare) and persistent(inner.left, scope) for inner in ast.walk(node))


def _inside_search(node: ast.stmt, scope: Scope) -> bool:
    """A loop over everything that stops at the entry that fits."""
    if not isinstance(scope.node, _FUNCTIONS):
        return False
    outside = Scope(scope.node, None, scope.imported, scope.myself)
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
