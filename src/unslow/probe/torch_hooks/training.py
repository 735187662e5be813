"""Training: losses, gradients, optimizers, and what is learnt about them at the first steps."""

from __future__ import annotations

from types import FunctionType

from .. import files
from ..hooks import hidden, leave, like, span_function
from .shared import Shared, seen_through

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any


class TrainingHooks(Shared):
    """``nn.functional`` losses, ``backward``, ``Optimizer``."""

    def traced_function(self, activity: str, name: str) -> Any:
        """Make a plain function a span that tracers and TorchScript see through to the original."""

        def make(original: Any) -> Any:
            code = self.recorder.define("span", activity, name)
            hook = span_function(self.recorder, original, code, self.tracing)
            return seen_through(hook, original)

        return make

    def loss_function(self, name: str) -> Any:
        """A function of ``torch.nn.functional`` that computes a loss, inside a module's forward or outside."""

        def make(original: Any) -> Any:
            code = self.recorder.define("span", "loss", name)
            recorder, begin, end, tracing = self.recorder, self.recorder.begin, self.recorder.end, self.tracing

            def loss(*args: Any, **kwargs: Any) -> Any:
                if tracing():
                    return original(*args, **kwargs)
                try:
                    if recorder.quiet:
                        return original(*args, **kwargs)
                    begin(code)
                    try:
                        return original(*args, **kwargs)
                    finally:
                        end(code)
                except BaseException as error:
                    leave(error)
                    raise

            return seen_through(like(hidden(loss), original), original)

        return make

    def backward(self, original: Any) -> Any:
        """``torch.autograd.backward``: the span, and the value of a loss that lies on the CPU (no device is waited for)."""
        shared, recorder, tracing = self, self.recorder, self.tracing
        begin, end = recorder.begin, recorder.end
        plain = recorder.define("span", "backward", "backward")
        kept = 0

        def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None, *args: Any, **kwargs: Any) -> Any:
            nonlocal kept
            if tracing():
                return original(tensors, grad_tensors, retain_graph, *args, **kwargs)
            code = plain
            if shared.looking is not None:
                shared.looking.note_graph(tensors)
            if retain_graph or shared.losses < 3:
                try:
                    if retain_graph:
                        kept = code = kept or recorder.define("span", "backward", "backward", files.site(1), retain_graph=True)
                except Exception as problem:
                    recorder.warn("backward", problem)
            shared.in_backward = True
            begin(code)
            try:
                return original(tensors, grad_tensors, retain_graph, *args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            finally:
                end(code)
                shared.in_backward = False
                shared.losses += 1
                if shared.losses & 63 == 1 or shared.losses < 8:
                    shared.note_loss(tensors)
                if not shared.optimizer_count and shared.losses >= shared.next_look:
                    shared.after_step(None)  # the script updates its parameters by itself

        return like(hidden(backward), original)

    def note_loss(self, tensors: Any) -> None:
        """Remember the first loss and one now and then, where reading it waits for nothing; the last by weak reference."""
        try:
            tensor = tensors[0] if isinstance(tensors, (tuple, list)) and len(tensors) == 1 else tensors
            if tensor.is_cpu and tensor.numel() == 1 and type(tensor).__name__ == "Tensor":
                self.last_loss = self.plain_item(tensor)
                if self.first_loss is None:
                    self.first_loss = self.last_loss
        except Exception as problem:
            self.recorder.warn("value of the loss", problem)

    # Optimizers -------------------------------------------------------------------------------------------------------------

    def optimizer_init(self, original: Any) -> Any:
        """``Optimizer.__init__``: number the optimizer and make its class's ``step`` a span."""
        shared = self

        def __init__(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                original(self, *args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            try:
                shared.hook_step(self)
            except Exception as problem:
                shared.recorder.warn("optimizer", problem)

        return like(hidden(__init__), original)

    def hook_step(self, optimizer: Any) -> None:
        """Number this optimizer; hook ``step`` where its class defines it, once."""
        self.optimizer_count += 1
        if not self.steps:
            self.next_look = 1
        name = f"{type(optimizer).__name__} {self.optimizer_count}"
        self.optimizers[id(optimizer)] = self.recorder.define("span", "optimizer", name, files.site(3), step=True)
        for cls in type(optimizer).__mro__:
            step = vars(cls).get("step")
            if step is not None:
                if isinstance(step, FunctionType) and not hasattr(step, "_unslow_step"):
                    self.patches.replace(cls, "step", self.step)
                return

    def step(self, original: Any) -> Any:
        shared, recorder, tracing = self, self.recorder, self.tracing
        begin, end, codes, step_done = recorder.begin, recorder.end, self.optimizers, recorder.step_done
        unknown = recorder.define("span", "optimizer", "optimizer", None, step=True)

        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if tracing():
                return original(self, *args, **kwargs)
            if recorder.experiment is not None and recorder.experiment.after_step():
                try:
                    return original(self, *args, **kwargs)
                except BaseException as error:
                    leave(error)
                    raise
            code = codes.get(id(self), unknown)
            recorder.quiet = not args and not kwargs  # with a closure, the closure's own forward and loss are told apart
            begin(code)
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            finally:
                end(code)
                recorder.quiet = False
                shared.steps += 1
                step_done()
                if shared.steps >= shared.next_look:
                    shared.after_step(self)

        hook = like(hidden(step), original)
        hook._unslow_step = True
        return hook

    def after_step(self, optimizer: Any) -> None:
        """The first steps leave facts, a few are inspected; called at the end of each step that ``next_look`` asks for.

        ``optimizer`` is None where the script has none: then a backward ends a step.
        """
        recorder = self.recorder
        try:
            count = self.steps or self.losses
            if count == 1:
                self.facts()
            if id(optimizer) in self.optimizers and count <= 8:
                self.optimizer_facts(optimizer)
            inspector = self.inspector
            if inspector is not None:
                inspector.after_step(count)
                self.looking = inspector.mode
            self.next_look = count + 1 if count < 8 or inspector is None else inspector.next_look(count)
        except Exception as problem:
            recorder.warn("after a step", problem)
            self.inspector = self.looking = None
            self.next_look = 1 << 62

    def facts(self) -> None:
        """What is true of the whole run, read once training is under way."""
        torch = self.torch
        record = self.recorder.fact
        record("threads", torch.get_num_threads())
        record("default_dtype", str(torch.get_default_dtype()))
        record("anomaly", torch.is_anomaly_enabled())
        record("deterministic", torch.are_deterministic_algorithms_enabled())

    def optimizer_facts(self, optimizer: Any) -> None:
        """Name, settings and parameters of an optimizer, once each."""
        code = self.optimizers[id(optimizer)]
        definition = self.recorder.definitions[code]
        if definition.get("told"):
            return
        definition["told"] = True
        groups = optimizer.param_groups
        parameters = [parameter for group in groups for parameter in group["params"]]
        told = (int, float, str, tuple, type(None))
        plain: dict[str, Any] = {key: value for key, value in groups[0].items() if isinstance(value, told)}
        self.recorder.fact(
            f"optimizer {definition['name']}",
            {
                "name": type(optimizer).__name__, "settings": plain, "tensors": len(parameters),
                "parameters": sum(parameter.numel() for parameter in parameters), "groups": len(groups),
                "dtype": sorted({str(parameter.dtype) for parameter in parameters}), "device": sorted({str(p.device) for p in parameters}),
                "sparse_gradients": any(getattr(parameter.grad, "is_sparse", False) for parameter in parameters),
            },
        )  # fmt: skip
