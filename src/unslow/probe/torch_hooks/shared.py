"""What the hooks of PyTorch in one process share."""

from __future__ import annotations

from _weakref import ref

from ..hooks import Patches
from ..recorder import Recorder
from .samples import fetching

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any


class Fingerprints:
    """Short marks of what the model was given, in some windows of steps: whether the same rows come again and again."""

    WINDOWS = ((8, 72), (512, 576), (4096, 4160))

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.open = True
        self.rows: list[tuple[int, int]] = []
        self.window = 0

    def note(self, step: int, module: Any, args: tuple[Any, ...]) -> None:
        """Called at the begin of a training forward: one mark for this module with this input; reads part of one row, on the CPU only."""
        try:
            low, high = self.WINDOWS[self.window]
            if step < low:
                return
            if step >= high:
                self.close()
                return
            tensor = next((value for value in args if getattr(value, "is_cpu", False) and value.dim() > 0 and value.numel() > 0), None)
            if tensor is None or tensor.shape[0] == 0:
                return
            row = tensor.detach()[0].reshape(-1)
            row = row[:: max(row.numel() // 64, 1)][:64]  # spread out: the border of an image is the same in all
            self.rows.append((step, hash((id(module), *row.tolist())) & 0xFFFFFFFF))
        except Exception as problem:
            self.open = False
            self.recorder.warn("fingerprints of inputs", problem)

    def close(self) -> None:
        """Write what the window saw and wait for the next one."""
        if self.rows:
            self.recorder.fact(f"inputs {self.window}", [[step, mark] for step, mark in self.rows])
        self.rows = []
        self.window += 1
        self.open = self.window < len(self.WINDOWS)


class Shared:
    """The hooks of one process, with what they share."""

    def __init__(self, recorder: Recorder, torch: Any, patches: Patches) -> None:
        self.recorder = recorder
        self.torch = torch
        self.patches = patches
        self.owner = 0  # the thread that is inside a module's call, or 0
        self.loss_codes: set[int] = set()
        self.optimizers: dict[int, int] = {}
        self.optimizer_count = 0
        self.steps = 0
        self.next_look = 1
        self.in_backward = False
        self.plain_item: Any = None  # ``Tensor.item`` as it was
        self.losses = 0
        self.first_loss: float | None = None
        self.last_loss: float | None = None
        self.compiled: dict[int, int] = {}
        self.fingerprints = Fingerprints(recorder)
        compiler = getattr(torch, "compiler", None)
        self.tracing = getattr(compiler, "is_dynamo_compiling", None) or (lambda: False)
        self.inspector: Any = None
        self.looking: Any = None  # the mode of the step that is being inspected, or None

    def phase(self) -> str:
        """Which part of a step runs now: what an inspected step books its operators to."""
        if self.in_backward:
            return "backward"
        if self.owner:
            return "forward"
        if fetching.thread:
            return "data"
        return "optimizer" if self.recorder.quiet else "script"


def seen_through(hook: Any, original: Any) -> Any:
    """Both TorchScript and Dynamo know this pair of names and go straight to the original."""
    hook.__script_if_tracing_wrapper = True
    hook.__original_fn = original
    return hook


def forget_with(cls: type, codes: dict[Any, int], key: Any) -> None:
    """Drop the entry when the class goes: a class kept alive by us would end later than it does without."""
    _watched.append(ref(cls, lambda _: codes.pop(key, None)))


_watched: list[Any] = []
