"""Runs a script under plain ``python`` and under ``unslow run``, in the same place with the same environment, and keeps what came out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src"
# -P: the scripts of a work folder are no modules of unslow itself.
UNSLOW = [sys.executable, "-P", "-m", "unslow"]


@dataclass(frozen=True)
class Run:
    """One finished run. ``exit_code`` is negative for death by a signal; ``folder`` is the run folder, None under plain Python."""

    stdout: str
    stderr: str
    exit_code: int
    folder: Path | None = None

    def account(self) -> dict[str, Any]:
        assert self.folder is not None
        path = self.folder / "account.json"
        assert path.exists(), f"no account.json; stderr was:\n{self.stderr}"
        account: dict[str, Any] = json.loads(path.read_text())
        return account


def environment(**changes: str | None) -> dict[str, str]:
    """This process's environment with ``unslow`` importable by the child's parent; a change to None removes a variable."""
    made = dict(os.environ)
    for name in ("PYTHONHASHSEED", "VIRTUAL_ENV"):
        made.pop(name, None)
    made["PYTHONPATH"] = str(SOURCE)
    # Where a terminal is as wide as the test's own is no matter of the script's.
    made["COLUMNS"] = "140"
    for name, value in changes.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = value
    return made


def plain(arguments: list[str], cwd: Path, *, env: dict[str, str] | None = None, stdin: str = "", timeout: float = 120) -> Run:
    """``python ARGUMENTS``."""
    done = _run([sys.executable, *arguments], cwd, env or environment(), stdin, timeout)
    return Run(done.stdout, done.stderr, done.returncode)


def under(
    arguments: list[str],
    cwd: Path,
    out: Path,
    *,
    quiet: bool = True,
    env: dict[str, str] | None = None,
    stdin: str = "",
    timeout: float = 180,
    options: tuple[str, ...] = (),
) -> Run:
    """``unslow run --out OUT ARGUMENTS``, with the interpreter that runs the tests."""
    command = [*UNSLOW, "run", "--python", sys.executable, "--out", str(out), *(["--quiet"] if quiet else []), *options, *arguments]
    done = _run(command, cwd, env or environment(), stdin, timeout)
    return Run(done.stdout, done.stderr, done.returncode, out)


def _run(command: list[str], cwd: Path, env: dict[str, str], stdin: str, timeout: float) -> subprocess.CompletedProcess[str]:
    # Surrogates let a test compare bytes that are no UTF-8.
    return subprocess.run(
        command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, errors="surrogateescape", timeout=timeout, check=False
    )


def comparable(run: Run) -> Run:
    """The run without what differs between any two: addresses of objects, and times and process ids of torch's own log lines."""
    stdout, stderr = (re.sub(r"0x[0-9a-f]{8,}\b", "0x", text) for text in (run.stdout, run.stderr))
    stderr = re.sub(r"^([VIWE]\d{4}) [\d:.]+ \d+ ", r"\1 ", stderr, flags=re.MULTILINE)
    return replace(run, stdout=stdout, stderr=stderr)


def assert_same(first: Run, second: Run) -> None:
    """Output and exit code are equal, to the byte; compared line by line first, which pytest shows better."""
    first, second = comparable(first), comparable(second)
    assert second.stdout.splitlines() == first.stdout.splitlines()
    assert second.stderr.splitlines() == first.stderr.splitlines()
    assert second.stdout == first.stdout
    assert second.stderr == first.stderr
    assert second.exit_code == first.exit_code


def seconds(account: dict[str, Any], *names: str) -> float:
    """Seconds of the main thread under these activities together (a name ending in ``/`` stands for all below it)."""
    return (
        sum(
            row["ns"]
            for row in account["activities"]
            if row["name"] in names or row["name"].startswith(tuple(n for n in names if n.endswith("/")) or ("\0",))
        )
        / 1e9
    )


def assert_sums(account: dict[str, Any]) -> None:
    """The rows tile the wall time exactly, none is negative, and the two that must be there are."""
    rows = {row["name"]: row["ns"] for row in account["activities"]}
    assert len(rows) == len(account["activities"]), "one row a name"
    assert sum(rows.values()) == account["wall_ns"]
    assert min(rows.values()) >= 0
    assert {"unexplained", "observer"} <= set(rows)
