"""A known delay, planted in one part of a training, is found in that part's row and in no other.

The script measures the planted seconds with its own clock; the row may differ from them, beyond what it holds in a twin without the
delay, by 5 % or 20 ms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import Run, assert_sums, under

pytestmark = pytest.mark.torch
SCRIPT = Path(__file__).parent / "scripts" / "training.py"

# place, how, the row that must hold it
PLANTED = [
    ("fetch", "sleep", "data.fetch"),
    ("sampler", "sleep", "data.sample"),
    ("compose", "spin", "data.transform"),
    ("v2", "sleep", "data.transform"),
    ("collate", "spin", "data.collate"),
    ("forward", "spin", "forward"),
    ("loss", "sleep", "loss"),
    ("backward", "sleep", "backward"),
    ("optimizer", "spin", "optimizer"),
    ("evaluate", "sleep", "evaluate"),
    ("checkpoint", "sleep", "checkpoint"),
    ("setup", "sleep", "setup"),
    ("script", "spin", "script"),
]


def run(part: str, way: str, folder: Path) -> tuple[Run, dict[str, float]]:
    """The finished run, and what the script printed: a number after each word."""
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    (work / "training.py").write_text(SCRIPT.read_text())
    done = under(["training.py", part, way], work, folder / "run")
    assert done.exit_code == 0, done.stderr
    return done, {word: float(value) for word, value in (line.split() for line in done.stdout.splitlines())}


def rows(account: dict[str, Any]) -> dict[str, float]:
    """Seconds by row; all of validation, with or without a prefix, is one row here."""
    found: dict[str, float] = {}
    for row in account["activities"]:
        name = "evaluate" if row["name"].startswith("evaluate/") else row["name"]
        found[name] = found.get(name, 0.0) + row["ns"] / 1e9
    return found


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """The rows of the same training without a delay."""
    done, _ = run("nothing", "sleep", tmp_path_factory.mktemp("twin"))
    return rows(done.account())


@pytest.mark.parametrize(("part", "way", "row"), PLANTED, ids=[part for part, _, _ in PLANTED])
def test_found_in_its_row(part: str, way: str, row: str, twin: dict[str, float], tmp_path: Path) -> None:
    """The row holds the planted seconds, the other rows of the training do not."""
    done, printed = run(part, way, tmp_path)
    account = done.account()
    assert_sums(account)
    planted = printed["planted"]
    assert planted >= 0.3
    found = rows(account)
    # Importing torchvision and its first transform are no part of the planted delay.
    assert found.get(row, 0.0) - twin.get(row, 0.0) == pytest.approx(planted, rel=0.05, abs=0.02), found
    others = (
        "data.fetch",
        "data.transform",
        "data.collate",
        "data.sample",
        "forward",
        "loss",
        "backward",
        "optimizer",
        "script",
        "evaluate",
    )
    for name in others:
        if name != row:
            assert found.get(name, 0.0) - twin.get(name, 0.0) < 0.1, (name, found)
    assert account["steps"]["count"] == 20
    assert found["unexplained"] <= max(0.02 * account["wall_ns"] / 1e9, 0.02)


def test_the_lines_of_a_delay(tmp_path: Path) -> None:
    """The seconds of a row come with the user's own line that spent them."""
    done, printed = run("forward", "spin", tmp_path)
    (row,) = [row for row in done.account()["activities"] if row["name"] == "forward"]
    spun = [number for number, text in enumerate(SCRIPT.read_text().splitlines(), 1) if "sum(range" in text or "while time" in text]
    held = sum(where["ns"] for where in row["where"] if where["line"] in spun and where["file"].endswith("training.py"))
    assert held / 1e9 > 0.6 * printed["planted"]


def test_own_clock(tmp_path: Path) -> None:
    """The interval between the script's own clock reads around the loop: as long as the script says, and it sums."""
    done, printed = run("script", "sleep", tmp_path)
    account = done.account()
    own = account["intervals"][0]
    assert own["label"] == "own"
    assert own["ns"] / 1e9 == pytest.approx(printed["elapsed"], rel=0.01, abs=0.005)
    assert sum(row["ns"] for row in own["activities"]) == own["ns"]
    lines = SCRIPT.read_text().splitlines()
    assert "begin = time.time()" in lines[own["line_from"] - 1]
    assert 'print("elapsed"' in lines[own["line_to"] - 1]


def test_in_a_worker(tmp_path: Path) -> None:
    """A slow dataset in a worker: the main thread waits for data, the worker's own account has the fetch."""
    done, printed = run("worker", "sleep", tmp_path)
    account = done.account()
    assert_sums(account)
    spent = sum(float(line) for path in (tmp_path / "work").glob("worker-*") for line in path.read_text().splitlines())
    assert spent >= 0.6
    fetched = sum(row["ns"] for row in account["overlapped"] if row["name"] == "fetch") / 1e9
    assert fetched == pytest.approx(spent, rel=0.05, abs=0.02)
    waited = rows(account)["data.wait"]
    # What the worker does ahead while the main thread is busy is not waited for.
    assert 0.8 * spent <= waited <= spent + rows(account)["data.workers"] + 0.1
    assert printed["planted"] == 0


def test_transform_by_name(tmp_path: Path) -> None:
    """Each transform has its own seconds under its name."""
    done, printed = run("v2", "sleep", tmp_path)
    (row,) = [row for row in done.account()["activities"] if row["name"] == "data.transform"]
    named = {part["name"]: part["ns"] / 1e9 for part in row["parts"]}
    slow = [seconds for name, seconds in named.items() if "Slow" in name]
    assert slow and slow[0] == pytest.approx(printed["planted"], rel=0.05, abs=0.02), named
