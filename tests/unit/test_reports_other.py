"""The verdict for a forum, and the run as a trace."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from tests.golden import accounts
from unslow.reports import markdown, perfetto

ALL = [accounts.ordinary, accounts.with_findings, accounts.hostile, accounts.empty, accounts.instant, accounts.busy, accounts.healthy]


@pytest.mark.parametrize("make", ALL)
def test_markdown_is_one_table(make: object) -> None:
    """Each row of the table has its four cells, whatever is in the names."""
    text = markdown.render(make())  # type: ignore[operator]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == "| where the time went | s | % | where |"
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 5, row
    assert "total" in rows[-1]
    assert "\x1b" not in text


def test_markdown_shows_the_causes() -> None:
    text = markdown.render(accounts.with_findings())
    assert "1. 300 000 images" in text and "`train.py:18`" in text and "persistent" not in text


def test_markdown_of_hostile_text_has_no_html() -> None:
    text = re.sub(r"`[^`\n]*`", "", markdown.render(accounts.hostile()))
    assert not re.search(r"<\w", text)


@pytest.mark.parametrize("make", ALL)
def test_trace_events_are_valid(make: object) -> None:
    account = make()  # type: ignore[operator]
    document = json.loads(perfetto.render(account))
    slices = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert len(slices) == 1 + len(account.strip)
    for event in document["traceEvents"]:
        assert {"name", "ph", "pid", "tid", "ts"} <= set(event)
        assert event["ph"] in ("X", "M", "C")
    for before, after in pairwise(slices[1:]):
        assert before["ts"] + before["dur"] == pytest.approx(after["ts"])
    assert sum(document["otherData"]["seconds"].values()) == pytest.approx(account.wall_ns / 1e9)


def test_trace_names_the_workers() -> None:
    document = json.loads(perfetto.render(accounts.ordinary()))
    names = {event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"}
    assert any(name.startswith("worker 0") for name in names)


def test_trace_keeps_the_clocks() -> None:
    own = json.loads(perfetto.render(accounts.healthy()))["otherData"]["clocks"][0]
    assert own["where"] == "train.py:22 to :30" and sum(own["seconds"].values()) == pytest.approx(own["s"])


def test_markdown_shares_sum_to_a_hundred() -> None:
    for make in (accounts.ordinary, accounts.busy, accounts.healthy):
        rows = [line.split(" | ") for line in markdown.render(make()).splitlines() if line.startswith("| ")][1:-1]
        assert sum(round(10 * float(row[2])) for row in rows) == 1000
