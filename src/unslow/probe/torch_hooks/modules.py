"""Modules: forward, losses that are modules, transforms that are modules; where evaluation begins and ends."""

from __future__ import annotations

from _thread import get_ident

from .. import files
from ..adapters.torch_data import holds_others, note_part
from ..hooks import hidden, leave, like
from ..recorder import clock
from .samples import fetching
from .shared import Shared, forget_with

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any


class ModuleHooks(Shared):
    """``Module.__call__``, ``train``, ``eval``, ``no_grad``."""

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


hidden(ModuleHooks.first_call)  # it stands between a module and its caller, as the hook does
