"""A slow sampler: a thread that now and then looks where the main thread is, to give lines to the seconds."""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident, start_new_thread

from .files import absolute, is_user
from .recorder import Recorder, ThreadLane, clock
from .stream import CHUNK_WORDS, SAMPLE, StreamFull, put_padding

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

FIRST_INTERVAL_S = 0.04  # a look costs 0.2 to 0.4 ms of the main thread: the switch of the interpreter lock there and back
LATER_INTERVAL_S = 0.1
LATER_AFTER_NS = 20_000_000_000
MAX_DEPTH = 80
MAX_USER_FRAMES = 12


class Sampler:
    """Starts below ``threading`` (the script's list of threads stays its own), stops before a fork, starts again after."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.wake = allocate_lock()
        self.gone = allocate_lock()
        self.running = False
        self.lane: ThreadLane | None = None
        self.stacks: dict[Any, int] = {}

    def start(self) -> None:
        """Begin sampling in this process; without room for the lane there are no lines."""
        if self.running or self.recorder.dead:
            return
        self.wake = allocate_lock()
        self.gone = allocate_lock()
        self.wake.acquire()
        self.gone.acquire()
        self.running = True
        start_new_thread(self._run, (self.wake, self.gone))

    def stop(self) -> None:
        """End the thread and wait for it (bounded)."""
        if self.running:
            self.running = False
            self.wake.release()
            self.gone.acquire(timeout=1.0)

    def forked(self) -> None:
        """In a forked child: its samples go to a lane of its own."""
        self.running = False
        self.lane = None
        self.stacks = {}

    def _run(self, wake: Any, gone: Any) -> None:
        try:
            self.recorder.sampler_thread = get_ident()
            if self.lane is None:
                self.lane = ThreadLane(self.recorder, "sampler", self.recorder.lane_number())
            lane = self.lane
            main = self.recorder.main_thread
            frames, top = sys._current_frames, self.recorder.totals_top
            started = clock()
            interval = FIRST_INTERVAL_S
            while not wake.acquire(timeout=interval):
                now = clock()
                if now - started > LATER_AFTER_NS:
                    interval = LATER_INTERVAL_S
                frame = frames().get(main)
                if frame is None:
                    continue
                stack = self._stack(lane, frame)
                del frame
                if lane.position + 2 > CHUNK_WORDS:
                    put_padding(lane.words, lane.position)
                    lane.words, lane.position = lane.stream.next_chunk(), 0
                lane.words[lane.position + 1] = stack << 16 | top()
                lane.words[lane.position] = (now - lane.base) << 16 | SAMPLE
                lane.position += 2
        except StreamFull:
            pass
        except Exception as problem:
            self.recorder.complain(f"sampler: {type(problem).__name__}: {problem}")
        finally:
            gone.release()

    def _stack(self, lane: ThreadLane, frame: Any) -> int:
        """The id of this stack of user frames, innermost first; a new one is written once."""
        leaf = (frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)
        found: list[tuple[str, int, str]] = []
        depth = 0
        while frame is not None and depth < MAX_DEPTH and len(found) < MAX_USER_FRAMES:
            code = frame.f_code
            if is_user(code.co_filename) and frame.f_lineno:
                found.append((code.co_filename, frame.f_lineno or 0, code.co_name))
            frame = frame.f_back
            depth += 1
        key = (leaf, *found)
        number = self.stacks.get(key)
        if number is None:
            number = self.stacks[key] = len(self.stacks) + 1
            lane.blob(
                {
                    "k": "stack", "id": number, "frames": [[absolute(file), line, function] for file, line, function in found],
                    "leaf": [absolute(leaf[0]), leaf[1], leaf[2]],
                }
            )  # fmt: skip
        return number
