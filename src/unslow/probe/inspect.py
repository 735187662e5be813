"""Inspected steps: a few steps, early and late, under the framework's own dispatch mode, to see what spans cannot."""

from __future__ import annotations

from .recorder import Recorder, clock

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

# Which steps are looked at, counted by the end of the one before. Early enough for short scripts; the later ones see growth.
STEPS = (2, 30, 300, 3000)
MAX_OPERATORS = 20_000
MAX_NS = 400_000_000
BUDGET_SHARE = 0.005


class Inspector:
    """Switches the inspecting mode on at the end of one step and off at the end of the next."""

    def __init__(self, recorder: Recorder, torch: Any) -> None:
        self.recorder = recorder
        self.torch = torch
        self.mode: Any = None
        self.started = clock()
        self.spent = 0
        self.last_step = 0
        self.away = False
        processes = recorder.context["processes"]
        processes.before.append(self.put_away)
        processes.after.append(self.take_up)
        processes.in_child.append(self.forked)

    def after_step(self, count: int) -> None:
        """Called at the end of step ``count`` (1-based)."""
        if self.mode is not None:
            self.finish(count)
        elif count in STEPS and self.allowed():
            self.begin(count)

    def next_look(self, count: int) -> int:
        """The number of the next step after which ``after_step`` wants to be called."""
        if self.mode is not None:
            return count + 1
        return next((step for step in STEPS if step > count), 1 << 62)

    def allowed(self) -> bool:
        """Not while a program is being compiled or has been, and not where others use dispatch modes."""
        import sys

        if "torch._dynamo.eval_frame" in sys.modules and self.recorder.context["torch"].compiled:
            return False
        python_dispatch = sys.modules.get("torch.utils._python_dispatch")
        stack = getattr(python_dispatch, "_get_current_dispatch_mode_stack", None)
        return stack is not None and not stack()

    def begin(self, count: int) -> None:
        """Push the mode."""
        from .inspect_mode import make_mode

        mode = make_mode(self.torch, MAX_OPERATORS, MAX_NS, self.recorder.context["torch"].phase)
        mode.__enter__()
        mode.step = count + 1
        mode.t0 = clock()
        self.mode = mode

    def finish(self, count: int) -> None:
        """Pop the mode and write what it saw."""
        mode = self.mode
        if mode is None:
            return
        now = clock()
        if not self.leave():
            return
        base = self.recorder.time_base()
        self.recorder.blob(
            {
                "k": "inspected", "step": mode.step, "t0": mode.t0 - base, "t1": now - base, "ops": mode.operators(),
                "distinct_bytes": mode.distinct_bytes(), "truncated": mode.truncated, "seen": mode.seen(),
                "cost_ns": mode.cost_ns, "operator_ns": mode.operator_ns,
            }
        )  # fmt: skip

    def put_away(self) -> None:
        """Before a fork: a child must not inherit the mode."""
        mode = self.mode
        if mode is not None and self.leave():
            self.mode = mode
            self.away = True

    def take_up(self) -> None:
        """After the fork, in the parent: go on looking."""
        if self.away:
            self.away = False
            self.mode.off = False
            self.mode.__enter__()

    def forked(self) -> None:
        """In the child: nothing is being looked at."""
        self.away = False
        self.mode = None
        hooks = self.recorder.context.get("torch")
        if hooks is not None:
            hooks.looking = None

    def leave(self) -> bool:
        """Take the mode off the stack if it is on top; else it stays there and only passes calls on."""
        mode = self.mode
        if mode is None:
            return False
        import sys

        stack = sys.modules["torch.utils._python_dispatch"]._get_current_dispatch_mode_stack()
        mode.off = True
        if not stack or stack[-1] is not mode:
            return False
        self.mode = None
        mode.__exit__(None, None, None)
        return True
