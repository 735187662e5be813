"""Compilation: what ``torch.compile`` spends and why, and how it is kept from compiling us."""

from __future__ import annotations

import sys
from types import CodeType, FunctionType

from .. import files
from ..hooks import hidden, leave, like, on_hidden
from ..recorder import Recorder
from .shared import Shared

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any


class CompileHooks(Shared):
    """Dynamo's entry points."""

    def compile_frame(self, original: Any) -> Any:
        """``torch._dynamo.convert_frame._compile``: one compilation of one function, with what set it off."""
        recorder, compiled = self.recorder, self.compiled
        begin, end = recorder.begin, recorder.end

        def _compile(code: Any, *args: Any, **kwargs: Any) -> Any:
            span = 0
            try:
                seen = compiled[id(code)] = compiled.get(id(code), 0) + 1
                where = (files.absolute(code.co_filename), code.co_firstlineno, code.co_name)
                trigger = "first call" if seen == 1 else f"recompiled, {seen} times now"
                span = recorder.define("span", "compile", f"{code.co_name}: {trigger}", where, trigger=trigger, recompile=seen > 1)
                begin(span)
            except Exception as problem:
                recorder.warn("compile", problem)
            try:
                return original(code, *args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            finally:
                if span:
                    end(span)

        return like(hidden(_compile), original)

    def lazy_compile(self, original: Any) -> Any:
        """``CompilationCallbackHandler.install_callbacks``: compilation of the backward, CUDA graphs."""
        recorder = self.recorder

        class Span:
            # The context manager that was asked for, inside a span.
            def __init__(self: Any, inner: Any, trigger: str) -> None:
                self.inner = inner
                self.code = recorder.define("span", "compile", trigger, None, trigger=trigger)

            def __enter__(self: Any) -> Any:
                recorder.begin(self.code)
                return self.inner.__enter__()

            def __exit__(self: Any, *error: object) -> Any:
                try:
                    return self.inner.__exit__(*error)
                finally:
                    recorder.end(self.code)

        def install_callbacks(self: Any, trigger: Any = None, *args: Any, **kwargs: Any) -> Any:
            inner = original(self, trigger, *args, **kwargs)
            name = str(getattr(trigger, "name", "compile")).lower().replace("_", " ")
            return inner if name == "dynamo" else Span(inner, name)

        return like(hidden(install_callbacks), original)


def skip_own_frames(recorder: Recorder, eval_frame: Any) -> None:
    """Tell Dynamo to run our frames as they are when it meets them outside of a trace, and to go on with what they call."""
    skip_code = getattr(eval_frame, "skip_code", None)
    if skip_code is None:
        recorder.not_measured("torch.compile", "this torch has no skip_code: a hook may be compiled on its own")
        return
    on_hidden(skip_code)
    for name, module in list(sys.modules.items()):
        if name.startswith("_unslow_probe"):
            for code in _codes_of(vars(module), set()):
                skip_code(code)


def _codes_of(namespace: dict[str, Any], seen: set[int]) -> list[CodeType]:
    """Every code object of ours below a module or class, nested functions included."""
    found: list[CodeType] = []
    for value in list(namespace.values()):
        if isinstance(value, type) and id(value) not in seen:
            seen.add(id(value))
            module = value.__dict__.get("__module__", "")  # of a disguised stand-in this is a property
            if not isinstance(module, str) or module.startswith("_unslow_probe"):
                found.extend(_codes_of(dict(vars(value)), seen))
        elif isinstance(value, FunctionType):
            waiting = [value.__code__]
            while waiting:
                code = waiting.pop()
                found.append(code)
                waiting.extend(item for item in code.co_consts if isinstance(item, CodeType))
    return found
