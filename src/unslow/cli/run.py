"""``unslow run``: the script as plain python would run it, then the verdict."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from unslow.errors import UnslowError

if TYPE_CHECKING:
    from unslow.launch.supervisor import Outcome


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UnslowError("usage", what=message, expected="unslow run [options] train.py [args…]", do="unslow run --help")


def main(words: list[str]) -> int:
    """Parse, run, report; exits as the script did."""
    options, command, script = parse(words)
    from unslow.launch.folder import discard, run_folder
    from unslow.launch.supervisor import die_like, supervise

    folder, messages = run_folder(options.out, _name(command, script))
    try:
        outcome = supervise(
            command, folder=folder, name=folder.name, script=script, python=command[0], messages=messages, meanwhile=_preload
        )
    except OSError as problem:
        discard(folder)
        raise UnslowError(
            "cannot-start",
            what=f"{command[0]} cannot be started: {problem.strerror or problem}",
            expected="a program that this machine can execute",
            do="try the same command without unslow",
        ) from problem
    try:
        _report(outcome, quiet=options.quiet)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # standard error is closed: nobody listens, and the script's end is still the script's
    die_like(outcome.exit_code)
    return outcome.exit_code


def _report(outcome: Outcome, *, quiet: bool) -> None:
    """The account, its documents and the verdict. Whatever goes wrong here is said, and changes nothing of the script's end."""
    from unslow.launch.finish import finish
    from unslow.reports import documents

    say = None if quiet else _say
    again = f"  the recording is kept in {outcome.folder}; `unslow show {outcome.folder}` tries again"
    try:
        for message in outcome.messages:
            _say(message)
        account = finish(outcome, say)
        for problem in documents.write(account, outcome.folder):
            if say is not None:
                say(problem)
        if not quiet:
            _print_verdict(account, outcome.folder)
    except KeyboardInterrupt:
        _say(f"stopped before the account was finished\n{again}")
    except UnslowError as problem:
        _say(f"the account could not be made: {problem.what}\n{again}")
    except Exception as problem:
        _say(f"the account could not be made ({type(problem).__name__}: {problem})\n{again}")


def _name(command: list[str], script: str | None) -> str:
    """What the run folder is called after."""
    from unslow.launch.folder import short_name

    if script is None and command[1:2] == ["-m"]:
        return short_name(command[2])
    if script is None and command[1:2] == ["-c"]:
        return "code"
    return short_name(script or command[0])


def parse(words: list[str]) -> tuple[argparse.Namespace, list[str], str | None]:
    """Our options, the command to execute, and the script's absolute path where there is one. Ours end where the script begins."""
    parser = _Parser(
        prog="unslow run",
        description="Run a training script as plain python would, and account for every second of it.",
        usage="unslow run [--out DIR] [--quiet] [--python EXE] (SCRIPT | -m MODULE | -c CODE | -- COMMAND) [args…]",
        allow_abbrev=False,
    )
    parser.add_argument("--out", metavar="DIR", help="put the run folder here (a new or empty folder)")
    parser.add_argument("--quiet", action="store_true", help="keep the verdict off the terminal")
    parser.add_argument("--python", metavar="EXE", help="the interpreter (default: the active virtual environment's, else unslow's own)")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    ours, rest = _split(words)
    options = parser.parse_args(ours)
    if not rest:
        raise UnslowError(
            "nothing-to-run",
            what="nothing to run was named",
            expected="a script, -m MODULE, -c CODE, or -- COMMAND",
            do="unslow run train.py",
        )
    from unslow.launch.command import choose_python, find_program

    if rest[0] == "--":
        if len(rest) == 1:
            raise UnslowError(
                "nothing-to-run", what="no command follows --", expected="a command that starts Python", do="unslow run -- python train.py"
            )
        find_program(rest[1])
        return options, rest[1:], None
    python = choose_python(options.python)
    if rest[0] in ("-m", "-c"):
        if len(rest) == 1:
            raise UnslowError("usage", what=f"argument expected for {rest[0]}", expected=f"unslow run {rest[0]} …", do="unslow run --help")
        return options, [python, *rest], None
    if rest[0] != "-" and not Path(rest[0]).exists():
        raise _no_such_script(rest[0])
    return options, [python, *rest], str(Path(rest[0]).resolve()) if rest[0] != "-" else None


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our options end at the first word that is none of ours, whatever it is."""
    index = 0
    while index < len(words):
        word = words[index]
        if word in ("--out", "--python"):
            index += 2
        elif word in ("--quiet", "-h", "--help") or word.startswith(("--out=", "--python=")):
            index += 1
        elif word.startswith("-") and word not in ("-m", "-c", "--", "-"):
            raise UnslowError(
                "usage",
                what=f"unslow run has no option {word}",
                expected="--out DIR, --quiet, --python EXE before the script; the script's own arguments after it",
                do="unslow run --help; for an option of Python itself: unslow run -- python " + word + " train.py",
            )
        else:
            break
    return words[:index], words[index:]


def _no_such_script(name: str) -> UnslowError:
    import difflib

    folder = Path(name).parent
    near: list[str] = []
    if folder.is_dir():
        scripts = [path.name for path in folder.glob("*.py")]
        near = [str(folder / match) for match in difflib.get_close_matches(Path(name).name, scripts, 3, 0.5)]
    from unslow.cli.main import COMMANDS

    near += [f"the command `unslow {match}`" for match in difflib.get_close_matches(name, COMMANDS, 1, 0.7)]
    return UnslowError(
        "no-such-script",
        what=f"there is no script {name} in {Path.cwd()}",
        expected="the path of a Python script" + (f"; did you mean {' or '.join(near)}?" if near else ""),
        do="check the path; for a module: unslow run -m MODULE, for another command: unslow run -- COMMAND",
    )


def _preload() -> None:
    from unslow.launch.finish import preload
    from unslow.reports import documents

    preload()
    documents.preload()


def _say(message: str) -> None:
    print(f"unslow: {message}", file=sys.stderr, flush=True)


def _print_verdict(account: object, folder: Path) -> None:
    from unslow.cli.terminal import print_verdict

    print_verdict(account, folder, sys.stderr)
