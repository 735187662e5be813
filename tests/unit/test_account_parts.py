"""Parts, totals and the cost of observing: where their nanoseconds come from, and that none is made up."""

from __future__ import annotations

import json

from unslow.account.build import build, timeline
from unslow.account.model import Account
from unslow.recording.synth import MS, recording

COSTS = {"span_cost_ns": 1_000, "inside_cost_ns": 400}


def rows(account: Account) -> dict[str, float]:
    assert sum(row.ns for row in account.activities) == account.wall_ns
    return {row.name: row.ns / MS for row in account.activities if row.ns}


def named(account: Account, row: str) -> dict[str, tuple[float, int]]:
    return {part.name: (part.ns / MS, part.count) for one in account.activities if one.name == row for part in one.parts}


def test_parts_come_out_of_the_span_around_them() -> None:
    text = "0 script.begin\n10 40 data.fetch Loader\n15 20 gc young\n39 part data.transform ToTensor 12 x64\n39 part data.collate stack 3 x1\n50 script.end\n50 trailer"
    account = build(recording(text))
    assert rows(account) == {"script": 20, "gc": 5, "data.fetch": 10, "data.transform": 12, "data.collate": 3}
    assert named(account, "data.transform") == {"ToTensor": (12, 64)}
    assert {row.name: row.count for row in account.activities if row.ns}["data.transform"] == 64


def test_parts_cannot_take_more_than_the_span_has() -> None:
    text = (
        "0 script.begin\n10 20 data.fetch Loader\n19 part data.transform A 8 x1\n19 part data.transform B 8 x1\n30 script.end\n30 trailer"
    )
    account = build(recording(text))
    assert rows(account) == {"script": 20, "data.transform": 10}
    assert named(account, "data.transform") == {"A": (8, 1), "B": (2, 1)}


def test_a_part_lies_before_the_place_where_it_was_written() -> None:
    text = "0 script.begin\n0 100 step fit\n10 11 gc a\n20 part data.transform T 5 x1\n20 21 gc b\n100 script.end\n100 trailer"
    tiles = timeline(recording(text))
    transform = tiles.activity == tiles.names.index("data.transform")
    assert (tiles.start[transform].min(), tiles.end[transform].max()) == (15 * MS, 20 * MS)


def test_parts_in_the_script_itself_come_out_of_the_script() -> None:
    account = build(recording("5 script.begin\n20 21 gc x\n22 part data.transform T 6 x2\n30 script.end\n40 trailer"))
    assert rows(account) == {"startup.interpreter": 5, "script": 18, "data.transform": 6, "gc": 1, "teardown": 10}


def test_observing_is_booked_where_it_happened() -> None:
    account = build(recording("0 script.begin\n1 3 metrics a\n4 6 metrics a\n7 9 gc x\n10 script.end\n10 trailer", header=COSTS))
    assert {row.name: row.ns for row in account.activities} == {
        "metrics": 2 * (2 * MS - 400), "gc": 2 * MS - 400, "script": 4 * MS - 3 * 600, "unexplained": 0, "observer": 3_000,
    }  # fmt: skip
    assert next(row for row in account.activities if row.name == "observer").count == 3


def test_observing_never_costs_more_than_there_is() -> None:
    text = "0 script.begin\n1 1.0001 forward a\n1.0001 1.0002 forward b\n2 script.end\n2 trailer"
    account = build(recording(text, header=COSTS))
    assert {row.name: row.ns for row in account.activities}["observer"] == 100 + 100 + 600
    assert sum(row.ns for row in account.activities) == account.wall_ns


def test_an_inspected_steps_cost_is_observing() -> None:
    item = json.dumps({"step": 2, "t0": 10 * MS, "t1": 20 * MS, "ops": [], "distinct_bytes": 0, "cost_ns": 6 * MS})
    account = build(recording(f"0 script.begin\n10 18 metrics a\n18 20 data.wait b\n30 item inspected {item}\n40 script.end\n40 trailer"))
    assert rows(account) == {"script": 30, "metrics": 2, "data.wait": 2, "observer": 6}


WINDOW = """
    0 script.begin
    0 2 forward Net,grad=true
    2 4 optimizer SGD step=true
    10 30 totals 0=4 forward:Net=10x5 optimizer:SGD,step=true=6x5 steps=5
    40 script.end
    40 trailer
"""


def test_totals_fill_their_window() -> None:
    account = build(recording(WINDOW))
    assert rows(account) == {"script": 16 + 4, "forward": 12, "optimizer": 8}
    assert {row.name: row.count for row in account.activities if row.name in ("forward", "optimizer")} == {"forward": 6, "optimizer": 6}
    assert account.steps.count == 6


def test_totals_that_disagree_with_their_window_are_scaled() -> None:
    account = build(recording("0 script.begin\n10 20 totals 0=10 gc:x=30x3\n30 script.end\n30 trailer"))
    assert rows(account) == {"script": 22.5, "gc": 7.5}


def test_a_window_that_only_validates_is_evaluation() -> None:
    text = "0 script.begin\n10 20 totals 0=2 data.fetch:L=3x3 forward:Net,grad=false=5x3\n20 30 totals 0=2 data.fetch:L=3x3 forward:Net,grad=true=5x3\n30 script.end\n30 trailer"
    got = rows(build(recording(text)))
    assert got["evaluate/forward"] == 5 and got["evaluate/data.fetch"] == 3 and got["evaluate"] == 2
    assert got["forward"] == 5 and got["data.fetch"] == 3


def test_a_teachers_forward_in_a_window_counts_alone() -> None:
    text = "0 script.begin\n10 20 totals 0=2 forward:Teacher,grad=false=5x3 forward:Net,grad=true=3x3\n30 script.end\n30 trailer"
    got = rows(build(recording(text)))
    assert got["evaluate/forward"] == 5 and got["forward"] == 3 and "evaluate" not in got


def test_after_an_abrupt_end_the_unwritten_window_is_unexplained() -> None:
    account = build(recording("0 script.begin\n10 20 totals 0=4 gc:x=6x3\n20 sample @/t.py:1\n27 sample @/t.py:1", wall=30))
    assert rows(account) == {"script": 14, "gc": 6, "unexplained": 10}


def test_an_activity_outside_the_vocabulary_is_unexplained_and_said() -> None:
    account = build(recording("0 script.begin\n1 4 dreaming of-sheep\n5 script.end\n5 trailer"))
    assert rows(account) == {"script": 2, "unexplained": 3}
    assert any(entry.what == "dreaming" for entry in account.not_measured)


def test_of_many_modules_the_rest_of_each_package_stays_together() -> None:
    text = "0 script.begin\n"
    for number in range(250):
        text += f"{number} {number + 1} startup.import {'ab'[number % 2]}.m{number}\n"
    parts = named(build(recording(text + "250 script.end\n250 trailer")), "startup.import")
    assert len(parts) == 102
    assert {name.split(".")[0] for name in parts} == {"a", "b"}
    assert sum(ns for name, (ns, _) in parts.items() if name.startswith("a.")) == 125
    assert parts["a.* (75 more modules)"] == (75, 75)
