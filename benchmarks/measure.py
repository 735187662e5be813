"""Small parts shared by the benchmarks: timed runs in interleaved order, and exact intervals for a median."""

from __future__ import annotations

import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SCRIPTS = Path(__file__).resolve().parent / "scripts"

# The regression's tensors are far below the size at which torch splits an operator over threads: a second thread computes nothing
# there, but it wakes up beside whatever else the machine does and makes the figures useless.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Timed:
    """One finished run: wall seconds of the started process, seconds that the script printed as ``elapsed``, and the run folder."""

    wall: float
    elapsed: float | None
    stdout: str
    start_ns: int
    end_ns: int
    folder: Path | None = None

    def document(self, name: str) -> dict[str, Any]:
        assert self.folder is not None
        found: dict[str, Any] = json.loads((self.folder / name).read_text())
        return found


def timed(command: Sequence[str], *, folder: Path | None = None, cwd: Path = ROOT, **variables: str) -> Timed:
    """Run a command to its end; the clock is CLOCK_MONOTONIC, the one in ``run.json``."""
    environment = dict(os.environ, **variables)
    start_ns = time.perf_counter_ns()
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    end_ns = time.perf_counter_ns()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    found = re.search(r"^elapsed ([\d.]+)", done.stdout, flags=re.MULTILINE)
    return Timed((end_ns - start_ns) / 1e9, float(found[1]) if found else None, done.stdout, start_ns, end_ns, folder)


def plain(*arguments: str, **variables: str) -> Timed:
    """``python ARGUMENTS``."""
    return timed([sys.executable, *arguments], **variables)


def under(*arguments: str, cwd: Path = ROOT, **variables: str) -> Timed:
    """``unslow run ARGUMENTS``, its folder kept for the length of this process."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=scratch())) / "run"
    command = [sys.executable, "-m", "unslow", "run", "--quiet", "--python", sys.executable, "--out", str(folder), *arguments]
    return timed(command, folder=folder, cwd=cwd, **variables)


_scratch: list[tempfile.TemporaryDirectory[str]] = []


def scratch() -> str:
    """A folder that goes away with this process."""
    if not _scratch:
        _scratch.append(tempfile.TemporaryDirectory(prefix="unslow-bench-"))
    return _scratch[0].name


def interleaved(ways: dict[str, Callable[[], Timed]], rounds: int, *, seed: int = 1, warm_up: bool = True) -> dict[str, list[Timed]]:
    """Run each way once a round, in an order drawn anew for each, so that a drift of the machine meets all alike."""
    draw = random.Random(seed)
    found: dict[str, list[Timed]] = {name: [] for name in ways}
    for number in range(-1 if warm_up else 0, rounds):
        for name in draw.sample(list(ways), len(ways)):
            result = ways[name]()
            if number >= 0:
                found[name].append(result)
    return found


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with an interval that holds the true median with at least ``coverage``, whatever the distribution."""

    low: float
    median: float
    high: float
    coverage: float
    count: int

    def text(self, form: str = "{:.3f}") -> str:
        low, median, high = (form.format(value) for value in (self.low, self.median, self.high))
        return f"{median} [{low}, {high}] ({100 * self.coverage:.1f} %, n={self.count})"


def median_interval(values: Sequence[float], coverage: float = 0.95) -> Interval:
    """The narrowest pair of order statistics, equally far from both ends, that covers the median with this probability.

    With ``k`` values cut off at each end the interval misses the median with probability ``2 * P(Binomial(n, 1/2) < k + 1)``;
    where even the whole range covers less (fewer than 6 values for 95 %), the whole range is given with the coverage that it has.
    """
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        raise ValueError("no values: an interval needs at least one")

    def covered(cut: int) -> float:
        return 1 - 2 * sum(math.comb(count, below) for below in range(cut + 1)) / 2**count

    cut = 0
    while 2 * (cut + 1) < count and covered(cut + 1) >= coverage:
        cut += 1
    return Interval(ordered[cut], statistics.median(ordered), ordered[count - 1 - cut], max(covered(cut), 0.0), count)


def ratio_interval(above: Sequence[float], below: Sequence[float]) -> Interval:
    """The median of ratios of values that belong together by their order."""
    return median_interval([a / b for a, b in zip(above, below, strict=False)])


def verdict(interval: Interval, *, met_below: float, failed_above: float) -> str:
    """``met``: the whole interval ends at or below the one limit; ``failed``: it starts above the other; else ``undecided``."""
    if interval.coverage < 0.95:
        return "undecided (too few pairs)"
    if interval.high <= met_below:
        return "met"
    return "failed" if interval.low > failed_above else "undecided"
