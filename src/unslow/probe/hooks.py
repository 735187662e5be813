"""How a hook stands in for the original without being seen: in tracebacks, in warnings, as an attribute, in a pickle."""

from __future__ import annotations

from _weakref import ref
from types import CodeType

from .recorder import Recorder, clock

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

# The search for a warning's caller (``stacklevel``) skips frames whose file name holds both words (``warnings._is_internal_frame``).
HIDDEN_FILE = "<unslow: importlib _bootstrap>"
# Dynamo, for its part, never looks into what begins like this, as it never looks into a builtin.
STANDIN_FILE = "<frozen importlib._bootstrap: unslow>"


def hidden(function: Any, file: str = HIDDEN_FILE) -> Any:
    """Make a hook invisible to ``warnings``: its frames do not count. ``file``: pretend to lie there instead."""
    own = function.__code__
    code = _codes.get((id(own), file))
    if code is None:
        code = _codes[(id(own), file)] = own.replace(co_filename=file)
        _kept.append(own)
        for listener in _listeners:
            listener(code)
    function.__code__ = code
    return function


_codes: dict[tuple[int, str], CodeType] = {}  # the hidden twin of each code object of ours
_kept: list[CodeType] = []
_listeners: list[Any] = []


def on_hidden(listener: Any) -> None:
    """Call ``listener(code)`` for the code of every hook there is and will be."""
    _listeners.append(listener)
    for code in _codes.values():
        listener(code)


def leave(error: BaseException) -> None:
    """Take the hook's own entry off the traceback: a bare ``raise`` afterwards does not add it again."""
    trace = error.__traceback__
    if trace is not None:
        error.__traceback__ = trace.tb_next


def like(hook: Any, original: Any) -> Any:
    """Give a hook the name, doc and signature of what it stands in for."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        try:
            setattr(hook, name, getattr(original, name))
        except (AttributeError, TypeError):
            pass
    hook.__dict__.update(getattr(original, "__dict__", {}))
    hook.__annotations__ = getattr(original, "__annotations__", {})
    hook.__wrapped__ = original
    return hook


def span_function(recorder: Recorder, original: Any, code: int, stepped_out: Any = None, file: str = HIDDEN_FILE) -> Any:
    """A function that runs ``original`` inside the span ``code``; ``stepped_out()`` true: straight through (a tracer looks)."""
    begin, end = recorder.begin, recorder.end
    call: Any = original

    if stepped_out is None:

        def hook(*args: Any, **kwargs: Any) -> Any:
            begin(code)
            try:
                return call(*args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            finally:
                end(code)

        return like(hidden(hook, file), original)
    tracing: Any = stepped_out

    def traced_hook(*args: Any, **kwargs: Any) -> Any:
        if tracing():
            return call(*args, **kwargs)
        begin(code)
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            leave(error)
            raise
        finally:
            end(code)

    return like(hidden(traced_hook), original)


def disguise(cls: type) -> type:
    """Class decorator of stand-ins: an instance's ``__doc__`` and ``__module__`` are the original's, its frames do not count."""
    cls.__doc__ = property(lambda self: self.original.__doc__)  # type: ignore[assignment]
    cls.__module__ = property(lambda self: self.original.__module__)  # type: ignore[assignment]
    hidden(cls.__call__, STANDIN_FILE)
    return cls


class Standin:
    # In place of a builtin: no ``__get__``, so it does not bind as an attribute of a class; keeps name and doc; pickles by name.
    # A subclass gives ``__call__`` and is decorated with ``disguise``.

    __slots__ = ("__name__", "__weakref__", "original")

    # ``isinstance`` asks the object for its class where its type does not do: a builtin, as the original is.
    __class__ = property(lambda self: type(self.original))

    def __init__(self, original: Any) -> None:
        self.original = original
        self.__name__ = original.__name__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)  # ``__qualname__``, ``__self__``, ``__text_signature__``

    def __repr__(self) -> str:
        return repr(self.original)

    def __reduce__(self) -> str:
        return str(self.original.__qualname__)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)


@disguise
class SpanStandin(Standin):
    # A builtin whose calls are spans.

    __slots__ = ("begin", "code", "end")

    def __init__(self, original: Any, recorder: Recorder, code: int) -> None:
        super().__init__(original)
        self.begin, self.end, self.code = recorder.begin, recorder.end, code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        code = self.code
        self.begin(code)
        try:
            return self.original(*args, **kwargs)
        except BaseException as error:
            leave(error)
            raise
        finally:
            self.end(code)


@disguise
class PartStandin(Standin):
    # A builtin that keeps the activity around it (sleeping, reading, decoding).

    __slots__ = ("code", "reads", "recorder")

    def __init__(self, original: Any, recorder: Recorder, code: int, reads: bool) -> None:
        super().__init__(original)
        self.recorder, self.code, self.reads = recorder, code, reads

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return inside_part(self.recorder, self.code, self.reads, self.original, args, kwargs)
        except BaseException as error:
            leave(error)
            raise


def part_function(recorder: Recorder, original: Any, code: int, reads: bool) -> Any:
    """A function that keeps the activity around it, as PartStandin does for a builtin."""

    def hook(*args: Any, **kwargs: Any) -> Any:
        try:
            return inside_part(recorder, code, reads, original, args, kwargs)
        except BaseException as error:
            leave(error)
            raise

    return like(hidden(hook), original)


def inside_part(recorder: Recorder, code: int, reads: bool, call: Any, args: Any, kwargs: Any) -> Any:
    """Call inside a span; within a sample's preparation only reading and decoding are told apart, and taken off what is around."""
    try:
        if not recorder.quiet:
            recorder.begin(code)
            try:
                return call(*args, **kwargs)
            finally:
                recorder.end(code)
        if not reads:
            return call(*args, **kwargs)
        started, inner = clock(), recorder.inner_ns
        recorder.begin(code)
        try:
            return call(*args, **kwargs)
        finally:
            recorder.end(code)
            recorder.inner_ns = inner + clock() - started
    except BaseException as error:
        leave(error)
        raise


hidden(inside_part)


class Patches:
    """Every attribute that was replaced, so that it can be put back."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.done: list[tuple[Any, str, Any]] = []  # owner, name, hook; the first and last by weak reference
        recorder.patches.append(self)

    def replace(self, owner: Any, name: str, make: Any) -> bool:
        """Set ``owner.name = make(original)``; a missing name or a failure turns this one hook off with a message."""
        try:
            own = vars(owner)
            original = own[name] if name in own else getattr(owner, name)
            hook = make(original)
            setattr(owner, name, hook)
        except Exception as problem:
            label = getattr(owner, "__name__", None) or type(owner).__name__
            self.recorder.not_measured(f"{label}.{name}", f"not found as expected ({type(problem).__name__}: {problem})")
            return False
        self.done.append((_weakly(owner), name, _weakly(hook)))
        return True

    def undo(self, only: str | None = None) -> list[tuple[Any, str, Any]]:
        """Put the originals back, last first; what the user replaced since is left alone. Returns what ``redo`` needs."""
        undone = []
        for owner_ref, name, hook_ref in reversed(self.done):
            if only is not None and name != only:
                continue
            owner, hook = owner_ref(), hook_ref()
            try:
                if hook is not None and vars(owner).get(name) is hook:
                    setattr(owner, name, original_of(hook))
                    undone.append((owner, name, hook))
            except Exception as problem:
                self.recorder.warn(f"restore {name}", problem)
        return undone


def redo(undone: list[tuple[Any, str, Any]]) -> None:
    """Put hooks that were taken out in again."""
    for owner, name, hook in reversed(undone):
        setattr(owner, name, hook)


def _weakly(thing: Any) -> Any:
    """A weak reference, so that a class of the user's does not live longer for our sake; else something that returns it."""
    try:
        return ref(thing)
    except TypeError:
        return lambda: thing


def original_of(hook: Any) -> Any:
    """What a hook stands in for."""
    if isinstance(hook, classmethod):
        return classmethod(vars(hook.__func__)["__wrapped__"])
    return getattr(hook, "__wrapped__", None) or getattr(hook, "original", None)
