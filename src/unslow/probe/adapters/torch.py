"""Adapter for PyTorch: forward, losses, backward, optimizers, moving tensors, evaluation, compilation, saving."""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from _weakref import ref
from types import CodeType, FunctionType

from .. import files
from ..hooks import Patches, hidden, leave, like, on_hidden, part_function, redo, span_function
from ..recorder import Recorder, clock
from . import torch_data
from .torch_data import fetching, holds_others, note_part

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

MODULE = "torch"
VERSIONS = ((2, 4), (3, 0))
CAPABILITIES = (
    "forward",
    "loss",
    "backward",
    "optimizer",
    "zero_grad",
    "transfer",
    "evaluation",
    "compile",
    "checkpoint",
    "settings",
    "inspect",
)

LOSSES = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "ctc_loss", "poisson_nll_loss", "gaussian_nll_loss", "margin_ranking_loss",
    "hinge_embedding_loss", "multilabel_margin_loss", "soft_margin_loss", "multilabel_soft_margin_loss", "cosine_embedding_loss",
    "multi_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss", "linear_cross_entropy",
)  # fmt: skip
TO_HOST = ("item", "tolist", "cpu", "numpy")
# Without an accelerator nothing moves, and a hook here would show: torch warns about some of these from C, naming the frame that called.
TO_HOST_IMPLICITLY = ("__array__", "__float__", "__int__", "__bool__", "__index__")
MOVES = ("to", "cuda")
# Calls that change how everything after them runs: kept as facts with the user's line.
SETTINGS = (
    ("torch", "set_num_threads"), ("torch", "set_num_interop_threads"), ("torch", "set_flush_denormal"), ("torch", "set_default_dtype"),
    ("torch", "use_deterministic_algorithms"), ("torch", "set_float32_matmul_precision"),
)  # fmt: skip

_patches: Patches | None = None


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


class Torch:
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

    # Modules ----------------------------------------------------------------------------------------------------------------

    def module_call(self, original: Any) -> Any:
        """``Module.__call__``: a span for the outermost module, a part of the batch for a transform that is a module."""
        shared, recorder = self, self.recorder
        begin, end, ident, tracing = recorder.begin, recorder.end, get_ident, self.tracing
        grad_enabled = self.torch._C.is_grad_enabled if hasattr(self.torch._C, "is_grad_enabled") else self.torch.is_grad_enabled
        codes: dict[Any, int] = {}
        loss_codes = self.loss_codes
        part_codes: dict[int, int] = {}
        tracing_state = getattr(self.torch._C, "_get_tracing_state", None)
        functorch = getattr(getattr(self.torch._C, "_functorch", None), "peek_interpreter_stack", None)

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            if tracing():
                return original(self, *args, **kwargs)
            me = ident()
            try:
                if shared.owner == me:
                    return original(self, *args, **kwargs)
                if shared.owner == -me:  # as above, in a step that is being inspected
                    shared.note_module(self, args)
                    return original(self, *args, **kwargs)
                if fetching.thread == me:
                    if fetching.inside or not fetching.look:
                        return original(self, *args, **kwargs)
                    if holds_others(self):
                        return original(self, *args, **kwargs)
                    code = part_codes.get(id(type(self)))
                    if code is None:
                        forget_with(type(self), part_codes, id(type(self)))
                        code = part_codes[id(type(self))] = recorder.define("part", "data.transform", type(self).__name__)
                    fetching.inside = True
                    started, inner = clock(), recorder.inner_ns
                    try:
                        return original(self, *args, **kwargs)
                    finally:
                        note_part(recorder, code, started, inner)
                        fetching.inside = False
                if (tracing_state is not None and tracing_state() is not None) or (functorch is not None and functorch() is not None):
                    return original(self, *args, **kwargs)
                if shared.owner:  # another thread is inside: only one is followed
                    return original(self, *args, **kwargs)
                key = (id(type(self)), self.__dict__.get("training"), grad_enabled())
                code = codes.get(key)
                if code is None:
                    return shared.first_call(codes, key, original, self, args, kwargs)
                if shared.fingerprints.open and key[2] and code not in loss_codes:
                    shared.fingerprints.note(shared.steps or shared.losses, self, args)
                if shared.looking is None:
                    shared.owner = me
                else:
                    shared.owner = -me
                    shared.note_module(self, args, outermost=True)
                recorder.quiet = code in loss_codes
                begin(code)
                try:
                    return original(self, *args, **kwargs)
                finally:
                    end(code)
                    recorder.quiet = False
                    shared.owner = 0
            except BaseException as error:
                leave(error)
                raise

        return like(hidden(__call__), original)

    def first_call(self, codes: Any, key: Any, original: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """The first call of a kind of module: make its code, and look at what came out to tell a loss from a forward."""
        _, training, grad = key
        cls = type(module)
        forget_with(cls, codes, key)
        base = getattr(self.torch.nn.modules.loss, "_Loss", ())
        activity = "loss" if isinstance(module, base) else "forward"
        if any(parent.__module__.startswith("torchmetrics.") for parent in cls.__mro__):
            activity = "metrics"
        code = codes[key] = self.recorder.define("span", activity, cls.__name__, files.site(2), grad=grad, training=bool(training))
        if activity == "loss":
            self.loss_codes.add(code)
        self.owner = get_ident()
        self.recorder.begin(code)
        try:
            result = original(module, *args, **kwargs)
        except BaseException as error:
            leave(error)
            raise
        finally:
            self.recorder.end(code)
            self.owner = 0
        try:
            # Nothing to learn and one number out: that is what a loss is, whatever it is called.
            if (
                activity == "forward"
                and isinstance(result, self.torch.Tensor)
                and result.dim() == 0
                and next(module.parameters(), None) is None
            ):
                self.recorder.redefine(code, activity="loss")
                self.loss_codes.add(code)
        except Exception as problem:
            self.recorder.warn("kind of module", problem)
        return result

    def note_module(self, module: Any, args: tuple[Any, ...], outermost: bool = False) -> None:
        """In an inspected step: which modules are called how often, with what."""
        mode = self.looking
        if mode is not None:
            try:
                mode.note_module(module, args, outermost)
            except Exception as problem:
                self.looking = None
                self.recorder.warn("calls of modules", problem)

    # Losses, gradients ------------------------------------------------------------------------------------------------------

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

    # Tensors ----------------------------------------------------------------------------------------------------------------

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

    # Evaluation -------------------------------------------------------------------------------------------------------------

    def region(self, event: str) -> Any:
        """``no_grad.__enter__`` and the like leave a mark; the account finds the regions."""

        def make(original: Any) -> Any:
            mark, tracing = self.recorder.mark, self.tracing
            code = self.recorder.define("mark", None, event, event=event)

            def boundary(self: Any, *args: Any, **kwargs: Any) -> Any:
                if tracing():
                    return original(self, *args, **kwargs)
                mark(code)
                try:
                    return original(self, *args, **kwargs)
                except BaseException as error:
                    leave(error)
                    raise

            return like(hidden(boundary), original)

        return make

    def train_mode(self, original: Any) -> Any:
        """``Module.train`` (and ``eval``, which calls it): a mark, once for a whole tree of modules."""
        mark, tracing, inside = self.recorder.mark, self.tracing, [False]
        codes = [self.recorder.define("mark", None, name, event=name) for name in ("model.eval", "model.train")]

        def train(self: Any, mode: Any = True) -> Any:
            if tracing():
                return original(self, mode)
            outermost = not inside[0]
            if outermost:
                mark(codes[bool(mode)])
                inside[0] = True
            try:
                return original(self, mode)
            except BaseException as error:
                leave(error)
                raise
            finally:
                if outermost:
                    inside[0] = False

        return like(hidden(train), original)

    # Settings and compilation -----------------------------------------------------------------------------------------------

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


hidden(Torch.first_call)  # it stands between a module and its caller, as the hook does


def seen_through(hook: Any, original: Any) -> Any:
    """Both TorchScript and Dynamo know this pair of names and go straight to the original."""
    hook.__script_if_tracing_wrapper = True
    hook.__original_fn = original
    return hook


def forget_with(cls: type, codes: dict[Any, int], key: Any) -> None:
    """Drop the entry when the class goes: a class kept alive by us would end later than it does without."""
    _watched.append(ref(cls, lambda _: codes.pop(key, None)))


_watched: list[Any] = []


def install(recorder: Recorder, torch: Any) -> None:
    """Hook this torch; outside the known range nothing is hooked and the script runs as it is."""
    global _patches
    version = _version(torch)
    recorder.fact("framework", "torch")
    recorder.fact("torch", str(getattr(torch, "__version__", "?")))
    if not VERSIONS[0] <= version < VERSIONS[1]:
        recorder.not_measured(
            "torch",
            f"version {getattr(torch, '__version__', '?')} is outside {VERSIONS[0][0]}.{VERSIONS[0][1]} to {VERSIONS[1][0]}",
        )
        return
    patches = _patches = Patches(recorder)
    hooks = Torch(recorder, torch, patches)
    recorder.context["torch"] = hooks
    tensor, nn = torch.Tensor, torch.nn
    hooks.plain_item = tensor.item
    patches.replace(nn.Module, "__call__", hooks.module_call)
    patches.replace(nn.Module, "train", hooks.train_mode)
    patches.replace(nn.Module, "zero_grad", hooks.traced_function("zero_grad", "Module.zero_grad"))
    for name in LOSSES:
        if hasattr(nn.functional, name):
            patches.replace(nn.functional, name, hooks.loss_function(name))
    autograd = torch.autograd
    patches.replace(autograd, "backward", hooks.backward)
    patches.replace(autograd, "grad", hooks.traced_function("backward", "autograd.grad"))
    optimizer = torch.optim.Optimizer
    patches.replace(optimizer, "__init__", hooks.optimizer_init)
    patches.replace(optimizer, "zero_grad", hooks.traced_function("zero_grad", "zero_grad"))
    clip = torch.nn.utils
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        patches.replace(clip, name, hooks.traced_function("optimizer", name))
    scheduler = getattr(torch.optim.lr_scheduler, "LRScheduler", None)
    if scheduler is not None:
        patches.replace(scheduler, "step", hooks.traced_function("optimizer", "learning-rate schedule"))
    accelerator = accelerator_visible()
    for name in (*TO_HOST, *TO_HOST_IMPLICITLY) if accelerator else TO_HOST:
        patches.replace(tensor, name, hooks.to_host(name))
    for name in MOVES if accelerator else ():
        patches.replace(tensor, name, hooks.to_device(name))
    for cls, label in ((torch.no_grad, "no_grad"), (torch.inference_mode, "no_grad")):
        patches.replace(cls, "__enter__", hooks.region(f"{label}.enter"))
        patches.replace(cls, "__exit__", hooks.region(f"{label}.exit"))
    patches.replace(torch, "save", lambda original: span_function(recorder, original, recorder.define("span", "checkpoint", "torch.save")))
    reading = recorder.define("span", None, "read torch file", None, otherwise="data.fetch", setup=True)
    patches.replace(torch, "load", lambda original: part_function(recorder, original, reading, True))
    for name in ("trace", "trace_module"):
        patches.replace(torch.jit, name, hooks.traced_entry)
    for module_name, name in SETTINGS:
        module = sys.modules[module_name]
        if hasattr(module, name):
            patches.replace(module, name, hooks.setting(name))
    patches.replace(autograd.set_detect_anomaly, "__init__", hooks.setting("set_detect_anomaly"))
    patches.replace(autograd.detect_anomaly, "__init__", hooks.setting("detect_anomaly"))
    imports = recorder.context["imports"]
    imports.when("torch._dynamo.convert_frame", lambda module: patches.replace(module, "_compile", hooks.compile_frame))
    imports.when(
        "torch._dynamo.callback",
        lambda module: patches.replace(module.CompilationCallbackHandler, "install_callbacks", hooks.lazy_compile),
    )
    imports.when("torch._dynamo.eval_frame", lambda module: skip_own_frames(recorder, module))
    torch_data.install(recorder, torch.utils.data)
    recorder.at_finish.append(lambda: _last_facts(recorder, hooks))
    from ..inspect import Inspector

    hooks.inspector = Inspector(recorder, torch)


def accelerator_visible() -> bool:
    """Whether there is a device beside the processor; asks no driver, so that none is started."""
    if sys.platform == "darwin":
        return True
    try:
        devices = os.listdir("/dev")
    except OSError:
        return False
    return any(name == "kfd" or (name.startswith("nvidia") and name[6:].isdigit()) or name == "dxg" for name in devices)


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


def uninstall() -> None:
    """Put everything back."""
    torch_data.uninstall()
    if _patches is not None:
        _patches.undo()


def _last_facts(recorder: Recorder, hooks: Torch) -> None:
    """What is known only at the end."""
    if hooks.fingerprints.open:
        hooks.fingerprints.close()
    recorder.fact("forward_backward", {"backwards": hooks.losses, "steps": hooks.steps})
    if hooks.losses and hooks.first_loss is not None:
        recorder.fact("loss_first", hooks.first_loss)
        recorder.fact("loss_last", hooks.last_loss)


def _version(torch: Any) -> tuple[int, int]:
    numbers = str(getattr(torch, "__version__", "0.0")).split(".")
    try:
        return int(numbers[0]), int(numbers[1])
    except (ValueError, IndexError):
        return 0, 0
