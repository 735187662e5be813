"""report.html: complete in itself, escaped everywhere, and there whatever the account holds."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.golden import accounts
from unslow.account.model import Activity, Where
from unslow.activities import ACTIVITIES, evaluated
from unslow.reports import html
from unslow.reports.colors import color

ALL = [accounts.ordinary, accounts.with_findings, accounts.hostile, accounts.empty, accounts.instant, accounts.busy, accounts.healthy]
VOID = {"meta", "link", "br", "img", "input", "hr", "rect"}


class Page(HTMLParser):
    """Checks that tags nest, and keeps text, tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID - {"rect"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


@pytest.mark.parametrize("make", ALL)
def test_is_complete_in_itself(make: object) -> None:
    """No script, no address, nothing that a browser would fetch; tags nest."""
    page = Page(html.render(make(), {accounts.SCRIPT: accounts.SOURCE}))  # type: ignore[operator]
    for tag, attributes in page.tags:
        assert tag not in ("script", "iframe", "object", "img", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "action"):
            assert (attributes.get(name) or "data:").startswith("data:")
        assert "url(" not in (attributes.get("style") or "")
    assert "url(" not in html.render(make())  # type: ignore[operator]
    assert "total" in page.words


def test_hostile_text_stays_text() -> None:
    page = html.render(accounts.hostile(), {})
    assert "<script" not in page and "<img" not in page and "\x1b" not in page
    assert "&lt;script&gt;alert" in page
    page.encode("utf-8")


def test_source_is_escaped_and_has_its_seconds() -> None:
    account = accounts.ordinary()
    source = accounts.SOURCE.replace("import time", "import time  # </td></table><script>alert(1)</script>")
    page = html.render(account, {accounts.SCRIPT: source})
    assert "<script" not in page
    row = re.search(r"<tr[^>]*>(?:(?!</tr>).)*for images, labels in loader(?:(?!</tr>).)*</tr>", page)
    assert row is not None and "17.7 s" in row[0]


def test_a_missing_source_is_said() -> None:
    page = Page(html.render(accounts.ordinary(), {}))
    assert "could not be read" in page.words


def test_a_source_that_has_changed_since() -> None:
    """Lines beyond the end of a file that got shorter are still listed."""
    page = Page(html.render(accounts.ordinary(), {accounts.SCRIPT: "one\ntwo\n"}))
    assert "17.7 s" in page.words


def test_a_long_file_is_cut_to_what_matters() -> None:
    rows = (
        Activity("script", 10**9, 1, (Where("/x/long.py", 500, "f", 10**9),)),
        Activity("unexplained", 0, 0),
        Activity("observer", 0, 0),
    )
    source = "\n".join(f"line_{number}" for number in range(1, 1001))
    page = html.render(replace(accounts.empty(), wall_ns=10**9, activities=rows), {"/x/long.py": source})
    assert [number for number in range(1, 1001) if f">line_{number}<" in page] == [498, 499, 500, 501, 502]


def test_every_part_of_the_story_is_there() -> None:
    page = Page(html.render(accounts.with_findings(), {accounts.SCRIPT: accounts.SOURCE}))
    for word in (
        "Why", "Where the time went", "The run over time", "The training steps", "By your own clock", "Your source", "At the same time",
        "What was not measured", "Facts of the run", "ToTensor", "train.py:22 to :30", "SGD", "worker 0 of loader 1", "Waiting for another process",
        "A Processor 3.0 GHz", "92 GFLOP/s", "21.0 ms",
    ):  # fmt: skip
        assert word in page.words, word


def test_nothing_is_promised_that_is_not_there() -> None:
    page = Page(html.render(accounts.empty(), {}))
    for word in ("Why", "The training steps", "By your own clock", "Your source", "At the same time"):
        assert word not in page.words
    assert "What was not measured" in page.words


def test_every_activity_has_a_colour_of_the_sheet() -> None:
    page = html.render(accounts.empty())
    for name in [*ACTIVITIES, *(evaluated(name) for name in ACTIVITIES)]:
        assert f".{color(name)} " in page
        if name != "unexplained":
            assert color(name) != "c-unexplained", name


def test_an_ended_run_says_how() -> None:
    assert "ended by SIGKILL" in Page(html.render(accounts.hostile())).words
    assert "exit code 3" in Page(html.render(replace(accounts.ordinary(), exit_code=3))).words


class Shares(HTMLParser):
    """The shares of the rows that are not inside another row, table by table, each ended by its total."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.depth = 0
        self.inside: list[str] = []
        self.tables: list[list[float]] = [[]]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.depth += tag == "details"
        self.inside.append(dict(attrs).get("class") or "")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "details"
        if tag != "rect":
            self.inside.append("")

    def handle_data(self, data: str) -> None:
        if self.depth <= 1 and self.inside and self.inside[-1] == "num pct":
            self.tables[-1].append(float(data.removesuffix(" %")))
        elif data == "100.0 %":
            self.tables.append([])


def test_shares_sum_to_a_hundred() -> None:
    """In the account of the run and in that of the script's own clock."""
    for make, number in ((accounts.ordinary, 2), (accounts.hostile, 1), (accounts.busy, 1), (accounts.healthy, 2)):
        *tables, rest = Shares(html.render(make(), {})).tables
        assert len(tables) == number and not rest
        for shares in tables:
            assert sum(round(10 * share) for share in shares) == 1000, shares


def test_every_row_says_what_it_is() -> None:
    page = Page(html.render(accounts.ordinary(), {}))
    assert "training stands still until a batch arrives" in page.words


def test_other_clocks_are_listed() -> None:
    page = Page(html.render(accounts.healthy(), {}))
    assert "Other clocks in the script" in page.words and "backward 65 %" in page.words
    assert "Other clocks" not in Page(html.render(accounts.ordinary(), {})).words


def test_lines_of_the_workers() -> None:
    account = accounts.ordinary()
    rows = tuple(replace(row, where=(accounts.at("ToTensor", 1_234),)) for row in account.overlapped[:1])
    assert "In your files: train.py:18 1.2 s" in Page(html.render(replace(account, overlapped=rows), {})).words
