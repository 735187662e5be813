"""Measures the probe itself: hooks off and on at random in blocks of steps, inside one run (``UNSLOW_EXPERIMENT=switch:200:1``).

A fourth part names what is switched, where only some is to be: ``switch:200:1:backward,sampler``.
"""

from __future__ import annotations

import time

from .hooks import redo
from .recorder import Recorder, clock

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any


class Switch:
    """At the end of every block, marks the block's wall and CPU time and decides by a coin of its own what comes next."""

    def __init__(self, recorder: Recorder, block: int, seed: int, only: str = "") -> None:
        self.recorder = recorder
        self.only = only.split(",") if only else None
        self.block = block
        self.state = seed * 2654435761 % (1 << 32) or 1
        self.undone: list[Any] = []
        self.on = True
        self.count = 0
        self.wall = clock()
        self.cpu = time.thread_time_ns()

    def after_step(self) -> bool:
        """Called by the hook of ``step``, which stays in as the counter; true: go straight through, the hooks are out."""
        self.count += 1
        if self.count % self.block:
            return not self.on
        wall, cpu = clock(), time.thread_time_ns()
        self.recorder.blob(
            {
                "k": "fact",
                "name": "block",
                "value": {"on": self.on, "wall_ns": wall - self.wall, "cpu_ns": cpu - self.cpu, "steps": self.block},
                "t": wall,
            }
        )
        self.state = (1103515245 * self.state + 12345) % (1 << 31)
        wanted = bool(self.state >> 16 & 1)
        if wanted != self.on:
            self.turn(wanted)
        self.wall, self.cpu = clock(), time.thread_time_ns()
        return not self.on

    def turn(self, on: bool) -> None:
        """All hooks in or out, but for the one on ``step``, which counts; the sampler with them."""
        sampler = self.recorder.context["sampler"]
        if on:
            for undone in self.undone:
                redo(undone)
            self.undone = []
            if self.switched("sampler"):
                sampler.start()
        else:
            for patches in self.recorder.patches:
                undone = patches.undo()
                redo([entry for entry in undone if not self.switched(entry[1])])
                self.undone.append([entry for entry in undone if self.switched(entry[1])])
            if self.switched("sampler"):
                sampler.stop()
        self.on = on

    def switched(self, name: str) -> bool:
        """Whether the hook of this name goes out and in; ``step`` stays, as the counter."""
        return name != "step" and (self.only is None or name in self.only)
