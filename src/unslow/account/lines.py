"""The user's lines: which line of the script each activity's time belongs to."""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np

from unslow.account.model import Where
from unslow.account.sweep import ROWS, Timeline
from unslow.recording.model import IntArray, Lane, Recording

MAX_LINES = 10
FEW_SAMPLES = 5
"""With fewer samples than this, the line of the call itself, where the definition has it, says more."""

Line = tuple[str, int, str | None]


@lru_cache(maxsize=4096)
def resolved(file: str, folder: str) -> str:
    """The absolute path of a file of the run; what is no file (``<string>``) stays as it is."""
    return file if file.startswith("<") else os.path.realpath(os.path.join(folder, file))


def lines(recording: Recording, lane: Lane, timeline: Timeline) -> dict[str, tuple[Where, ...]]:
    """For each row of the account its lines, the longest first; together never more than the row itself."""
    cwd = recording.run.cwd
    net = timeline.end - timeline.start - timeline.cost
    codes = max(timeline.definitions, default=0) + 1
    exact = np.bincount(timeline.activity * codes + timeline.code, weights=net, minlength=len(ROWS) * codes).astype(np.int64)

    sampled: dict[int, dict[Line, int]] = {}
    number: dict[int, int] = {}
    for key, line, ns in _samples(recording, lane, timeline, codes):
        entry = sampled.setdefault(key, {})
        entry[line] = entry.get(line, 0) + ns
        number[key] = number.get(key, 0) + 1

    rows: dict[str, dict[Line, int]] = {}
    for key in {*np.flatnonzero(exact).tolist(), *sampled}:
        code, ns = key % codes, int(exact[key])
        definition = timeline.definitions.get(code)
        # An optimizer's site is where it was made, not where it steps.
        sited = definition is not None and definition.file and definition.line and not definition.attributes.get("step")
        if definition is not None and sited and number.get(key, 0) < FEW_SAMPLES:
            found = {(str(definition.file), int(definition.line or 0), definition.function): ns}
        else:
            found = _scaled(sampled.get(key, {}), ns)
        row = rows.setdefault(ROWS[key // codes], {})
        for (file, at, function), part in found.items():
            line = (resolved(file, cwd), at, function)
            row[line] = row.get(line, 0) + part
    return {name: top(row) for name, row in rows.items() if row}


def top(row: dict[Line, int]) -> tuple[Where, ...]:
    """The lines with the most time, at most ``MAX_LINES``."""
    best = sorted(row.items(), key=lambda item: (-item[1], item[0][0], item[0][1]))[:MAX_LINES]
    return tuple(Where(file, line, function, ns) for (file, line, function), ns in best if ns > 0)


def _scaled(found: dict[Line, int], ns: int) -> dict[Line, int]:
    """Samples stand for the time since the one before: scaled down where that is more than there was."""
    total = sum(found.values())
    return found if total <= ns else {line: part * ns // total for line, part in found.items()}


def weights(sampler: Lane, base: int) -> IntArray:
    """The time since the sample before, for each sample; since the sampler's start for the first."""
    return np.maximum(np.diff(np.concatenate([[base], sampler.sample_time])), 0)


def _samples(recording: Recording, lane: Lane, timeline: Timeline, codes: int) -> list[tuple[int, Line, int]]:
    """Each sample with user frames as ``(row and code, line, ns)``."""
    found: list[tuple[int, Line, int]] = []
    last_row: dict[int, int] = {}
    if lane.totals:
        seen, place = np.unique(timeline.code[::-1], return_index=True)
        last_row = dict(zip(seen.tolist(), timeline.activity[::-1][place].tolist(), strict=True))
    for sampler in recording.lanes:
        if sampler.pid != lane.pid or not len(sampler.sample_time):
            continue
        place = np.clip(np.searchsorted(timeline.start, sampler.sample_time, side="right") - 1, 0, len(timeline.start) - 1)
        row, code = timeline.activity[place].tolist(), timeline.code[place].tolist()
        # ``<string>`` is code that a library made up, except where the script itself came with ``-c``.
        nameless = recording.run.script is None
        user_line = {
            number: next((frame for frame in one.frames if frame[1] and (nameless or not frame[0].startswith("<"))), None)
            for number, one in sampler.stacks.items()
        }
        started = int(sampler.header["base"])
        for i, (stack, own, ns) in enumerate(
            zip(sampler.sample_stack.tolist(), sampler.sample_code.tolist(), weights(sampler, started).tolist(), strict=True)
        ):
            line = user_line.get(stack)
            if line is None:
                continue
            here_row, here_code = row[i], code[i]
            if own and own in last_row:
                # Inside a window of totals the order of the pieces is made up; the sampler knew the span.
                here_row, here_code = last_row[own], own
            found.append((here_row * codes + here_code, line, ns))
    return found
