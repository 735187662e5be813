"""The account: the immutable document that says where every nanosecond of a run went (``account.json``, format 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Where:
    """A line of the user's own files and the time that was spent there, in nanoseconds."""

    file: str
    line: int
    function: str | None = None
    ns: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A named share of an activity (a module imported, a transform, a layer class), in nanoseconds."""

    name: str
    ns: int
    count: int


@dataclass(frozen=True, slots=True)
class Activity:
    """One row of the account: own time of the main thread under one name of the vocabulary."""

    name: str
    ns: int
    count: int
    where: tuple[Where, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Overlapped:
    """Work beside the main thread (a loader worker, another thread, a child process): never part of the sum."""

    name: str
    ns: int
    count: int
    process: str
    where: tuple[Where, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """The account between two reads of the script's own clock; ``ns`` is their sum where the pair of lines repeats."""

    label: str
    file_from: str
    line_from: int
    file_to: str
    line_to: int
    ns: int
    activities: tuple[Activity, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of the step-time distribution."""

    low_ns: int
    high_ns: int
    count: int


@dataclass(frozen=True, slots=True)
class Steps:
    """Training steps: how many, how long, and what marked one. ``median_ns`` is the steady step."""

    count: int
    epochs: int | None = None
    median_ns: int | None = None
    p10_ns: int | None = None
    p90_ns: int | None = None
    signal: str | None = None
    histogram: tuple[Bin, ...] = ()


@dataclass(frozen=True, slots=True)
class Floor:
    """What the arithmetic of one steady step needs on this machine at its measured rates."""

    flops: int
    bytes: int
    ns: int
    how: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measured figure that supports a finding."""

    text: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Gain:
    """A predicted speed-up, before over after, as an interval with its likely value."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True, slots=True)
class Fix:
    """The cure of a finding: ``safe``, ``unsafe`` or ``display``, with the sentence or diff that is shown."""

    id: str
    applicability: Literal["safe", "unsafe", "display"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, with its evidence, the user's line and the price of removing it."""

    cause: str
    title: str
    ns: int
    share: float
    confidence: float
    gain: Gain | None
    gain_step: Gain | None
    evidence: tuple[Evidence, ...]
    where: tuple[Where, ...]
    fix: Fix | None
    secondary: bool = False


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """Something this run could not say, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A slice of the run for the strip: the activity that held most of it. Times are since the start of the run."""

    start_ns: int
    end_ns: int
    activity: str


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank of a job and the folder that holds its own account."""

    rank: int
    host: str
    account: str


@dataclass(frozen=True, slots=True)
class Account:
    """Where every nanosecond went: ``sum(a.ns for a in activities) == wall_ns``, an equality."""

    command: tuple[str, ...] | None
    exit_code: int | None
    script: str | None
    source: Literal["run", "trace"]
    wall_ns: int
    activities: tuple[Activity, ...]
    steps: Steps
    overlapped: tuple[Overlapped, ...] = ()
    intervals: tuple[Interval, ...] = ()
    floor: Floor | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    healthy: bool | None = None
    not_measured: tuple[NotMeasured, ...] = ()
    strip: tuple[Segment, ...] = ()
    started: str | None = None
    ranks: tuple[Rank, ...] | None = None
    format: Literal[1] = FORMAT
