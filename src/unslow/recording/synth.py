"""Recordings from a few readable lines, on a clock that takes no time: for tests and for pages about causes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from unslow.recording.format import LaneWriter, read_lane
from unslow.recording.model import Lane, Recording, Run

MS = 1_000_000


def recording(
    text: str,
    *,
    wall: float | None = None,
    base: float = 0,
    pid: int = 1,
    others: dict[str, str] | None = None,
    header: dict[str, Any] | None = None,
    **run: Any,
) -> Recording:
    """A recording whose main thread did what ``text`` says. All times are milliseconds since the run began.

    One line an item, in the order of time; blank lines and what follows ``#`` count for nothing::

        10 script.begin                              a mark (any of the recording's events): loader.begin loader=1, no_grad.enter …
        20 clock time.time @train.py:12              the script read its clock
        20 60 data.fetch Data loader=1 @train.py:3   a span from 20 to 60; ``-`` as activity keeps the one around it
        20 ... forward Net                           a span that never ended
        59 part data.transform ToTensor 30 x64       of the span that is open at 59, 30 ms were 64 calls of this
        70 sample @train.py:12 @train.py:40          the sampler saw these lines, innermost first
        80 90 totals 0=4 forward:Net=6x3 steps=1     sums instead of spans, in ms; 0 is the time outside all spans
        95 fact threads=2
        99 trailer

    ``others``: further lanes, named ``worker 0``, ``thread NAME``, ``child PID`` or ``sampler``. ``wall``: the length of the run, default
    the last instant. ``run``: further fields of ``Run``.
    """
    writers = [_Script(text, {"pid": pid, "base": round(base * MS), **(header or {})})]
    for number, (name, lines) in enumerate((others or {}).items(), start=1):
        writers.append(_Script(lines, _header(name, pid, number, round(base * MS))))
    lanes = tuple(lane for writer in writers for lane in (writer.lane(), writer.sampler_lane()) if lane is not None)
    end = round(wall * MS) if wall is not None else max(writer.last for writer in writers)
    facts: dict[str, Any] = {
        "command": ("python", "train.py"),
        "exit_code": 0,
        "pid": pid,
        "script": None,
        "cwd": "/",
        "started": "2026-01-01T00:00:00",
    }
    return Recording(Run(start_ns=0, end_ns=end, **{**facts, **run}), lanes)


def _header(name: str, pid: int, number: int, base: int) -> dict[str, Any]:
    kind, _, rest = name.partition(" ")
    common = {"base": base, "lane": number, "pid": pid}
    if kind == "worker":
        return {**common, "role": "worker", "worker": int(rest), "pid": pid + 100 + number, "ppid": pid}
    if kind == "child":
        return {**common, "role": "child", "pid": int(rest), "ppid": pid, "argv": ["helper.py"]}
    return {**common, "thread": rest if kind == "thread" else kind}


class _Script:
    """Turns lines into the words of a stream."""

    def __init__(self, text: str, header: dict[str, Any]) -> None:
        self.header = header
        self.base = int(header["base"])
        self.writer = LaneWriter(**header)
        self.sampler: LaneWriter | None = None
        self.codes: dict[str, int] = {}
        self.open: list[tuple[int, int]] = []
        self.last = self.base
        self.stacks = 0
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if words:
                self.line(words)
        self.close(1 << 60)

    def line(self, words: list[str]) -> None:
        if words[1] == "part":
            self.close(self.time(words[0]))
            _, _, activity, name, ms, count = words
            self.writer.part(self.code("part", activity, [name]), round(float(ms) * MS), int(count.removeprefix("x")))
            return
        begin = self.time(words[0])
        self.close(begin)
        if words[1] == "...":
            self.writer.begin(self.code("span", words[2], words[3:]), begin)
        elif words[1][0].isdigit():
            end = self.time(words[1])
            if words[2] == "totals":
                self.totals(begin, end, words[3:])
            else:
                code = self.code("span", words[2], words[3:])
                self.writer.begin(code, begin)
                self.open.append((end, code))
        else:
            self.instant(begin, words[1], words[2:])

    def instant(self, time: int, kind: str, rest: list[str]) -> None:
        if kind == "sample":
            self.sample(time, rest)
        elif kind == "fact":
            name, _, value = rest[0].partition("=")
            self.writer.blob("fact", name=name, value=_value(value), t=time)
        elif kind == "trailer":
            self.writer.trailer(time)
        elif kind == "item":
            self.writer.blob(rest[0], **json.loads(" ".join(rest[1:])))
        else:
            name = rest[0] if kind == "clock" else kind
            extra = [word for word in rest if "=" in word or word.startswith("@")]
            self.writer.begin(self.code("mark", None, [name, f"event={kind}", *extra]), time)

    def totals(self, begin: int, end: int, words: list[str]) -> None:
        fields: dict[str, Any] = {"t0": begin, "t1": end, "parts": [], "eval": [], "steps": 0, "step_ns": []}
        for word in words:
            key, _, value = word.rpartition("=")
            if key == "steps":
                fields["steps"] = int(value)
                continue
            ms, _, count = value.partition("x")
            where = "eval" if key.startswith("eval/") else "parts"
            activity, _, name = key.removeprefix("eval/").partition(":")
            code = 0 if key == "0" else self.code("span", activity, [*name.split(",")])
            fields[where].append([code, round(float(ms) * MS), int(count or 0)])
        self.writer.blob("totals", **fields)

    def sample(self, time: int, sites: list[str]) -> None:
        if self.sampler is None:
            self.sampler = LaneWriter(**{**self.header, "thread": "sampler", "lane": 99})
        self.stacks += 1
        frames = [[*_site(site), "function"] for site in sites]
        self.sampler.blob("stack", id=self.stacks, frames=frames, leaf=frames[0] if frames else ["library.py", 1, "inner"])
        self.sampler.sample(time, self.stacks)

    def code(self, kind: str, activity: str | None, words: list[str]) -> int:
        """The code of this definition, defined the first time that it is asked for."""
        key = " ".join([kind, str(activity), *words])
        if key not in self.codes:
            self.codes[key] = code = 16 + len(self.codes)
            fields: dict[str, Any] = {}
            for word in words[1:]:
                if word.startswith("@"):
                    fields["file"], fields["line"] = _site(word)
                    fields["function"] = "function"
                else:
                    name, _, value = word.partition("=")
                    fields[name] = _value(value)
            self.writer.define(code, kind, words[0], None if activity == "-" else activity, **fields)
        return self.codes[key]

    def close(self, time: int) -> None:
        """End the spans that end by ``time``."""
        while self.open and self.open[-1][0] <= time:
            end, code = self.open.pop()
            self.writer.end(code, end)

    def time(self, word: str) -> int:
        """Milliseconds of the run as nanoseconds of the lane."""
        absolute = round(float(word) * MS)
        self.last = max(self.last, absolute)
        return absolute - self.base

    def lane(self) -> Lane:
        return decoded(self.writer)

    def sampler_lane(self) -> Lane | None:
        return decoded(self.sampler) if self.sampler is not None else None


def decoded(writer: LaneWriter, *, allow_problems: bool = False) -> Lane:
    """The lane of a stream, through the real reader: what tests see is what a file would give."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lane.unslow"
        writer.save(path)
        lane, problems = read_lane(path)
    assert lane is not None and (allow_problems or not problems), problems
    return lane


def _site(word: str) -> tuple[str, int]:
    file, _, line = word.removeprefix("@").rpartition(":")
    return file, int(line)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
