"""``unslow show``: the verdict of a run again, in any of its forms."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from unslow.errors import UnslowError


def main(words: list[str]) -> int:
    """Print the verdict on stdout."""
    parser = argparse.ArgumentParser(prog="unslow show", description="The verdict of a run again.", allow_abbrev=False)
    parser.add_argument("run", nargs="?", default="@last", metavar="RUN", help="@last (default), @-2, a run folder or an account.json")
    form = parser.add_mutually_exclusive_group()
    for name, text in (
        ("html", "the whole report as one HTML file"),
        ("json", "account.json"),
        ("markdown", "for a forum answer"),
        ("perfetto", "a trace for ui.perfetto.dev"),
    ):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=text)
    options = parser.parse_args(words)
    from unslow.launch.index import resolve

    path = resolve(options.run)
    account, folder = load_account(path)
    if options.form == "json":
        from unslow.reports import json

        _put(json.encode(account).decode())
    elif options.form == "html":
        from unslow.reports import documents, html

        _put(html.render(account, documents.sources(account)))
    elif options.form == "markdown":
        from unslow.reports import markdown

        _put(markdown.render(account))
    elif options.form == "perfetto":
        from unslow.reports import perfetto

        _put(perfetto.render(account))
    else:
        from unslow.cli.terminal import print_verdict

        print_verdict(account, folder, sys.stdout)
    return 0


def _put(document: str) -> None:
    """Documents are UTF-8, whatever the terminal's own encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(document.encode())
    sys.stdout.buffer.flush()


def load_account(path: Path):  # type: ignore[no-untyped-def]
    """The account at a path, made from the recording where it has not been made yet; and the run folder."""
    from unslow.reports import json

    if path.is_file():
        return json.read(path), path.parent
    kept = path / "account.json"
    if kept.exists():
        return json.read(kept), path
    if not (path / "run.json").exists():
        raise UnslowError(
            "no-such-run",
            what=f"{path} holds no run",
            expected="a run folder (with run.json), or an account.json",
            do="unslow runs lists the runs that are known here",
        )
    from unslow.launch.finish import make_account
    from unslow.reports import documents

    account = make_account(path)
    for problem in documents.write(account, path):
        print(f"unslow: {problem}", file=sys.stderr)
    return account, path
