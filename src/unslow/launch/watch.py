"""Watches the machine from outside while the script runs: how busy all cores are, and how much of that is the script's."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

FIRST_INTERVAL_S = 0.5
LATER_INTERVAL_S = 5.0
LATER_AFTER_S = 120.0


class Watch:
    """A thread of the supervisor; ``rows`` are ``(time ns, busy ns of all cores, CPU ns of the script's processes, swapped-in pages)``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.rows: list[tuple[int, int, int, int]] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        self._gone: dict[int, int] = {}

    def start(self) -> None:
        """Begin; without a /proc there is nothing to see and no row."""
        if Path("/proc/stat").exists():
            self._thread.start()

    def stop(self) -> list[tuple[int, int, int, int]]:
        """End and return the rows."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join(2)
        return self.rows

    def _run(self) -> None:
        begun = time.monotonic()
        while True:
            try:
                self.rows.append((time.perf_counter_ns(), self._busy_ns(), self._script_ns(), self._swapped()))
            except (OSError, ValueError, IndexError):
                pass
            if self._done.wait(FIRST_INTERVAL_S if time.monotonic() - begun < LATER_AFTER_S else LATER_INTERVAL_S):
                return

    def _busy_ns(self) -> int:
        """CPU time of all cores but for idling and waiting for disks; time stolen by other virtual machines counts as busy."""
        fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        user, nice, system, _idle, _iowait, irq, softirq, steal = fields
        return (user + nice + system + irq + softirq + steal) * self._tick_ns

    def _script_ns(self) -> int:
        """CPU time of the script's process and all below it; of processes that have ended, what was last seen of them."""
        alive: dict[int, int] = {}
        waiting = [self.pid]
        while waiting and len(alive) < 512:
            pid = waiting.pop()
            try:
                words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                alive[pid] = (int(words[11]) + int(words[12])) * self._tick_ns
                for task in Path(f"/proc/{pid}/task").iterdir():
                    waiting.extend(int(child) for child in (task / "children").read_text().split())
            except (OSError, ValueError, IndexError):
                continue
        self._gone.update(alive)
        return sum(self._gone.values())

    def _swapped(self) -> int:
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("pswpin "):
                return int(line.split()[1])
        return 0
