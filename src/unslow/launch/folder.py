"""The run folder: where it goes, and what happens where it cannot be made."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from unslow.errors import UnslowError


def run_folder(out: str | None, name: str) -> tuple[Path, tuple[str, ...]]:
    """The folder for a new run, made, and what the user has to be told about it.

    An existing folder that holds something is refused; a place that cannot be written is not: the run then goes to a temporary folder.
    """
    if out is not None:
        return _asked_for(Path(out), name)
    base = Path.cwd() / ".unslow"
    try:
        base.mkdir(exist_ok=True)
        ignore = base / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        return _fresh(base, name), ()
    except OSError as problem:
        return _temporary(base, name, problem)


def short_name(script: str) -> str:
    """What a run is called: the script's name without its ending, in characters that any file system takes."""
    stem = Path(script).stem.strip(".") or "run"
    return "".join(character if character.isalnum() or character in "-_." else "-" for character in stem)[:40]


def discard(folder: Path) -> None:
    """Take a run folder away in which nothing was recorded; a folder that holds anything stays."""
    for one in (folder / "recording", folder):
        try:
            one.rmdir()
        except OSError:
            continue


def _asked_for(folder: Path, name: str) -> tuple[Path, tuple[str, ...]]:
    if folder.exists():
        if not folder.is_dir() or any(folder.iterdir()):
            raise UnslowError(
                "out-not-empty",
                what=f"--out {folder} exists already" + (" and is no folder" if not folder.is_dir() else " and is not empty"),
                expected="a new or empty folder, so that nothing of yours is overwritten",
                do="choose another name, or leave --out away: a new folder is made below .unslow/",
            )
        if not os.access(folder, os.W_OK):
            return _temporary(folder, name, PermissionError(13, os.strerror(13)))
        return folder, ()
    try:
        folder.mkdir(parents=True)
    except OSError as problem:
        return _temporary(folder, name, problem)
    return folder, ()


def _fresh(base: Path, name: str) -> Path:
    stamp = datetime.now().astimezone().strftime("%Y-%m-%dT%H-%M-%S")
    for number in range(1, 1000):
        folder = base / (f"{stamp}-{name}" if number == 1 else f"{stamp}-{number}-{name}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"a thousand runs of {name} in one second")


def _temporary(wanted: Path, name: str, problem: OSError) -> tuple[Path, tuple[str, ...]]:
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=f"unslow-{name}-"))
    return folder, (f"{wanted} cannot be written ({problem.strerror}); this run is kept in {folder}",)
