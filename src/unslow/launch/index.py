"""Which runs there are: an index in the user's state folder, and what ``@last`` stands for."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from unslow.errors import UnslowError


@dataclass(frozen=True, slots=True)
class Known:
    """One run that is known: its folder and the folder that it was started from."""

    folder: Path
    cwd: Path
    started: str
    script: str
    wall_ns: int
    exit_code: int


def index_file() -> Path:
    """``$XDG_STATE_HOME/unslow/runs.jsonl``."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "unslow" / "runs.jsonl"


def remember(folder: Path) -> None:
    """Add a run to the index; an index that cannot be written is no reason to fail a run."""
    try:
        path = index_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps({"folder": str(folder.resolve()), "cwd": os.getcwd()}) + "\n")
    except OSError:
        pass


def known_runs() -> list[Known]:
    """Every run that can be found, newest first: the index, and ``.unslow`` of this folder."""
    folders: dict[Path, None] = {}
    try:
        for line in index_file().read_text().splitlines():
            try:
                folders[Path(json.loads(line)["folder"])] = None
            except (ValueError, KeyError, TypeError):
                continue
    except OSError:
        pass
    here = Path.cwd() / ".unslow"
    if here.is_dir():
        for folder in here.iterdir():
            folders[folder.resolve()] = None
    runs = [run for folder in folders if (run := _known(folder)) is not None]
    return sorted(runs, key=lambda run: run.started, reverse=True)


def _known(folder: Path) -> Known | None:
    try:
        facts = json.loads((folder / "run.json").read_text())
        return Known(
            folder=folder,
            cwd=Path(facts["cwd"]),
            started=facts["started"],
            script=facts.get("script") or " ".join(facts["command"]),
            wall_ns=facts["end_ns"] - facts["start_ns"],
            exit_code=facts["exit_code"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def resolve(name: str) -> Path:
    """The run folder (or file) that ``@last``, ``@-2``, a folder or an ``account.json`` names."""
    if not name.startswith("@"):
        path = Path(name)
        if not path.exists():
            raise UnslowError(
                "no-such-run",
                what=f"there is no run at {name}",
                expected="@last, @-2 (the one before), a run folder or an account.json",
                do="unslow runs lists the runs that are known here",
            )
        return path
    back = 1 if name == "@last" else _back(name)
    runs = known_runs()
    here = Path.cwd()
    mine = [run for run in runs if run.cwd == here] or runs
    if len(mine) < back:
        raise UnslowError(
            "no-run-yet",
            what=f"{name}: {len(mine)} run{'s are' if len(mine) != 1 else ' is'} known",
            expected="a script that has been run under unslow here",
            do="unslow run train.py",
        )
    return mine[back - 1].folder


def _back(name: str) -> int:
    number = name.removeprefix("@-")
    if name.startswith("@-") and number.isdigit() and int(number) > 0:
        return int(number)
    raise UnslowError("bad-run-name", what=f"{name} names no run", expected="@last, or @-2 for the one before", do="unslow runs lists them")


def prune(keep: int) -> list[Path]:
    """Remove all known runs but the newest ``keep``; only folders that hold a run.json of ours. Returns what was removed."""
    removed = []
    for run in known_runs()[keep:]:
        if (run.folder / "run.json").is_file() and (run.folder / "recording").is_dir():
            shutil.rmtree(run.folder, ignore_errors=True)
            removed.append(run.folder)
    return removed
