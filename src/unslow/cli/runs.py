"""``unslow runs``: the runs that are known, and taking old ones away."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def main(words: list[str]) -> int:
    """List, newest first; with --prune N, keep the newest N."""
    parser = argparse.ArgumentParser(prog="unslow runs", description="List the runs that are known here.", allow_abbrev=False)
    parser.add_argument("--prune", type=_count, metavar="N", help="keep the newest N runs and remove the others")
    options = parser.parse_args(words)
    from unslow.launch.index import known_runs, prune
    from unslow.units import seconds

    if options.prune is not None:
        removed = prune(options.prune)
        for folder in removed:
            print(f"removed {folder}")
        print(f"{len(removed)} run{'s' if len(removed) != 1 else ''} removed, {len(known_runs())} kept")
        return 0
    runs = known_runs()
    if not runs:
        print("no runs are known here yet: unslow run train.py")
    for number, run in enumerate(runs, 1):
        name = "@last" if number == 1 else f"@-{number}"
        ended = "" if run.exit_code == 0 else f"  exit {run.exit_code}"
        print(f"{name:6} {run.started[:19]}  {seconds(run.wall_ns):>9}  {_short(run.script)}{ended}\n         {_short(str(run.folder))}")
    return 0


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("a number of runs to keep, 0 or more")
    return number


def _short(path: str) -> str:
    here = str(Path.cwd()) + os.sep
    return path.removeprefix(here)
