"""``unslow runs``: the runs that are known, and taking old ones away."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def main(words: list[str]) -> int:
    """List, newest first; with --prune N, keep the newest N."""
    parser = argparse.ArgumentParser(
        prog="unslow runs", description="List the runs that were started from this folder.", allow_abbrev=False
    )
    parser.add_argument("--prune", type=_count, metavar="N", help="keep the newest N runs that were started here and remove the others")
    parser.add_argument("--all", action="store_true", help="list the runs that were started from any folder")
    options = parser.parse_args(words)
    from unslow.launch.index import here, known_runs, prune
    from unslow.units import seconds

    if options.prune is not None:
        removed, left = prune(options.prune)
        for folder in removed:
            print(f"removed {_short(str(folder))}")
        for folder in left:
            print(f"left    {_short(str(folder))}  (it holds more than the files of a run)")
        print(f"{len(removed)} run{'s' if len(removed) != 1 else ''} removed, {len(here(known_runs()))} kept")
        return 0
    known = known_runs()
    runs = known if options.all else here(known)
    if not runs:
        more = f"; {len(known)} from other folders: unslow runs --all" if known else ""
        print(f"no runs were started from here yet: unslow run train.py{more}")
    for number, run in enumerate(runs, 1):
        name = "" if options.all else "@last" if number == 1 else f"@-{number}"
        ended = "" if run.exit_code == 0 else f"  exit {run.exit_code}"
        print(f"{name:6} {run.started[:19]}  {seconds(run.wall_ns):>9}  {_short(run.script)}{ended}\n         {_short(str(run.folder))}")
    return 0


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of runs to keep, 0 or more")
    return number


def _short(path: str) -> str:
    here = str(Path.cwd()) + os.sep
    return path.removeprefix(here)
