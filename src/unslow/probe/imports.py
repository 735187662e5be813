"""Times every real import, module by module, and tells the adapters when their framework has arrived."""

from __future__ import annotations

import sys

from .hooks import hidden, leave
from .recorder import Recorder

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any


class Imports:
    """Wraps ``importlib._bootstrap._find_and_load``: reached only by imports that are not in ``sys.modules`` yet."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.waiting: dict[str, list[Any]] = {}
        self.original: Any = None

    def when(self, name: str, action: Any) -> None:
        """Call ``action(module)`` once ``name`` has been imported completely; now, if it has been already."""
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            self._act(action, module, name)
        else:
            self.waiting.setdefault(name, []).append(action)

    def _act(self, action: Any, module: Any, name: str) -> None:
        try:
            action(module)
        except Exception as problem:
            self.recorder.warn(f"adapter for {name}", problem)

    def arrived(self, name: str) -> None:
        """Run what waited for ``name``."""
        actions = self.waiting.pop(name, None)
        module = sys.modules.get(name)
        if actions and module is not None:
            for action in actions:
                self._act(action, module, name)

    def install(self) -> None:
        """Put the hook in; without the private name, imports are not told apart and adapters come by a path hook."""
        bootstrap = sys.modules.get("_frozen_importlib")
        original = getattr(bootstrap, "_find_and_load", None)
        if bootstrap is None or original is None:
            self.recorder.not_measured("imports", "this Python has no importlib._bootstrap._find_and_load")
            return
        recorder, waiting, arrived = self.recorder, self.waiting, self.arrived
        begin, end, define, import_codes = recorder.begin, recorder.end, recorder.define, recorder.import_codes
        modules = sys.modules
        ours = __name__.partition(".")[0] + "."

        def _find_and_load(name: Any, import_: Any) -> Any:
            if name in modules:
                return original(name, import_)
            code = define("span", "observer" if name.startswith(ours) else "startup.import", name)
            import_codes.add(code)
            begin(code)
            try:
                return original(name, import_)
            except BaseException as error:
                leave(error)
                raise
            finally:
                if name in waiting:
                    arrived(name)
                end(code)

        vars(bootstrap)["_find_and_load"] = hidden(_find_and_load)
        self.original = original
