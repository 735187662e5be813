"""Tensors: reading and moving them; settings that change how everything after them runs."""

from __future__ import annotations

from .. import files
from ..hooks import hidden, leave, like, redo
from .shared import Shared

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

TO_HOST = ("item", "tolist", "cpu", "numpy")
# Without an accelerator nothing moves, and a hook here would show: torch warns about some of these from C, naming the frame that called.
TO_HOST_IMPLICITLY = ("__array__", "__float__", "__int__", "__bool__", "__index__")
MOVES = ("to", "cuda")


class TensorHooks(Shared):
    """``Tensor.item`` and its kin, ``Tensor.to``, ``set_num_threads`` and its kin."""

    def to_host(self, name: str) -> Any:
        """``.item()`` and its kin: reading a tensor's values on the host."""

        def make(original: Any) -> Any:
            code = self.recorder.define("span", "transfer.to_host", name)
            recorder, begin, end, tracing, call = self.recorder, self.recorder.begin, self.recorder.end, self.tracing, original

            def read(self: Any, *args: Any, **kwargs: Any) -> Any:
                if tracing():
                    return call(self, *args, **kwargs)
                try:
                    if recorder.quiet:
                        return call(self, *args, **kwargs)
                    begin(code)
                    try:
                        return call(self, *args, **kwargs)
                    finally:
                        end(code)
                except BaseException as error:
                    leave(error)
                    raise

            self.recorder.removable[code] = (self.patches, name)
            return like(hidden(read), original)

        return make

    def to_device(self, name: str) -> Any:
        """``.to()`` and ``.cuda()``: a move where a device takes part, else only a part of what is around it."""

        def make(original: Any) -> Any:
            moved = self.recorder.define("span", "transfer.to_device", name)
            back = self.recorder.define("span", "transfer.to_host", name)
            stays = self.recorder.define("span", None, f"{name} on the host", None, otherwise="script", setup=True)
            recorder, begin, end, tracing, call = self.recorder, self.recorder.begin, self.recorder.end, self.tracing, original
            device_module = getattr(self.torch, "cuda", None)
            ready = getattr(device_module, "is_initialized", None) or (lambda: False)

            def move(self: Any, *args: Any, **kwargs: Any) -> Any:
                if tracing():
                    return call(self, *args, **kwargs)
                try:
                    if recorder.quiet:
                        return call(self, *args, **kwargs)
                    if self.is_cpu:
                        code = moved if name == "cuda" or ready() else stays
                    else:
                        code = back if "cpu" in map(str, args) or str(kwargs.get("device")) == "cpu" else moved
                    begin(code)
                    try:
                        return call(self, *args, **kwargs)
                    finally:
                        end(code)
                except BaseException as error:
                    leave(error)
                    raise

            return like(hidden(move), original)

        return make

    def traced_entry(self, original: Any) -> Any:
        """``torch.jit.trace``: reads of tensors go straight through while it looks, its warnings must name the user's line."""
        patches = self.patches

        def trace(*args: Any, **kwargs: Any) -> Any:
            undone = [entry for name in (*TO_HOST, *TO_HOST_IMPLICITLY, *MOVES) for entry in patches.undo(only=name)]
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            finally:
                redo(undone)

        return like(hidden(trace), original)

    def setting(self, name: str) -> Any:
        """A call that changes how everything after it runs: a fact with its line."""

        def make(original: Any) -> Any:
            recorder, tracing, call = self.recorder, self.tracing, original

            def change(*args: Any, **kwargs: Any) -> Any:
                if tracing():
                    return call(*args, **kwargs)
                try:
                    value = next((item for item in (*args, *kwargs.values()) if isinstance(item, (bool, int, float, str))), None)
                    recorder.fact(f"setting {name}", {"value": value, "site": files.site(1)})
                except Exception as problem:
                    recorder.warn(name, problem)
                try:
                    return call(*args, **kwargs)
                except BaseException as error:
                    leave(error)
                    raise

            return like(hidden(change), original)

        return make
