"""The supervisor: starts the real interpreter, passes signals on once, and measures from exec to the reaped exit."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from unslow.launch.command import child_environment, find_program
from unslow.launch.watch import Watch

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH)
# Python ignores these for itself; a command started by us must not inherit that.
IGNORED_BY_PYTHON = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ") if hasattr(signal, name))
_FROM_TERMINAL = {signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGWINCH, signal.SIGCONT}
# What Python sets to "ignore" for itself at its start: the script begins as it would from a shell.
_IGNORED_BY_PYTHON = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ") if hasattr(signal, name))
_SI_USER_OR_TKILL = (0, -6, -1)  # kill(2), tgkill(2), sigqueue(3): sent to us alone


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a supervised run ended. ``exit_code`` is negative for death by a signal; times are nanoseconds of CLOCK_MONOTONIC.

    ``facts`` is what ``run.json`` says, also where that could not be written.
    """

    folder: Path
    exit_code: int
    start_ns: int
    end_ns: int
    pid: int
    messages: tuple[str, ...] = field(default=())
    facts: dict[str, Any] = field(default_factory=dict)


def supervise(
    command: list[str],
    *,
    folder: Path,
    name: str,
    script: str | None,
    python: str | None = None,
    messages: tuple[str, ...] = (),
    meanwhile: Callable[[], None] | None = None,
) -> Outcome:
    """Run ``command`` to its end with the probe in it, recording into ``folder``.

    ``meanwhile`` is called once after the start, while the script runs: a place to import what the report will need.
    Raises OSError where the program cannot be started at all.
    """
    program = find_program(command[0])
    recording = folder / "recording"
    recording.mkdir(exist_ok=True)
    environment = child_environment(folder)
    started = datetime.now().astimezone().isoformat(timespec="milliseconds")
    with SignalsHeld() as held:
        # Before the script, so that no signal to both can come before it.
        canary = Canary()
        canary = Canary()
        start_ns = time.perf_counter_ns()
        pid = os.posix_spawn(program, command, environment, setsigmask=held.before, setsigdef=IGNORED_BY_PYTHON)
        watch = Watch(pid)
        watch.start()
        # In a thread: the end of a short script must be seen when it comes.
        beside = threading.Thread(target=meanwhile or (lambda: None), daemon=True)
        beside.start()
        status, usage, end_ns = _wait(pid, held.signals, canary)
        watched = watch.stop()
        beside.join()
    exit_code = os.waitstatus_to_exitcode(status)
    problems = _trim_and_collect(recording)
    facts: dict[str, Any] = {
        "format": 1,
        "command": command,
        "exit_code": exit_code,
        "pid": pid,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "script": script,
        "cwd": os.getcwd(),
        "started": started,
        "user_ns": int(usage.ru_utime * 1e9),
        "system_ns": int(usage.ru_stime * 1e9),
        "max_rss_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "watched": watched,
        "messages": [*messages, *problems],
        "python": python,
        "name": name,
    }
    return Outcome(folder, exit_code, start_ns, end_ns, pid, tuple(_write_run(folder, facts, messages + problems)), facts)


def _write_run(folder: Path, facts: dict[str, Any], messages: tuple[str, ...]) -> list[str]:
    """Write ``run.json``; a full disk costs a message, never the run."""
    import json

    from unslow import __version__
    from unslow.launch.machine import machine_facts

    said = list(messages)
    facts["unslow"] = __version__
    try:
        facts["machine"] = machine_facts()
    except OSError as problem:
        said.append(f"the machine could not be described: {problem}")
    try:
        # Bytes of an argument that are no UTF-8 become question marks: JSON cannot hold them.
        (folder / "run.json").write_bytes(json.dumps(facts, indent=1, ensure_ascii=False).encode("utf-8", "replace"))
    except OSError as problem:
        said.append(f"run.json could not be written ({problem.strerror})")
    return said


def _trim_and_collect(recording: Path) -> tuple[str, ...]:
    """Cut the space that was allocated ahead off each stream; return what the probe had to say outside of it."""
    from unslow.recording.format import used_bytes

    problems: list[str] = []
    for path in sorted(recording.glob("*.unslow")):
        try:
            os.truncate(path, used_bytes(path))
        except OSError as problem:
            problems.append(f"{path.name}: {problem.strerror}")
    note = recording / "probe-problem.txt"
    if note.exists():
        problems.extend(sorted(set(note.read_text(errors="replace").splitlines())))
    return tuple(problems)


class SignalsHeld:
    """Hold signals in this process, to be taken one by one with ``sigwaitinfo``; give back the mask afterwards."""

    def __init__(self) -> None:
        self.signals = {*FORWARDED, signal.SIGCHLD}
        self.before: set[Any] = set()

    def __enter__(self) -> Self:
        self.before = set(signal.pthread_sigmask(signal.SIG_BLOCK, self.signals))
        return self

    def __exit__(self, *_: object) -> None:
        # What is still pending came while the script was there and was meant for it, not for the report.
        while pending := signal.sigpending() & self.signals:
            signal.sigwait(pending)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


def _wait(pid: int, signals: set[Any], canary: Canary) -> tuple[int, Any, int]:
    """Wait for the child; pass on what was sent to us alone (what goes to the whole group has reached it already)."""
    try:
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            end_ns = time.perf_counter_ns()
            if done == pid:
                return status, usage, end_ns
            if hasattr(signal, "sigwaitinfo"):
                info = signal.sigwaitinfo(signals)
                number, alone = signal.Signals(info.si_signo), info.si_code in _SI_USER_OR_TKILL
            else:
                number = signal.Signals(signal.sigwait(signals))
                alone = not (number in _FROM_TERMINAL and sys.stdin is not None and sys.stdin.isatty())
            if number != signal.SIGCHLD and alone and not canary.was_hit(number):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
    finally:
        canary.close()


class Canary:
    """A process of our group that does nothing: a signal that kills it too was sent to the whole group.

    It reads a pipe that nobody writes to, so it ends with us, however we end.
    """

    def __init__(self) -> None:
        self.pid: int | None = None
        self.program = shutil.which("cat")
        self.read_end, self.write_end = os.pipe()
        self._start()

    def _start(self) -> None:
        self.pid = None
        if self.program is not None:
            actions = [(os.POSIX_SPAWN_DUP2, self.read_end, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
            self.pid = os.posix_spawn(self.program, ["cat"], {}, file_actions=actions, setsigmask=(), setsigdef=FORWARDED)

    def was_hit(self, number: signal.Signals) -> bool:
        """Whether ``number`` reached the canary as well; waits a moment for its end."""
        if self.pid is None:
            return False
        # On a busy machine dying takes a while: as long as it is no longer just asleep, it is waited for.
        for patience in range(50):
            if hasattr(signal, "sigtimedwait"):
                signal.sigtimedwait({signal.SIGCHLD}, 0.02)
            else:
                time.sleep(0.02)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self._start()
                return os.waitstatus_to_exitcode(status) == -number
            if patience and self._sleeps():
                break
        return False

    def _sleeps(self) -> bool:
        """Whether the canary waits as ever, with no signal on its way; where that cannot be seen, yes."""
        try:
            with open(f"/proc/{self.pid}/status") as file:
                fields = dict(line.split(":", 1) for line in file)
        except OSError:
            return True
        return fields["State"].split()[0] == "S" and not int(fields["SigPnd"], 16) and not int(fields["ShdPnd"], 16)

    def close(self) -> None:
        """End the canary."""
        os.close(self.write_end)
        os.close(self.read_end)
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def die_like(exit_code: int) -> None:
    """End this process as the script ended: by the same signal, without a core file, or with its exit code."""
    if exit_code < 0:
        import resource

        number = -exit_code
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        except (ValueError, OSError):
            pass
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    sys.exit(exit_code if exit_code >= 0 else 128 - exit_code)
