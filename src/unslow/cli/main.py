"""Entry point: finds the command, prints errors plainly, and gives the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from unslow.errors import UnslowError

COMMANDS = ("run", "show", "dump", "doctor", "explain", "runs")

USAGE = """\
usage: unslow [run] [--out DIR] [--quiet] [--python EXE] train.py [args…]
       unslow run [options] -m MODULE [args…] | -c CODE [args…] | -- COMMAND…
       unslow show [RUN] [--html | --json | --markdown | --perfetto]
       unslow explain NAME | doctor | runs [--prune N] | dump RECORDING | --version

  run       run a script as plain python would; at the end: where every second went
  show      the verdict of a run again (RUN: @last, @-2, a run folder or an account.json)
  explain   what an activity or a cause means
  doctor    what this machine and these frameworks allow
  runs      list the runs that are known here; --prune N keeps the newest N
  dump      a raw recording as text

unslow COMMAND --help says more. A script named like a command: unslow run NAME
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _dispatch(words)
    except UnslowError as problem:
        print(f"unslow: {problem}", file=sys.stderr)
        code = 2 if words and (words[0] == "run" or words[0] not in COMMANDS) else 1
    except BrokenPipeError:
        # Whoever read our output has gone (`unslow show | head`): nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(USAGE, end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if words[0] in ("--version", "-V"):
        from unslow import __version__

        print(f"unslow {__version__}")
        return 0
    command = words[0] if words[0] in COMMANDS else "run"
    rest = words[1:] if words[0] in COMMANDS else words
    # Imported one by one: `run` must reach the start of the script in a tenth of a second.
    if command == "run":
        from unslow.cli import run

        return run.main(rest)
    if command == "show":
        from unslow.cli import show

        return show.main(rest)
    if command == "dump":
        from unslow.cli import dump

        return dump.main(rest)
    if command == "doctor":
        from unslow.cli import doctor

        return doctor.main(rest)
    if command == "explain":
        from unslow.cli import explain

        return explain.main(rest)
    from unslow.cli import runs

    return runs.main(rest)
