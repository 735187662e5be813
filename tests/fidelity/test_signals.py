"""Signals reach the script exactly once, and unslow ends as the script ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.runs import UNSLOW, Run, assert_sums, environment

COUNTS = """
import os, signal, sys, time
got = []
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda number, frame: got.append(number))
print("ready", flush=True)
end = time.monotonic() + 20
while not got and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.4)
print("got", got)
"""
WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(30)\nprint('never')\n"


def start(source: str, arguments: list[str], work: Path, out: Path) -> subprocess.Popen[str]:
    """Start ``unslow run`` in a process group of its own, as a shell does, and wait for the script's first word."""
    (work / "train.py").write_text(source)
    command = [*UNSLOW, "run", "--quiet", "--python", sys.executable, "--out", str(out), "train.py", *arguments]
    process = subprocess.Popen(
        command, cwd=work, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    return process


def finish(process: subprocess.Popen[str], out: Path) -> Run:
    stdout, stderr = process.communicate(timeout=40)
    return Run(stdout, stderr, process.returncode, out)


def script_of(process: subprocess.Popen[str]) -> int:
    """The process id of the script: the child of unslow that runs train.py."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = [int(child) for child in children if b"train.py" in Path(f"/proc/{child}/cmdline").read_bytes()]
    assert len(found) == 1, children
    return found[0]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1"])
@pytest.mark.parametrize("whole_group", [True, False], ids=["group", "supervisor"])
def test_reaches_the_script_once(name: str, whole_group: bool, work: Path, tmp_path: Path) -> None:
    """Sent to the whole group (a terminal) or to unslow alone (``kill``): the script's handler runs exactly once."""
    process = start(COUNTS, [name], work, tmp_path / "run")
    number = getattr(signal, name)
    (os.killpg if whole_group else os.kill)(process.pid, number)
    run = finish(process, tmp_path / "run")
    assert run.stdout == f"got [{int(number)}]\n"
    assert (run.exit_code, run.stderr) == (0, "")


@pytest.mark.parametrize("whole_group", [True, False], ids=["group", "supervisor"])
def test_keyboard_interrupt(whole_group: bool, work: Path, tmp_path: Path) -> None:
    """Ctrl-C in a script without a handler: its own traceback, and unslow dies by SIGINT as the script did."""
    process = start(WAITS, [], work, tmp_path / "run")
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    run = finish(process, tmp_path / "run")
    assert run.exit_code == -signal.SIGINT
    assert run.stderr.splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{work / "train.py"}", line 3, in <module>',
        "    time.sleep(30)",
        "KeyboardInterrupt",
    ] or run.stderr.splitlines()[1].strip().startswith('File "train.py"')
    assert run.stderr.count("Traceback") == 1 and "unslow" not in run.stderr.replace(str(tmp_path), "")
    assert_sums(run.account())
    assert run.account()["exit_code"] == -signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT], ids=lambda n: n.name)
def test_script_killed(number: signal.Signals, work: Path, tmp_path: Path) -> None:
    """The script is killed: unslow dies by the same signal, and what was recorded until then is accounted for."""
    process = start("import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n" + WAITS, [], work, tmp_path / "run")
    os.kill(script_of(process), number)
    run = finish(process, tmp_path / "run")
    assert run.exit_code == -number
    assert (run.stdout, run.stderr) == ("", "")
    account = run.account()
    assert_sums(account)
    assert account["exit_code"] == -number
    assert any("abrupt" in item["what"] + item["why"] for item in account["not_measured"])


def test_stopped_and_continued(work: Path, tmp_path: Path) -> None:
    """A stopped script (SIGSTOP) is waited for; the time is the script's."""
    process = start("import time\nprint('ready', flush=True)\ntime.sleep(0.8)\nprint('awake')\n", [], work, tmp_path / "run")
    child = script_of(process)
    os.kill(child, signal.SIGSTOP)
    time.sleep(0.3)
    assert process.poll() is None
    os.kill(child, signal.SIGCONT)
    run = finish(process, tmp_path / "run")
    assert (run.stdout, run.stderr, run.exit_code) == ("awake\n", "", 0)


def test_ignored_signals_stay_ignored(work: Path, tmp_path: Path) -> None:
    """``nohup unslow run …``: what was ignored before is ignored in the script."""
    (work / "train.py").write_text("import signal\nprint(repr(signal.getsignal(signal.SIGHUP)), signal.getsignal(signal.SIGINT))\n")
    command = [*UNSLOW, "run", "--quiet", "--python", sys.executable, "--out", str(tmp_path / "run"), "train.py"]
    done = subprocess.run(["nohup", *command], cwd=work, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    plain = subprocess.run(["nohup", sys.executable, "train.py"], cwd=work, env=environment(), capture_output=True, text=True, check=False)
    assert done.stdout == plain.stdout
    assert "SIG_IGN" in done.stdout


def test_broken_pipe(work: Path, tmp_path: Path) -> None:
    """``unslow run … | head -1``: the script ends as it does in a plain pipe."""
    (work / "train.py").write_text("for n in range(100000):\n    print(n)\n")
    unslow = " ".join([*UNSLOW, "run", "--quiet", "--python", sys.executable, "--out", str(tmp_path / "run")])
    ends = []
    for command in (sys.executable, unslow):
        line = f"set -o pipefail; {command} train.py | head -1"
        done = subprocess.run(["bash", "-c", line], cwd=work, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        ends.append((done.stdout, done.stderr, done.returncode))
    assert ends[0] == ends[1]
