"""The script's own clock: which reads it subtracts, and the account of what lies between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from unslow.account.build import build
from unslow.account.clocks import clock_pairs
from unslow.account.model import Account
from unslow.recording.synth import MS, recording


@pytest.mark.parametrize(
    ("source", "pairs"),
    [
        ("import time\nt0 = time.time()\nwork()\nprint(time.time() - t0)", {(2, 4)}),
        ("from time import perf_counter as pc\na = pc()\nb = pc()\nprint(f'{b - a:.2f}')", {(2, 3)}),
        (
            "import time\ndef main():\n    start = time.monotonic_ns()\n    end = time.monotonic_ns()\n    return (end - start) / 1e9",
            {(3, 4)},
        ),
        (
            "import time\nclass T:\n  def __enter__(self):\n    self.a = time.time()\n  def __exit__(self, *_):\n    self.b = time.time() - self.a",
            {(4, 6)},
        ),
        ("import time\nlast = time.time()\nfor i in x:\n    now = time.time()\n    print(now - last)\n    last = now", {(2, 4), (4, 4)}),
        ("import time\nt0 = time.time()\nepoch = round(time.time() - t0, 1)\nfull = time.time()", {(2, 3)}),
        ("import time\nt = {}\nt['a'] = time.time()\nt['b'] = time.time()\nd = t['b'] - t['a']", {(3, 4)}),
        ("import time\nstart = time.time()\ndef f():\n    return time.time() - start", {(2, 4)}),
        ("import time\na, b = time.time(), 3\nif (c := time.time()) - a > b: pass", {(2, 3)}),
        ("import time\na = time.time()\nb = time.time()\nprint(5 - 3)", set()),
    ],
)
def test_what_the_source_subtracts(source: str, pairs: set[tuple[int, int]]) -> None:
    reads = {number for number, line in enumerate(source.splitlines(), 1) if "time()" in line or "pc()" in line or "_ns()" in line}
    assert clock_pairs(source, reads) == pairs


def step(at: float) -> str:
    return f"{at} {at + 3} forward Net grad=true\n{at + 3} {at + 6} backward b\n{at + 6} {at + 8} optimizer SGD step=true\n"


def account(tmp_path: Path, source: str, body: str) -> Account:
    path = tmp_path / "train.py"
    path.write_text(source)
    built = build(recording(f"0 script.begin\n{body}\n900 script.end\n900 trailer".replace("@", f"@{path}:")))
    for interval in built.intervals:
        assert sum(row.ns for row in interval.activities) == interval.ns
    return built


SOURCE = "import time\nt0 = time.time()\nwork()\nprint(time.time() - t0)\nt1 = time.time()\nprint(time.time() - t1)\n"


def test_own_is_the_pair_with_the_most_steps(tmp_path: Path) -> None:
    body = f"10 clock time.time @2\n{step(20)}{step(40)}60 clock time.time @4\n70 clock time.time @5\n{step(80)}500 clock time.time @6"
    own, other = account(tmp_path, SOURCE, body).intervals
    assert (own.label, own.line_from, own.line_to, own.ns) == ("own", 2, 4, 50 * MS)
    assert {row.name: row.ns / MS for row in own.activities} == {
        "setup": 10,
        "script": 24,
        "forward": 6,
        "backward": 6,
        "optimizer": 4,
        "unexplained": 0,
        "observer": 0,
    }
    assert {row.name: row.count for row in own.activities}["optimizer"] == 2
    assert (other.label, other.ns) == ("clock", 430 * MS)


def test_reads_that_repeat_are_one_interval_with_their_sum(tmp_path: Path) -> None:
    body = "".join(f"{at} clock time.time @2\n{step(at + 1)}{at + 10} clock time.time @4\n" for at in (10, 100, 200))
    (own,) = account(tmp_path, SOURCE, body).intervals
    assert (own.ns, own.count) == (30 * MS, 3)
    assert {row.name: row.ns / MS for row in own.activities}["forward"] == 9


def test_with_one_start_the_last_end_counts(tmp_path: Path) -> None:
    body = "10 clock time.time @2\n" + "".join(f"{step(at)}{at + 10} clock time.time @4\n" for at in (20, 40, 60))
    (own,) = account(tmp_path, SOURCE, body).intervals
    assert (own.ns, own.count) == (60 * MS, 1)


def test_another_clock_is_no_partner(tmp_path: Path) -> None:
    body = f"10 clock time.time @2\n{step(20)}60 clock time.perf_counter @4"
    assert account(tmp_path, SOURCE, body).intervals == ()


def test_without_a_source_consecutive_reads_are_paired() -> None:
    built = build(
        recording(f"0 script.begin\n10 clock time.time @/gone.py:2\n{step(20)}60 clock time.time @/gone.py:9\n90 script.end\n90 trailer")
    )
    (own,) = built.intervals
    assert (own.file_from, own.line_from, own.line_to, own.ns) == ("/gone.py", 2, 9, 50 * MS)


def test_without_steps_there_is_no_own(tmp_path: Path) -> None:
    built = account(tmp_path, SOURCE, "10 clock time.time @2\n60 clock time.time @4")
    assert [interval.label for interval in built.intervals] == ["clock"]
