"""A recording: what the probe wrote in every process of a run, decoded, on one clock, and never changed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Definition:
    """What a code stands for. ``kind`` is ``span``, ``mark`` or ``part``; the rest as in ``docs/formats/recording.md``."""

    code: int
    kind: str
    activity: str | None
    name: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stack:
    """The user's frames of a sample, innermost first, and the innermost frame of any file: ``(file, line, function)``."""

    frames: tuple[tuple[str, int, str], ...]
    leaf: tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class Lane:
    """One thread of one process. Times are absolute nanoseconds of ``CLOCK_MONOTONIC``; arrays have one row an event.

    ``event_time``, ``event_code``, ``event_end`` (1: end of span, 0: begin or mark): shape (events,).
    ``part_event`` (index of the event before which the part stands), ``part_ns``, ``part_count``, ``part_code``: shape (parts,).
    ``sample_time``, ``sample_stack``, ``sample_code``: shape (samples,).
    ``last_time`` is the last instant seen; ``ended`` is the trailer's time or None where the process ended abruptly.
    Spans nest and are all closed: the last ``unclosed`` events are ends added by the reader, at ``last_time``, innermost first.
    """

    header: dict[str, Any]
    definitions: dict[int, Definition]
    event_time: IntArray
    event_code: IntArray
    event_end: IntArray
    part_event: IntArray
    part_ns: IntArray
    part_count: IntArray
    part_code: IntArray
    sample_time: IntArray
    sample_stack: IntArray
    sample_code: IntArray
    stacks: dict[int, Stack]
    totals: tuple[dict[str, Any], ...]
    inspected: tuple[dict[str, Any], ...]
    facts: tuple[dict[str, Any], ...]
    not_measured: tuple[dict[str, Any], ...]
    warnings: tuple[dict[str, Any], ...]
    last_time: int
    ended: int | None
    unclosed: int = 0

    @property
    def pid(self) -> int:
        """Process id on its host."""
        return int(self.header["pid"])

    @property
    def role(self) -> str:
        """``main``, ``worker`` or ``child``."""
        return str(self.header["role"])

    @property
    def thread(self) -> str:
        """``main``, ``sampler`` or the name of a thread."""
        return str(self.header["thread"])


@dataclass(frozen=True, slots=True)
class Run:
    """What the supervisor knows (``run.json``): times are absolute nanoseconds of ``CLOCK_MONOTONIC``."""

    command: tuple[str, ...]
    exit_code: int
    pid: int
    start_ns: int
    end_ns: int
    script: str | None
    cwd: str
    started: str
    user_ns: int = 0
    system_ns: int = 0
    max_rss_bytes: int = 0
    machine: dict[str, Any] = field(default_factory=dict)
    rates: dict[str, Any] | None = None
    watched: tuple[tuple[int, int, int, int], ...] = ()  # time, busy ns of all cores, CPU ns of the script, pages swapped in
    messages: tuple[str, ...] = ()
    python: str | None = None
    unslow: str | None = None
    name: str | None = None
    format: int = 1

    @property
    def wall_ns(self) -> int:
        """From the spawn of the interpreter to the reaped exit."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything known about one run: the supervisor's facts and every lane that could be read."""

    run: Run
    lanes: tuple[Lane, ...]
    problems: tuple[str, ...] = ()
