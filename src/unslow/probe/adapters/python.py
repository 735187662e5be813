"""Adapter for Python itself: clocks, printing and logging, the collector, pickles and files, sleeping, other programs."""

from __future__ import annotations

import builtins
import gc
import sys
import time
from types import FrameType, FunctionType

from .. import files
from ..hooks import PartStandin, Patches, SpanStandin, Standin, disguise, hidden, part_function, span_function
from ..recorder import Recorder

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

MODULE = "sys"
VERSIONS = ((3, 11), (3, 15))
CAPABILITIES = ("clock", "print", "logging", "gc", "pickle", "files", "sleep", "subprocess", "decode", "metrics", "progress")

CLOCKS = (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns",
)  # fmt: skip

# (module, attribute, activity or None to stay in the one around, activity where the script itself calls it, what to call it)
CALLS = (
    ("pickle", "load", None, "data.fetch", "read pickle"),
    ("pickle", "loads", None, "data.fetch", "read pickle"),
    ("pickle", "dump", None, "checkpoint", "write pickle"),
    ("json", "load", None, "data.fetch", "decode json"),
    ("json", "loads", None, "data.fetch", "decode json"),
    ("json", "dump", None, "logging", "write json"),
    ("gzip", "decompress", None, "data.fetch", "decode gzip"),
    ("zlib", "decompress", None, "data.fetch", "decode zlib"),
    ("numpy", "load", None, "data.fetch", "read numpy file"),
    ("numpy", "loadtxt", None, "data.fetch", "decode text"),
    ("numpy", "genfromtxt", None, "data.fetch", "decode text"),
    ("numpy", "save", None, "checkpoint", "write numpy file"),
    ("numpy", "savez", None, "checkpoint", "write numpy file"),
    ("numpy", "savez_compressed", None, "checkpoint", "write numpy file"),
    ("pandas", "read_csv", None, "data.fetch", "decode csv"),
    ("pandas", "read_parquet", None, "data.fetch", "decode parquet"),
    ("PIL.Image", "open", None, "data.fetch", "open image"),
    ("PIL.Image:Image", "save", None, "logging", "write image"),
    ("PIL.ImageFile:ImageFile", "load", None, "data.fetch", "decode image"),
    ("cv2", "imread", None, "data.fetch", "decode image"),
    ("cv2", "imdecode", None, "data.fetch", "decode image"),
    ("time", "sleep", None, "script", "sleep"),
    ("os", "fsync", None, "logging", "wait for the disk"),
    ("os", "system", None, "script", "another program"),
    ("subprocess:Popen", "__init__", None, "script", "another program"),
    ("subprocess:Popen", "wait", None, "script", "another program"),
    ("subprocess:Popen", "communicate", None, "script", "another program"),
    ("logging:Logger", "handle", "logging", "logging", "logging"),
    ("tqdm.std:tqdm", "display", "logging", "logging", "progress bar"),
    ("matplotlib.figure:Figure", "savefig", "logging", "logging", "figure"),
    ("wandb.sdk.wandb_run:Run", "log", "logging", "logging", "wandb"),
)  # fmt: skip

_patches: Patches | None = None
_collector: list[Any] = []


@disguise
class ClockRead(Standin):
    # A clock of ``time``: a read from the user's own files leaves a mark with its line.

    __slots__ = ("kept", "mark", "recorder", "sites")

    def __init__(self, original: Any, recorder: Recorder) -> None:
        super().__init__(original)
        self.recorder = recorder
        self.mark = recorder.mark
        self.sites: dict[tuple[int, int], int] = {}
        self.kept: list[Any] = []  # code objects seen, so that their ids stay theirs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        key = (id(frame.f_code), frame.f_lasti)
        code = self.sites.get(key)
        if code is None:
            code = self.site(frame, key)
        if code:
            self.mark(code)
        return self.original(*args, **kwargs)

    def site(self, frame: FrameType, key: tuple[int, int]) -> int:
        """The mark for this place, or 0 where it is not the user's."""
        code = frame.f_code
        self.kept.append(code)
        found = 0
        if files.is_user(code.co_filename):
            where = (files.absolute(code.co_filename), frame.f_lineno or 0, code.co_name)
            found = self.recorder.define("mark", None, self.__name__, where, event="clock")
        self.sites[key] = found
        return found


def install(recorder: Recorder, module: Any) -> None:
    """Hook what is there already; the rest when it is imported."""
    global _patches
    patches = _patches = Patches(recorder)
    for name in CLOCKS:
        patches.replace(time, name, lambda original: ClockRead(original, recorder))
    code = recorder.define("span", "logging", "print")
    patches.replace(builtins, "print", lambda original: SpanStandin(original, recorder, code))
    imports = recorder.context["imports"]
    for place, attribute, activity, otherwise, label in CALLS:
        module_name, _, owner = place.partition(":")
        imports.when(
            module_name,
            lambda found, owner=owner, attribute=attribute, activity=activity, otherwise=otherwise, label=label: _hook_call(
                recorder, patches, found, owner, attribute, activity, otherwise, label
            ),
        )
    imports.when("sklearn.metrics", lambda found: _hook_metrics(recorder, patches, found))
    imports.when("torch.utils.tensorboard.writer", lambda found: _hook_summaries(recorder, patches, found))
    _watch_collector(recorder)


def uninstall() -> None:
    """Put everything back."""
    if _patches is not None:
        _patches.undo()
    for callback in _collector:
        if callback in gc.callbacks:
            gc.callbacks.remove(callback)
    _collector.clear()


def _hook_call(
    recorder: Recorder, patches: Patches, module: Any, owner: str, attribute: str, activity: str | None, otherwise: str, label: str
) -> None:
    """Make one function or method of a module a span; a name that this version lacks is no loss worth a message."""
    target = getattr(module, owner, None) if owner else module
    if getattr(target, attribute, None) is None:
        return
    attributes = {} if activity else {"otherwise": otherwise, "setup": True}
    code = recorder.define("span", activity, label, None, **attributes)

    def make(original: Any) -> Any:
        if activity is None:
            reads = otherwise == "data.fetch"
            if isinstance(original, FunctionType):
                return part_function(recorder, original, code, reads)
            return PartStandin(original, recorder, code, reads)
        if isinstance(original, FunctionType):
            # ``logging`` looks for the frame that called it by the folder of each frame's file: there we must lie in it.
            inside = {"file": original.__code__.co_filename} if label == "logging" else {}
            return span_function(recorder, original, code, **inside)
        return SpanStandin(original, recorder, code)

    patches.replace(target, attribute, make)


def _hook_metrics(recorder: Recorder, patches: Patches, module: Any) -> None:
    for name in getattr(module, "__all__", ()):
        function = getattr(module, name, None)
        if isinstance(function, FunctionType):
            code = recorder.define("span", "metrics", name)
            patches.replace(module, name, lambda original, code=code: span_function(recorder, original, code))


def _hook_summaries(recorder: Recorder, patches: Patches, module: Any) -> None:
    writer = getattr(module, "SummaryWriter", None)
    for name in dir(writer):
        if name.startswith("add_") or name in ("flush", "close"):
            code = recorder.define("span", "logging", f"summary {name}")
            patches.replace(writer, name, lambda original, code=code: span_function(recorder, original, code))


def _watch_collector(recorder: Recorder) -> None:
    """Two callbacks, first and last in the list, so that the user's own callbacks are inside the span."""
    codes = [recorder.define("span", "gc", f"generation {number}") for number in range(3)]
    begin, end = recorder.begin, recorder.end
    callbacks = gc.callbacks

    def first(phase: Any, info: Any) -> Any:
        if phase == "start":
            if callbacks[-1] is not last:
                try:
                    callbacks.remove(last)
                    callbacks.append(last)
                except ValueError:
                    return
            begin(codes[min(info["generation"], 2)])

    def last(phase: Any, info: Any) -> Any:
        if phase == "stop":
            end(codes[min(info["generation"], 2)])

    hidden(first)
    hidden(last)
    callbacks.insert(0, first)
    callbacks.append(last)
    _collector.extend((first, last))
