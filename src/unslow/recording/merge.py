"""Reading a run folder: the supervisor's facts and the stream of every process, as one recording."""

from __future__ import annotations

from pathlib import Path

import msgspec

from unslow.errors import UnslowError
from unslow.recording.format import read_lane
from unslow.recording.model import Lane, Recording, Run

RUN_FILE = "run.json"
STREAMS = "recording"
PROBLEM_FILE = "probe-problem.txt"


def load(folder: Path | str, run: Run | None = None) -> Recording:
    """Read ``run.json`` and ``recording/*.unslow`` below ``folder``; raises UnslowError where there is no run to read.

    ``run``: the supervisor's facts, where they are known without the file.
    """
    folder = Path(folder)
    if run is None:
        run = load_run(folder)
    lanes: list[Lane] = []
    problems: list[str] = []
    for path in sorted((folder / STREAMS).glob("*.unslow")):
        lane, wrong = read_lane(path)
        problems += wrong
        if lane is not None:
            lanes.append(lane)
    try:
        text = (folder / STREAMS / PROBLEM_FILE).read_text(errors="replace")
        problems += [f"the probe could not start: {line}" for line in text.splitlines() if line.strip()]
    except OSError:
        pass
    lanes.sort(key=lambda lane: (int(lane.header["base"]), lane.pid, str(lane.header["lane"])))
    return Recording(run=run, lanes=tuple(lanes), problems=tuple(problems))


def load_run(folder: Path) -> Run:
    """The supervisor's facts alone."""
    path = folder / RUN_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Run)
    except OSError as problem:
        raise UnslowError(
            "run-missing",
            f"{path} cannot be read: {problem.strerror or problem}",
            "a run folder, as unslow run makes it",
            "list the runs that there are: unslow runs",
        ) from None
    except msgspec.DecodeError as problem:
        raise UnslowError(
            "run-damaged",
            f"{path} is damaged: {problem}",
            "the document that unslow run writes when the script has ended",
            "record the script again: unslow run SCRIPT",
        ) from None
