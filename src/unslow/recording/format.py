"""The recording stream, version 1: reading one file into a lane, writing one, and saying it in text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from unslow.errors import UnslowError
from unslow.recording.model import Definition, IntArray, Lane, Stack
from unslow.recording.nesting import is_nested, nest, open_spans, repair

VERSION = 1
MAGIC = b"UNSLOW0"
BLOB, PART, SAMPLE = 1, 2, 3
FIRST_CODE, LAST_CODE = 16, 0x7FFF
END = 0x8000

_DEFINED = ("code", "kind", "activity", "name", "file", "line", "function", "k")
_HEADER = {"format": VERSION, "pid": 0, "ppid": 0, "host": "", "base": 0, "role": "main", "thread": "main", "lane": 0}

_LISTS = ("totals", "inspected", "fact", "not_measured", "warning")

Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]


@dataclass(slots=True)
class _Blobs:
    """What the JSON items of one file say, by kind."""

    header: dict[str, Any] | None = None
    definitions: dict[int, Definition] = field(default_factory=dict)
    stacks: dict[int, Stack] = field(default_factory=dict)
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {kind: [] for kind in _LISTS})
    ended: int | None = None


def read_lane(path: Path) -> tuple[Lane | None, tuple[str, ...]]:
    """Decode one file: its lane (None where there is no header) and what was wrong with it.

    Raises UnslowError only for a version that this program does not know.
    """
    problems: list[str] = []
    words = _written(path, problems)
    if words is None:
        return None, tuple(problems)
    blobs = _Blobs()
    rest = _take_blobs(words, blobs, path.name, problems)
    if blobs.header is None:
        problems.append(f"{path.name}: no header")
        return None, tuple(problems)
    return _lane(rest, blobs, path.name, problems), tuple(problems)


def _written(path: Path, problems: list[str]) -> Words | None:
    """The words after the magic, up to the first zero; None where the file is not a recording."""
    try:
        with path.open("rb") as file:
            head = file.read(8)
            if head[:7] != MAGIC:
                if head.strip(b"\0"):
                    problems.append(f"{path.name}: not a recording")
                else:
                    problems.append(f"{path.name}: empty, the process ended before it could record")
                return None
            if len(head) < 8 or head[7] != VERSION:
                version = head[7] if len(head) == 8 else "none"
                raise UnslowError(
                    "recording-version",
                    f"{path} is a recording of version {version}",
                    f"version {VERSION}, the only one that this unslow reads",
                    "read it with the unslow that wrote it, or record the script again: unslow run SCRIPT",
                )
            data: Words = np.fromfile(file, dtype="<u8")
    except OSError as problem:
        problems.append(f"{path.name}: {problem.strerror or problem}")
        return None
    zero = np.flatnonzero(data == 0)
    written: Words = data[: zero[0]] if len(zero) else data
    return written


def used_bytes(path: Path) -> int:
    """How much of a file was written: the rest is room that was allocated ahead. Raises OSError."""
    data = np.fromfile(path, dtype="<u8")
    zero = np.flatnonzero(data == 0)
    return 8 * int(zero[0]) if len(zero) else path.stat().st_size


def _take_blobs(words: Words, blobs: _Blobs, name: str, problems: list[str]) -> Words:
    """Read the JSON items and return the other words. A payload never looks like a blob head once its head has been seen."""
    payload = np.zeros(len(words) + 1, dtype=np.int8)
    next_free = 0
    for position in np.flatnonzero((words & np.uint64(0xFFFF)) == BLOB).tolist():
        if position < next_free:
            continue
        length = int(words[position]) >> 16
        stop = position + 1 + (length + 7) // 8
        if stop > len(words):
            problems.append(f"{name}: torn item at word {position}")
            keep: Words = words[:position][payload[:position].cumsum() == 0]
            return keep
        if length:
            try:
                item = _item(words[position + 1 : stop].tobytes()[:length])
                _keep(item, blobs)
            except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError, UnicodeDecodeError) as problem:
                problems.append(f"{name}: unreadable item at word {position}: {type(problem).__name__}")
        payload[position] += 1
        payload[stop] -= 1
        next_free = stop
    rest: Words = words[payload[:-1].cumsum() == 0]
    return rest


def _item(payload: bytes) -> Any:
    """One JSON item. A byte of an argument or path that is no UTF-8 was written as half a surrogate pair: it becomes a question mark."""
    try:
        return msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return msgspec.json.decode(json.dumps(json.loads(payload), ensure_ascii=False).encode("utf-8", "replace"))


def _keep(item: dict[str, Any], blobs: _Blobs) -> None:
    kind = item["k"]
    if kind == "def":
        attributes = {key: value for key, value in item.items() if key not in _DEFINED}
        code = int(item["code"])
        blobs.definitions[code] = Definition(
            code=code, kind=str(item["kind"]), activity=item.get("activity"), name=str(item["name"]), file=item.get("file"),
            line=item.get("line"), function=item.get("function"), attributes=attributes,
        )  # fmt: skip
    elif kind == "stack":
        frames = tuple((str(file), int(line), str(function)) for file, line, function in item["frames"])
        file, line, function = item.get("leaf") or (frames[0] if frames else ("?", 0, "?"))
        blobs.stacks[int(item["id"])] = Stack(frames, (str(file), int(line), str(function)))
    elif kind == "header" and blobs.header is None:
        blobs.header = {**_HEADER, **{key: value for key, value in item.items() if key != "k"}}
    elif kind == "trailer":
        blobs.ended = int(item["t"])
    elif kind in _LISTS:
        blobs.lists[kind].append({key: value for key, value in item.items() if key != "k"})


def _lane(words: Words, blobs: _Blobs, name: str, problems: list[str]) -> Lane:
    """Sort the words that are not JSON into events, parts and samples, with absolute times."""
    assert blobs.header is not None
    base = int(blobs.header["base"])
    tag = (words & np.uint64(0xFFFF)).astype(np.int64)
    value = (words >> np.uint64(16)).astype(np.int64)
    head = (tag == PART) | (tag == SAMPLE)
    second = np.zeros_like(head)
    second[1:] = head[:-1]
    unknown = np.flatnonzero((tag < FIRST_CODE) & ~head & ~second)
    if len(unknown) or (len(head) and head[-1]):
        # Nothing after an unknown word can be trusted, and a pair cut in two says nothing.
        stop = int(unknown[0]) if len(unknown) else len(tag)
        stop -= 1 if stop and head[stop - 1] else 0
        if len(unknown):
            problems.append(f"{name}: unknown word {stop}, the rest is not read")
        tag, value, head, second = tag[:stop], value[:stop], head[:stop], second[:stop]

    parts = np.flatnonzero(head & (tag == PART))
    samples = np.flatnonzero(head & (tag == SAMPLE))
    is_event = ~head & ~second & (tag >= FIRST_CODE)
    time, code = value[is_event] + base, tag[is_event] & LAST_CODE
    closes = tag[is_event] >= END
    part_event = np.cumsum(is_event)[parts] if len(parts) else parts

    kinds = np.zeros(END, dtype=np.int8)
    for number, definition in blobs.definitions.items():
        if FIRST_CODE <= number <= LAST_CODE:
            kinds[number] = {"span": 1, "mark": 2}.get(definition.kind, 0)
    begin, finish = (kinds[code] == 1) & ~closes, (kinds[code] == 1) & closes
    known = begin | finish | ((kinds[code] == 2) & ~closes)
    if not known.all():
        problems.append(f"{name}: {int((~known).sum())} events without a definition")
        part_event = np.concatenate([[0], np.cumsum(known)])[part_event]
        time, code, begin, finish = time[known], code[known], begin[known], finish[known]
    if len(time) > 1 and (np.diff(time) < 0).any():
        # A signal handler may record between another hook's clock read and its store: microseconds, not damage.
        if int(np.diff(time).min()) < -1_000_000:
            problems.append(f"{name}: times run backwards")
        time = np.maximum.accumulate(time)

    event_end = finish.astype(np.int64)
    if blobs.lists["totals"]:
        time, code, begin, finish, part_event = _closed_for_totals(time, code, begin, finish, part_event, _first_window(blobs) + base)
        event_end = finish.astype(np.int64)
    still_open = open_spans(begin, finish)
    if still_open is not None:
        ends = code[still_open][::-1]
        if not is_nested(np.concatenate([code, ends]), nest(*_closed(begin, finish, len(ends)))):
            still_open = None
    if still_open is None:
        problems.append(f"{name}: spans that do not nest were closed early")
        time, code, event_end, place = repair(time, code, begin, finish)
        part_event = place[part_event]
        finish = event_end == 1
        begin = (kinds[code] == 1) & ~finish
        still_open = open_spans(begin, finish) or []
        ends = code[still_open][::-1]

    sample_time = value[samples] + base
    last_time = _last_time(base, time, sample_time, blobs)
    return Lane(
        header=blobs.header, definitions=blobs.definitions,
        event_time=np.concatenate([time, np.full(len(ends), last_time, dtype=np.int64)]),
        event_code=np.concatenate([code, ends]), event_end=np.concatenate([event_end, np.ones(len(ends), dtype=np.int64)]),
        part_event=part_event.astype(np.int64), part_ns=value[parts], part_count=value[parts + 1], part_code=tag[parts + 1],
        sample_time=sample_time, sample_stack=value[samples + 1], sample_code=tag[samples + 1], stacks=blobs.stacks,
        totals=_absolute(blobs.lists["totals"], base), inspected=_absolute(blobs.lists["inspected"], base),
        facts=tuple(blobs.lists["fact"]), not_measured=tuple(blobs.lists["not_measured"]), warnings=tuple(blobs.lists["warning"]),
        last_time=last_time, ended=None if blobs.ended is None else blobs.ended + base, unclosed=len(ends),
    )  # fmt: skip


def _first_window(blobs: _Blobs) -> int:
    return min((int(item["t0"]) for item in blobs.lists["totals"] if "t0" in item), default=1 << 62)


def _closed_for_totals(
    time: IntArray, code: IntArray, begin: Flags, finish: Flags, part_event: IntArray, at: int
) -> tuple[IntArray, IntArray, Flags, Flags, IntArray]:
    """End the spans that are open where totals begin: from there on the windows tell their time, and no end is written."""
    place = int(np.searchsorted(time, at, side="right"))
    still_open = open_spans(begin[:place], finish[:place])
    later = open_spans(begin, finish)
    if not still_open or later is None or later[: len(still_open)] != still_open:
        return time, code, begin, finish, part_event
    ends = code[still_open][::-1]
    return (
        np.insert(time, place, np.full(len(ends), at)), np.insert(code, place, ends),
        np.insert(begin, place, np.zeros(len(ends), dtype=bool)), np.insert(finish, place, np.ones(len(ends), dtype=bool)),
        np.where(part_event > place, part_event + len(ends), part_event),
    )  # fmt: skip


def _closed(begin: Flags, finish: Flags, count: int) -> tuple[Flags, Flags]:
    """The same events with ``count`` ends after them."""
    return np.concatenate([begin, np.zeros(count, dtype=bool)]), np.concatenate([finish, np.ones(count, dtype=bool)])


def _absolute(items: list[dict[str, Any]], base: int) -> tuple[dict[str, Any], ...]:
    """Windows and inspected steps with ``t0`` and ``t1`` on the common clock; those without are of no use."""
    return tuple({**item, "t0": int(item["t0"]) + base, "t1": int(item["t1"]) + base} for item in items if "t0" in item and "t1" in item)


def _last_time(base: int, time: IntArray, sample_time: IntArray, blobs: _Blobs) -> int:
    seen = [0]
    seen += [int(times[-1]) - base for times in (time, sample_time) if len(times)]
    seen += [int(item[key]) for items in blobs.lists.values() for item in items for key in ("t", "t1") if isinstance(item.get(key), int)]
    return base + max(seen if blobs.ended is None else [*seen, blobs.ended])


class LaneWriter:
    """Writes one stream with times given as nanoseconds since ``base``: for tests and for recordings made by hand."""

    def __init__(self, **header: Any) -> None:
        self._data = bytearray(MAGIC + bytes([VERSION]))
        self.blob("header", **{**_HEADER, **header})

    def word(self, value: int, tag: int) -> None:
        """Append one raw word."""
        self._data += (value << 16 | tag).to_bytes(8, "little")

    def blob(self, item: str, /, **fields: Any) -> None:
        """Append one JSON item of the kind ``item``."""
        payload = json.dumps({"k": item, **fields}).encode()
        self.word(len(payload), BLOB)
        self._data += payload.ljust((len(payload) + 7) // 8 * 8, b"\0")

    def define(self, code: int, kind: str, name: str, activity: str | None = None, **fields: Any) -> None:
        """Say what ``code`` stands for."""
        self.blob("def", code=code, kind=kind, activity=activity, name=name, **fields)

    def begin(self, code: int, time: int) -> None:
        """A span begins, or a mark happened."""
        self.word(time, code)

    def end(self, code: int, time: int) -> None:
        """A span ends."""
        self.word(time, END | code)

    def part(self, code: int, ns: int, count: int = 1) -> None:
        """Part of the innermost open span's own time belonged to ``code``."""
        self.word(ns, PART)
        self.word(count, code)

    def sample(self, time: int, stack: int, code: int = 0) -> None:
        """The sampler saw ``stack``."""
        self.word(time, SAMPLE)
        self.word(stack, code)

    def trailer(self, time: int) -> None:
        """The process said goodbye."""
        self.blob("trailer", t=time)

    def to_bytes(self) -> bytes:
        """The stream so far."""
        return bytes(self._data)

    def save(self, path: Path) -> None:
        """Write the stream so far."""
        path.write_bytes(self.to_bytes())


def describe(path: Path) -> Iterator[str]:
    """The raw recording as text, item by item, in the order of writing; ends with what was wrong."""
    problems: list[str] = []
    words = _written(path, problems)
    blobs = _Blobs()
    yield f"{path.name}  recording version {VERSION}" if words is not None else path.name
    position, depth = 0, 0
    numbers: list[int] = [] if words is None else words.tolist()
    while position < len(numbers):
        word = numbers[position]
        value, tag = word >> 16, word & 0xFFFF
        position += 1
        if tag == BLOB:
            payload = b"".join(item.to_bytes(8, "little") for item in numbers[position : position + (value + 7) // 8])[:value]
            position += (value + 7) // 8
            if value == 0:
                continue
            try:
                item = _item(payload)
                _keep(item, blobs)
                yield f"{'':16}{item.pop('k'):<8} {json.dumps(item, ensure_ascii=False)}"
            except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError) as problem:
                problems.append(f"{path.name}: unreadable item: {type(problem).__name__}")
        elif tag in (PART, SAMPLE):
            if position == len(numbers):
                problems.append(f"{path.name}: torn pair at the end")
                break
            second, position = numbers[position], position + 1
            if tag == PART:
                yield f"{'':16}{'  ' * depth}part {_name(blobs, second & 0xFFFF)} {value} ns, {second >> 16} times"
            else:
                stack = blobs.stacks.get(second >> 16)
                at = f"{stack.leaf[0]}:{stack.leaf[1]} in {stack.leaf[2]}" if stack else f"stack {second >> 16}"
                yield f"{value / 1e9:14.6f}  sample {at}"
        elif tag < FIRST_CODE:
            problems.append(f"{path.name}: unknown word {position}, the rest is not read")
            break
        else:
            code = tag & LAST_CODE
            definition = blobs.definitions.get(code)
            if tag & END:
                depth = max(0, depth - 1)
            what = "end" if tag & END else "mark" if definition is not None and definition.kind == "mark" else "begin"
            yield f"{value / 1e9:14.6f}  {'  ' * depth}{what} {_name(blobs, code)}"
            depth += what == "begin"
    for problem_text in problems:
        yield f"problem: {problem_text}"


def _name(blobs: _Blobs, code: int) -> str:
    definition = blobs.definitions.get(code)
    if definition is None:
        return f"code {code}"
    at = f" ({definition.file}:{definition.line})" if definition.file else ""
    activity = f"{definition.activity} " if definition.activity else ""
    return f"{activity}{definition.name}{at}"
