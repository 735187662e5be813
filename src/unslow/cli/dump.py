"""``unslow dump``: a raw recording as text, item by item."""

from __future__ import annotations

import argparse
from pathlib import Path

from unslow.errors import UnslowError


def main(words: list[str]) -> int:
    """Print every item of one stream, or of all streams of a run."""
    parser = argparse.ArgumentParser(prog="unslow dump", description="A raw recording as text.", allow_abbrev=False)
    parser.add_argument("recording", nargs="?", default="@last", help="a run (@last, a folder) or one .unslow file")
    options = parser.parse_args(words)
    from unslow.launch.index import resolve
    from unslow.recording.format import describe

    path = resolve(options.recording)
    for file in _streams(path):
        print(f"# {file.name}")
        for line in describe(file):
            print(line)
    return 0


def _streams(path: Path) -> list[Path]:
    if path.is_file() and path.suffix == ".unslow":
        return [path]
    folder = path if path.is_dir() else path.parent
    files = sorted([*folder.glob("*.unslow"), *(folder / "recording").glob("*.unslow")])
    if not files:
        raise UnslowError("no-recording", what=f"{path} holds no recording", expected="a run folder or a .unslow file", do="unslow runs")
    return files
