"""The recorder: one word per begin, end or mark, and totals instead once a run has grown long."""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident

from . import text
from .stream import BLOB, CHUNK_BYTES, CHUNK_WORDS, END, FIRST_CODE, LAST_CODE, PART, Stream, StreamFull, blob_words, put_blob, put_padding

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

clock = time.perf_counter_ns  # bound before the script can see or replace it
_wall = time.time_ns

THREAD_LANES = 32
FULL_CHUNKS = 8  # 4 MB of single spans, then totals: at most 10 MB an hour
WINDOW_NS = 1_000_000_000


class ThreadLane:
    """The stream of a thread that is not the main one: slower, rarely used, same items."""

    def __init__(self, recorder: Recorder, name: str, number: int) -> None:
        self.recorder = recorder
        self.stream = Stream(recorder.lane_path(number))
        self.words = self.stream.words
        self.position = 1
        self.base = clock()
        self.known: set[int] = set()
        self.blob(recorder.header(name, number, self.base))

    def put(self, word: int) -> None:
        if self.position >= CHUNK_WORDS:
            self.words = self.stream.next_chunk()
            self.position = 0
        self.words[self.position] = word
        self.position += 1

    def blob(self, value: dict[str, Any]) -> None:
        payload = text.dump(value).encode("utf-8", "backslashreplace")
        if blob_words(payload) >= CHUNK_WORDS:
            return
        if self.position + blob_words(payload) > CHUNK_WORDS:
            put_padding(self.words, self.position)
            self.words = self.stream.next_chunk()
            self.position = 0
        self.position = put_blob(self.words, self.position, payload)

    def event(self, code: int, end: int) -> None:
        if code not in self.known:
            self.known.add(code)
            definition = self.recorder.definitions.get(code)
            if definition is not None:
                self.blob(definition)
        self.put((clock() - self.base) << 16 | code | end)


class Recorder:
    """``begin(code)``, ``end(code)``, ``mark(code)``: closures made once, safe to keep in hooks for the life of the process.

    A store and the step of the position have no call between them, so neither a signal handler, nor the collector, nor another
    thread can come in between (CPython looks for those only at calls and backward jumps).
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.host = os.uname().nodename if hasattr(os, "uname") else "host"
        self.pid = os.getpid()
        self.role = "main" if os.environ.get("UNSLOW_SUPERVISOR") == str(os.getppid()) else "child"
        self.rank = _integer(os.environ.get("RANK"))
        self.worker: int | None = None
        self.script: str | None = None
        self.definitions: dict[int, dict[str, Any]] = {}
        self.codes: dict[Any, int] = {}
        self.next_code = FIRST_CODE
        self.span_cost_ns = 0
        self.inside_cost_ns = 0
        self.main_thread = get_ident()
        self.sampler_thread = 0
        self.child_role: str | None = None  # what a process forked now will be
        self.context: dict[str, Any] = {}
        self.at_finish: list[Any] = []  # last facts, before the trailer
        self.removable: dict[int, tuple[Any, str]] = {}  # hooks that may be taken out again where they are called too often
        self.patches: list[Any] = []
        self.lanes: dict[int, ThreadLane] = {}
        self.lane_numbers = 0
        self.dead = False
        self.streams: list[Stream] = []  # never dropped, see Stream.maps
        self.on_chunk: list[Any] = []  # called with the seconds that the last chunk took: the governor
        self.experiment: Any = None
        self.quiet = False  # what is called now belongs to what is around it (a sample's fetch, an optimizer, a loss)
        self.inner_ns = 0  # time in spans inside what is added up as a part: not to be counted twice
        self._make_closures()
        self.import_codes: set[int] = set()

    # The hot path -----------------------------------------------------------------------------------------------------------

    def _make_closures(self) -> None:
        recorder = self
        ident = get_ident
        now_ns = clock
        main = self.main_thread
        words = memoryview(bytearray(8)).cast("Q")[:0]
        position = 0
        base = 0
        totals = False
        ns: list[int] = []
        counts: list[int] = []
        stack: list[int] = [0]
        top = 0
        last = 0
        window_start = 0
        stream: Stream | None = None
        pending: dict[int, list[int]] = {}
        chunk_start = 0
        step_bins: dict[int, int] = {}
        last_step = 0

        def full() -> None:
            """Take the next chunk, the first included; on a full disk go on writing to nowhere."""
            nonlocal words, position, stream, base, chunk_start
            if position < len(words):
                return
            fresh = stream is None
            try:
                if recorder.dead:
                    raise StreamFull("")
                if stream is None:
                    stream = recorder.open_stream()
                    words, position = stream.words, 1
                    base = now_ns()
                else:
                    words, position = stream.next_chunk(), 0
            except StreamFull as problem:
                if not recorder.dead:
                    recorder.dead = True
                    recorder.complain(f"recording stopped: {problem}")
                words, position = memoryview(bytearray(CHUNK_BYTES)).cast("Q"), 0
                base = base or now_ns()
            if fresh:
                blob(recorder.header("main", 0, base))
                for code, definition in list(recorder.definitions.items()):
                    if code not in recorder.import_codes:
                        blob(definition)
            elif stream is not None and not recorder.dead:
                took = now_ns() - chunk_start
                for listener in recorder.on_chunk:
                    listener(stream, took)
                if stream.chunks > FULL_CHUNKS and not totals:
                    enter_totals()
            chunk_start = now_ns()

        def blob(value: dict[str, Any]) -> None:
            nonlocal position
            payload = text.dump(value).encode("utf-8", "backslashreplace")
            need = blob_words(payload)
            if need >= CHUNK_WORDS:
                return
            if position >= len(words):
                full()
            if position + need > len(words):
                put_padding(words, position)
                position = len(words)
                full()
            position = put_blob(words, position, payload)

        def begin(code: int) -> None:
            nonlocal position, top, last
            if ident() != main:
                other(code, 0)
                return
            if totals:
                now = now_ns()
                ns[top] += now - last
                counts[code] += 1
                stack.append(code)
                top = code
                last = now
                return
            now = now_ns()
            try:
                words[position] = (now - base) << 16 | code
                position += 1
            except IndexError:
                full()
                words[position] = (max(now - base, 0)) << 16 | code
                position += 1

        def end(code: int) -> None:
            nonlocal position, top, last
            if ident() != main:
                other(code, END)
                return
            if totals:
                now = now_ns()
                ns[top] += now - last
                last = now
                if len(stack) > 1:
                    stack.pop()
                top = stack[-1]
                if now - window_start > WINDOW_NS:
                    flush_window(now)
                return
            now = now_ns()
            try:
                words[position] = (now - base) << 16 | code | END
                position += 1
            except IndexError:
                full()
                words[position] = (max(now - base, 0)) << 16 | code | END
                position += 1

        def mark(code: int) -> None:
            nonlocal position
            if ident() != main:
                return
            now = now_ns()
            if totals and now - window_start > 20_000_000:
                flush_window(now)
            if position >= len(words):
                full()
            words[position] = (max(now - base, 0)) << 16 | code
            position += 1

        def step_done() -> None:
            """Called at the end of an optimizer step: keeps the step-time histogram while totals are kept."""
            nonlocal last_step
            if not totals:
                return
            now = now_ns()
            if last_step:
                took = now - last_step
                bound = 1 << max(took - 1, 1).bit_length()
                lower = bound * 3 // 4
                key = lower if took <= lower else bound
                step_bins[key] = step_bins.get(key, 0) + 1
                if took > 50_000_000 or took > 4 * (now - window_start):
                    flush_window(now)
            last_step = now

        def other(code: int, is_end: int) -> None:
            try:
                me = ident()
                lane = recorder.lanes.get(me)
                if lane is None:
                    if recorder.dead or me == recorder.sampler_thread or len(recorder.lanes) >= THREAD_LANES:
                        return
                    lane = recorder.lanes[me] = ThreadLane(recorder, _thread_name(me), recorder.lane_number())
                lane.event(code, is_end)
            except StreamFull:
                recorder.dead = True

        def add(code: int, duration: int) -> None:
            """Add to a part of the innermost open span: for work per sample, written once per batch by ``flush_parts``."""
            if ident() != main:
                return
            entry = pending.get(code)
            if entry is None:
                pending[code] = [duration, 1]
            else:
                entry[0] += duration
                entry[1] += 1

        def add_many(code: int, duration: int, count: int) -> None:
            entry = pending.setdefault(code, [0, 0])
            entry[0] += duration
            entry[1] += count

        def flush_parts() -> None:
            nonlocal position, top
            if not pending or ident() != main:
                return
            if totals:
                for code, (duration, count) in pending.items():
                    ns[code] += duration
                    ns[top] -= duration
                    counts[code] += count
            else:
                for code, (duration, count) in pending.items():
                    if position + 2 > len(words):
                        if position < len(words):
                            put_padding(words, position)
                            position = len(words)
                        full()
                    words[position + 1] = count << 16 | code
                    words[position] = duration << 16 | PART
                    position += 2
            pending.clear()

        def enter_totals() -> None:
            """From here on keep sums per second; the open spans are found by reading back what was written."""
            nonlocal totals, ns, counts, stack, top, last, window_start
            stack = [0, *open_spans()]
            ns = [0] * (LAST_CODE + 1)
            counts = [0] * (LAST_CODE + 1)
            top = stack[-1]
            last = window_start = now_ns()
            totals = True

        def open_spans() -> list[int]:
            assert stream is not None
            spans: list[int] = []
            skip = 0
            for _mapped, view in stream.maps[:-1]:
                for word in view.tolist():
                    if skip:
                        skip -= 1
                        continue
                    tag = word & 0xFFFF
                    if tag == BLOB:
                        skip = ((word >> 16) + 7) // 8
                    elif tag == PART or tag == 3:
                        skip = 1
                    elif tag & END:
                        code = tag & LAST_CODE
                        while code in spans and spans.pop() != code:
                            pass
                    elif tag >= FIRST_CODE:
                        definition = recorder.definitions.get(tag)
                        if definition is not None and definition["kind"] == "span":
                            spans.append(tag)
            return spans

        def flush_window(now: int) -> None:
            nonlocal window_start, last
            ns[top] += now - last
            last = now
            used = [code for code in range(recorder.next_code) if ns[code] or counts[code]]
            parts = [[code, ns[code], counts[code]] for code in used]
            steps = sum(step_bins.values())
            blob(
                {
                    "k": "totals", "t0": max(window_start - base, 0), "t1": max(now - base, 0), "parts": parts, "eval": [],
                    "steps": steps, "step_ns": [[bound, count] for bound, count in sorted(step_bins.items())],
                }
            )  # fmt: skip
            for code in used:
                ns[code] = counts[code] = 0
            step_bins.clear()
            window_start = now

        def finish() -> None:
            """The trailer: the process says goodbye at ``t``."""
            flush_parts()
            for action in recorder.at_finish:
                action()
            if totals:
                flush_window(now_ns())
            if position == 0 and not words:
                return
            blob({"k": "trailer", "t": max(now_ns() - base, 0)})

        def forked() -> None:
            """In the child: forget the parent's chunk without touching it; a new stream opens at the first event."""
            nonlocal words, position, stream, base, totals, main, top, last, last_step
            words = memoryview(bytearray(8)).cast("Q")[:0]
            position = 0
            stream = None
            base = 0
            totals = False
            top = 0
            last_step = 0
            main = recorder.main_thread
            pending.clear()

        def redirect(buffer: memoryview) -> None:
            """Write into ``buffer`` for a while: to measure what a span costs."""
            nonlocal words, position
            words, position = buffer, 0

        def time_base() -> int:
            return base

        self.begin, self.end, self.mark = begin, end, mark
        self.add, self.add_many, self.flush_parts = add, add_many, flush_parts
        self.blob, self.finish, self.forked_closures = blob, finish, forked
        self.step_done, self.redirect, self.time_base = step_done, redirect, time_base
        self.totals_top: Any = lambda: top if totals else 0
        self.open = full

    # Definitions ------------------------------------------------------------------------------------------------------------

    def define(self, kind: str, activity: str | None, name: str, where: tuple[str, int, str] | None = None, **attributes: Any) -> int:
        """A code for this activity, name and site; asked for again, the same code."""
        key = (kind, activity, name, where, tuple(sorted(attributes.items())) if attributes else None)
        code = self.codes.get(key)
        if code is not None:
            return code
        if self.next_code > LAST_CODE - 256 and where is not None:
            return self.define(kind, activity, name, None, **attributes)
        if self.next_code > LAST_CODE:
            return self.define(kind, activity, "other")
        code = self.next_code
        self.next_code += 1
        self.codes[key] = code
        file, line, function = where or (None, None, None)
        definition: dict[str, Any] = {
            "k": "def", "code": code, "kind": kind, "activity": activity, "name": name,
            "file": file, "line": line, "function": function, **attributes,
        }  # fmt: skip
        self.definitions[code] = definition
        if get_ident() == self.main_thread:
            self.blob(definition)
        return code

    def redefine(self, code: int, **changes: Any) -> None:
        """Say more about a code once it is known (a module turned out to be a loss); the last definition holds."""
        definition = self.definitions[code]
        definition.update(changes)
        self.blob(definition)

    def fact(self, name: str, value: Any) -> None:
        """Something about the run that is not time: a batch size, an optimizer's learning rate."""
        if get_ident() == self.main_thread:
            self.blob({"k": "fact", "name": name, "value": value, "t": clock() - self.time_base()})

    def not_measured(self, what: str, why: str) -> None:
        """Something that this run will not be able to say."""
        if get_ident() == self.main_thread:
            self.blob({"k": "not_measured", "what": what, "why": why})

    def warn(self, what: str, why: Any) -> None:
        """A hook of ours failed and was taken out; the script goes on."""
        try:
            if get_ident() == self.main_thread:
                self.blob(
                    {"k": "warning", "what": what, "why": f"{type(why).__name__}: {why}" if isinstance(why, BaseException) else str(why)}
                )
        except Exception:
            pass

    def complain(self, message: str) -> None:
        """Leave a line for the supervisor beside the recording, where the stream itself cannot be written."""
        try:
            with open(os.path.join(self.folder, "recording", "probe-problem.txt"), "a") as file:
                file.write(message + "\n")
        except OSError:
            pass

    # Streams and processes --------------------------------------------------------------------------------------------------

    def lane_number(self) -> int:
        self.lane_numbers += 1
        return self.lane_numbers

    def lane_path(self, number: int) -> str:
        return os.path.join(self.folder, "recording", f"{self.host}-{self.pid}-{number}.unslow")

    def open_stream(self) -> Stream:
        path = self.lane_path(0)
        if os.path.exists(path):  # a process id that came round again
            self.lane_numbers += 100
            path = self.lane_path(self.lane_numbers)
        stream = Stream(path)
        self.streams.append(stream)
        return stream

    def header(self, thread: str, lane: int, base: int) -> dict[str, Any]:
        return {
            "k": "header", "format": 1, "pid": self.pid, "ppid": os.getppid(), "host": self.host, "base": base, "wall": _wall(),
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "executable": sys.executable, "argv": list(getattr(sys, "argv", [])),
            "script": self.script, "role": self.role, "rank": self.rank, "worker": self.worker, "thread": thread, "lane": lane,
            "span_cost_ns": self.span_cost_ns, "inside_cost_ns": self.inside_cost_ns, "trigger": None,
        }  # fmt: skip

    def forked(self) -> None:
        """Called in a forked child before anything else of ours."""
        self.pid = os.getpid()
        self.role = self.child_role or "child"
        self.main_thread = get_ident()
        self.lanes = {}
        self.lane_numbers = 0
        self.forked_closures()


def _integer(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdigit() else None


def _thread_name(ident: int) -> str:
    threading = sys.modules.get("threading")
    active = getattr(threading, "_active", {})
    thread = active.get(ident)
    return str(getattr(thread, "_name", None) or f"thread {len(active)}")
