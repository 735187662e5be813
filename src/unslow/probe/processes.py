"""Follows the script through forks and to its end: new streams in children, the last line, the goodbye."""

from __future__ import annotations

import atexit
import os

from .hooks import Standin, disguise, hidden, leave
from .imports import Imports
from .recorder import Recorder
from .sampler import Sampler

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any


@disguise
class RegisterStandin(Standin):
    # ``atexit.register``: what is registered last runs first, so our mark of the script's end is moved to that place each time.

    __slots__ = ("ends",)

    def __init__(self, original: Any, ends: Any) -> None:
        super().__init__(original)
        self.ends = ends

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            result = self.original(*args, **kwargs)
        except BaseException as error:
            leave(error)
            raise
        atexit.unregister(self.ends)
        self.original(self.ends)
        return result


class Processes:
    """Fork handlers, the marks ``script.begin`` and ``script.end``, and the trailer."""

    def __init__(self, recorder: Recorder, sampler: Sampler, imports: Imports) -> None:
        self.recorder = recorder
        self.sampler = sampler
        self.imports = imports
        self.in_child: list[Any] = []  # what adapters must put right in a forked child
        self.before: list[Any] = []  # what must be put away for a fork,
        self.after: list[Any] = []  # and taken up again in the parent
        self.ended = False

    def install(self) -> None:
        """Register with the interpreter; our atexit handler is the first in, so it runs last."""
        atexit.register(self._goodbye)
        try:
            atexit.register = RegisterStandin(atexit.register, self.script_ends)
        except Exception as problem:
            self.recorder.not_measured("handlers at exit", f"{type(problem).__name__}: {problem}")
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before_fork, after_in_parent=self._after_in_parent, after_in_child=self._after_in_child)
        self.imports.when("threading", self._watch_shutdown)

    def script_begins(self) -> None:
        self.recorder.mark(self.recorder.define("mark", None, "script begins", event="script.begin"))

    def script_ends(self) -> None:
        """The last line has run, or the interpreter is on its way out; said once."""
        if not self.ended:
            self.ended = True
            self.recorder.mark(self.recorder.define("mark", None, "script ends", event="script.end"))

    def _watch_shutdown(self, threading: Any) -> None:
        """``threading._shutdown`` is the first thing that the interpreter calls after the script's last line."""
        original = getattr(threading, "_shutdown", None)
        if original is None:
            self.recorder.not_measured("end of script", "threading has no _shutdown")
            return
        ends = self.script_ends

        def _shutdown() -> Any:
            try:
                ends()
            except Exception:
                pass
            try:
                return original()
            except BaseException as error:
                leave(error)
                raise

        threading._shutdown = hidden(_shutdown)

    def _goodbye(self) -> None:
        try:
            self.script_ends()
            self.sampler.stop()
            self.recorder.finish()
        except Exception:
            pass

    def _before_fork(self) -> None:
        try:
            self.sampler.stop()
            for action in self.before:
                action()
        except Exception as problem:
            self.recorder.warn("before fork", problem)

    def _after_in_parent(self) -> None:
        try:
            self.sampler.start()
            for action in self.after:
                action()
        except Exception as problem:
            self.recorder.warn("after fork", problem)

    def _after_in_child(self) -> None:
        try:
            self.recorder.forked()
            self.sampler.forked()
            self.ended = False
            for action in self.in_child:
                action()
            self.sampler.start()
        except Exception as problem:
            self.recorder.complain(f"in a forked child: {type(problem).__name__}: {problem}")
