"""Reading a run folder: every lane in it, and a message where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unslow.errors import UnslowError
from unslow.recording.format import LaneWriter
from unslow.recording.merge import load

RUN = {
    "command": ["python", "a.py"],
    "exit_code": 0,
    "pid": 1,
    "start_ns": 5,
    "end_ns": 9,
    "script": None,
    "cwd": "/",
    "started": "now",
    "later": 1,
}


def test_all_streams_of_a_folder_are_one_recording(tmp_path: Path) -> None:
    (tmp_path / "recording").mkdir()
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    for base, pid in ((30, 3), (10, 1), (20, 2)):
        LaneWriter(pid=pid, base=base).save(tmp_path / "recording" / f"h-{pid}-0.unslow")
    (tmp_path / "recording" / "h-4-0.unslow").write_bytes(b"")
    (tmp_path / "recording" / "probe-problem.txt").write_text("OSError: full\n")
    recording = load(tmp_path)
    assert [lane.pid for lane in recording.lanes] == [1, 2, 3]
    assert recording.run.wall_ns == 4
    assert any("h-4-0" in problem for problem in recording.problems) and any("OSError: full" in problem for problem in recording.problems)


def test_no_run_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnslowError, match="unslow runs") as raised:
        load(tmp_path)
    assert raised.value.slug == "run-missing"


def test_a_damaged_run_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"command": 3')
    with pytest.raises(UnslowError, match="record the script again"):
        load(tmp_path)
