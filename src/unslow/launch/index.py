"""Which runs there are: an index in the user's state folder, and what ``@last`` stands for."""

from __future__ import annotations

import json
import os
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
    beside = Path.cwd() / ".unslow"
    if beside.is_dir():
        folders |= {folder.resolve(): None for folder in beside.iterdir()}
    runs = [run for folder in folders if (run := _known(folder)) is not None]
    return sorted(runs, key=lambda run: run.started, reverse=True)


def here(runs: list[Known]) -> list[Known]:
    """Those of the runs that were started from this folder, or lie in its ``.unslow``."""
    cwd = Path.cwd()
    return [run for run in runs if run.cwd == cwd or run.folder.parent == (cwd / ".unslow").resolve()]


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
    mine = here(runs) or runs
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


OURS = ("run.json", "account.json", "report.html", "account.part", "report.part")


def prune(keep: int) -> tuple[list[Path], list[Path]]:
    """Remove the runs started from here but the newest ``keep``: what was removed, and what was left because it holds more than ours.

    Only files that unslow wrote are taken away; a folder in which anything else was put stays, with that in it.
    """
    removed: list[Path] = []
    left: list[Path] = []
    for run in here(known_runs())[keep:]:
        (removed if _remove(run.folder) else left).append(run.folder)
    return removed, left


def _remove(folder: Path) -> bool:
    """Whether the folder is gone. ``run.json`` goes last, so that what an error left behind is still known as a run."""
    recording = folder / "recording"
    streams = [] if recording.is_symlink() else [*recording.glob("*.unslow"), recording / "probe-problem.txt"]
    try:
        for path in [*streams, *(folder / name for name in OURS[1:])]:
            path.unlink(missing_ok=True)
        if recording.is_dir() and not recording.is_symlink() and not any(recording.iterdir()):
            recording.rmdir()
        if [path.name for path in folder.iterdir()] != [OURS[0]]:
            return False
        (folder / OURS[0]).unlink()
        folder.rmdir()
    except OSError:
        return False
    return True
