"""Start recording in this process: called by the bootstrap before the script's first line."""

from __future__ import annotations

import os
import sys

from . import files
from .adapters import python
from .governor import Governor
from .hooks import span_function
from .imports import Imports
from .processes import Processes
from .recorder import Recorder, clock
from .sampler import Sampler

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

# Adapter of each framework: the module whose import completes before its hooks go in.
ADAPTERS = {"torch": "torch"}

state: dict[str, Any] = {}


def start(folder: str) -> None:
    """Record this process into ``folder/recording``."""
    if not os.path.isdir(os.path.join(folder, "recording")):
        return
    recorder = Recorder(folder)
    recorder.script = _script()
    _measure_span_cost(recorder)
    recorder.open()
    sampler = Sampler(recorder)
    imports = Imports(recorder)
    processes = Processes(recorder, sampler, imports)
    state.update(recorder=recorder, sampler=sampler, imports=imports, processes=processes)
    recorder.context = state
    Governor(recorder)
    experiment = os.environ.get("UNSLOW_EXPERIMENT", "").split(":")
    if experiment[0] == "switch":
        from .experiment import Switch

        recorder.experiment = Switch(recorder, int(experiment[1]), int(experiment[2]), *experiment[3:4])
    processes.install()
    python.install(recorder, sys)
    imports.install()
    for name in ADAPTERS:
        imports.when(name, lambda module, name=name: _adapter(name, recorder, module))
    sampler.start()
    processes.script_begins()


def _adapter(name: str, recorder: Recorder, module: Any) -> None:
    """Load and install the adapter for a framework that has just arrived; its cost is ours."""
    code = recorder.define("span", "observer", f"adapter {name}")
    recorder.begin(code)
    try:
        adapter = __import__(f"{__package__}.adapters.{ADAPTERS[name]}", fromlist=["install"])
        adapter.install(recorder, module)
    finally:
        recorder.end(code)


def _script() -> str | None:
    """The absolute path of the script named on the command line, or None (``-c``, ``-m``, a prompt)."""
    name = sys.argv[0] if getattr(sys, "argv", None) else ""
    if name in ("", "-c", "-m", "-"):
        return None
    path = os.path.abspath(name)
    files.add_main(path)
    return path


def _measure_span_cost(recorder: Recorder) -> None:
    """What one hooked call costs, in nanoseconds: the whole of it, and the share between its two clock reads."""

    def nothing() -> None:
        pass

    hook = span_function(recorder, nothing, 16)
    buffer = memoryview(bytearray(4096)).cast("Q")
    best, inside = 1 << 60, 1 << 60
    for _ in range(6):
        recorder.redirect(buffer)
        start_ns = clock()
        for _ in range(50):
            nothing()
        bare = clock() - start_ns
        start_ns = clock()
        for _ in range(50):
            hook()
        best = min(best, clock() - start_ns - bare)
        spans = [(buffer[2 * index + 1] >> 16) - (buffer[2 * index] >> 16) for index in range(50)]
        inside = min(inside, sum(spans) - bare)
    recorder.forked_closures()
    recorder.span_cost_ns = max(best // 50, 0)
    recorder.inside_cost_ns = max(min(inside // 50, recorder.span_cost_ns), 0)
