"""What is executed: the interpreter, the program's path, and the environment that carries the probe into every Python below."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from unslow.errors import UnslowError

BOOTSTRAP = Path(__file__).resolve().parent.parent / "probe" / "bootstrap"


def choose_python(asked: str | None) -> str:
    """The interpreter for the script: the one asked for, else the active virtual environment's, else unslow's own."""
    if asked is not None:
        return find_program(asked)
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        python = Path(active) / "bin" / "python"
        if python.exists():
            return str(python)
    return sys.executable


def find_program(name: str) -> str:
    """The path of a program as a shell would find it."""
    found = shutil.which(name)
    if found is None:
        raise UnslowError(
            "program-not-found",
            what=f"there is no program {name!r}",
            expected="a program on the PATH, or the path of one",
            do="check the spelling; for a script, leave out `--`: `unslow run train.py`",
        )
    return found


def child_environment(folder: Path) -> dict[str, str]:
    """The environment of the script: its own, with our bootstrap first on ``PYTHONPATH`` and the run folder named."""
    environment = dict(os.environ)
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = f"{BOOTSTRAP}{os.pathsep}{path}" if path else str(BOOTSTRAP)
    environment["UNSLOW_RUN"] = str(folder.resolve())
    environment["UNSLOW_SUPERVISOR"] = str(os.getpid())
    return environment
