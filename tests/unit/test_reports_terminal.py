"""The verdict on a terminal: kept whole in tests/golden, never wider than the terminal, honest in its sums."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.golden import accounts
from unslow.account.model import Activity
from unslow.reports import terminal, words

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
ALL = [accounts.ordinary, accounts.with_findings, accounts.hostile, accounts.empty, accounts.instant, accounts.busy, accounts.healthy]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are written from the working folder: one that holds none of the files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
@pytest.mark.parametrize("width", [80, 100])
def test_golden(make: object, width: int) -> None:
    """The kept texts. After a wanted change, read the difference, then remove the file and run the test once."""
    path = GOLDEN / f"{make.__name__}-{width}.txt"  # type: ignore[attr-defined]
    text = terminal.render(make(), None, width=width)  # type: ignore[operator]
    if not path.exists():
        path.write_text(text)
        pytest.fail(f"{path.name} was missing and has been written: read it")
    assert text == path.read_text()


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("width", [60, 80, 97, 120, 200])
def test_no_line_is_wider_than_the_terminal(make: object, width: int) -> None:
    for line in terminal.render(make(), None, width=width).splitlines():  # type: ignore[operator]
        assert cell_len(line) <= width, line
        assert line == line.rstrip()


@pytest.mark.parametrize("make", ALL)
def test_rows_sum_to_the_total(make: object) -> None:
    """What is printed adds up, as far as the printed digits say."""
    text = terminal.render(make(), None, width=100)  # type: ignore[operator]
    rows = re.findall(r"^ {2}(\S.*?) {2,}(\d[\d.]*) +([\d.]+|-)(?: |$)", text, flags=re.MULTILINE)
    *parts, total = rows
    assert total[0] == "total"
    digits = len(total[1].split(".")[1])
    assert sum(float(seconds) for _, seconds, _ in parts) == pytest.approx(float(total[1]), abs=len(parts) * 10**-digits)
    assert {"unexplained", "observer (unslow itself)"} <= {name for name, _, _ in parts}


@pytest.mark.parametrize("make", [one for one in ALL if one is not accounts.instant])
@pytest.mark.parametrize("width", [80, 120])
def test_shares_sum_to_a_hundred(make: object, width: int) -> None:
    """Not about, but exactly, in tenths of a per cent, and no share is more than a tenth off."""
    account = make()  # type: ignore[operator]
    text = terminal.render(account, None, width=width)
    rows = re.findall(r"^ {2}(\S.*?) {2,}\d[\d.]* +([\d.]+)(?: |$)", text, flags=re.MULTILINE)
    *parts, (total, whole) = rows
    assert (total, whole) == ("total", "100.0")
    assert sum(round(10 * float(share)) for _, share in parts) == 1000
    shown = dict(parts)
    for row in account.activities:
        if words.label(row.name) in shown:
            assert abs(float(shown[words.label(row.name)]) - 100 * row.ns / account.wall_ns) <= 0.1


def test_seconds_in_the_table_are_those_of_the_sentence() -> None:
    """The largest row is rounded as the sentence rounds it, not so that a column adds up."""
    text = terminal.render(accounts.ordinary(), None, width=80)
    assert "17.6 s (87 %)" in text and re.search(r"waiting for workers +17\.6 ", text)


def test_workers_are_told_together_and_each() -> None:
    text = " ".join(terminal.render(accounts.ordinary(), None, width=80).split())
    assert "2 loader workers (each busy for 17.4 s on average, idle for 0.5 % of the time)" in text
    assert "transform 28.2 s (mostly ToTensor)" in text and "idle 190 ms" in text


def test_imports_are_told_by_package() -> None:
    text = terminal.render(replace(accounts.healthy(), wall_ns=4_000 * accounts.MS), None, width=80)
    assert "torch 1.3 s, numpy 300 ms, 896 smaller modules 400 ms" in text


def test_good_news_is_said_first() -> None:
    """A healthy run is good news, also where something small was found."""
    account = replace(accounts.with_findings(), healthy=True)
    assert "nothing is wrong here" in words.verdict(account)
    text = terminal.render(account, None, width=80)
    assert "what could still be better, by little" in text and "  why" not in text
    assert "nothing is wrong" not in words.verdict(accounts.ordinary())


def test_the_next_command_is_about_the_main_thing() -> None:
    assert "unslow explain data.per_sample_transform" in terminal.render(accounts.with_findings(), None, width=80)
    assert "unslow explain backward" in terminal.render(accounts.healthy(), None, width=80)


def test_without_colour_there_is_no_escape() -> None:
    for make in ALL:
        assert "\x1b" not in terminal.render(make(), None, width=80)


def test_colour_changes_no_word() -> None:
    colored = terminal.render(accounts.with_findings(), None, width=80, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == terminal.render(accounts.with_findings(), None, width=80)


def test_report_is_named_only_where_it_is(tmp_path: Path) -> None:
    assert "report.html" not in terminal.render(accounts.ordinary(), tmp_path, width=80)
    (tmp_path / "report.html").touch()
    assert "the whole story: report.html" in terminal.render(accounts.ordinary(), tmp_path, width=80)


def test_the_sentence_without_findings_says_where_not_why() -> None:
    assert words.verdict(accounts.ordinary()).startswith("20.3 s, of which 17.6 s (87 %) went into waiting for batches")
    assert "no training step was seen" in words.verdict(accounts.hostile())
    assert words.verdict(accounts.busy()).startswith(
        "1 h 33 min, of which 1 h 07 min (72 %) went into the training steps themselves; another"
    )


def test_the_sentence_with_findings_is_the_main_cause() -> None:
    assert "300 000 images went one by one" in words.verdict(accounts.with_findings())


def test_every_activity_has_a_phrase() -> None:
    """A sentence about any single row reads as words, not as a name with a dot."""
    from unslow.activities import ACTIVITIES, evaluated

    for name in [*ACTIVITIES, *(evaluated(name) for name in ACTIVITIES)]:
        rows = (Activity(name, 10**9, 1),)
        text = words.verdict(replace(accounts.empty(), wall_ns=10**9, activities=rows))
        assert not re.search(r"\w\.\w", text.replace("1.0 s", "")), text
        assert words.label(name) and words.brief(name)
        assert len(words.plain(name)) <= 50


@pytest.mark.parametrize(("code", "said"), [(None, None), (0, None), (3, "exit code 3"), (-9, "SIGKILL"), (-250, "signal 250")])
def test_endings(code: int | None, said: str | None) -> None:
    text = words.ending(code)
    assert (text is None) if said is None else (said in (text or ""))


def test_paths_are_short_and_harmless(tmp_path: Path) -> None:
    assert words.short_path(str(tmp_path / "a" / "b.py")) == "a/b.py"
    assert words.short_path("/x/y/z.py", "/x/y/train.py") == "z.py"
    assert words.short_path("/x/y/z.py", "/w/train.py") == "/x/y/z.py"
    assert words.short_path("/z.py", "/train.py") == "/z.py"
    assert words.short_path("/a\x1b[31m\n.py") == "/a\\x1b[31m\\n.py"
