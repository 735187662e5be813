"""The vocabularies, and how numbers are written."""

from __future__ import annotations

import pytest

from unslow import activities, units
from unslow.causes import CAUSES
from unslow.errors import UnslowError


def test_every_name_has_one_sentence() -> None:
    for words in (activities.ACTIVITIES, activities.WORKER, CAUSES):
        assert all(text.endswith(".") and text[0].isupper() for text in words.values())
    assert all("." in name for name in CAUSES) and len(CAUSES) >= 58


@pytest.mark.parametrize(
    ("name", "inside"),
    [("forward", "evaluate/forward"), ("script", "evaluate"), ("setup", "evaluate"), ("gc", "gc"), ("startup.import", "startup.import")],
)
def test_names_inside_evaluation(name: str, inside: str) -> None:
    assert activities.evaluated(name) == activities.evaluated(inside) == inside
    assert activities.sentence(inside)


def test_a_name_outside_the_vocabulary_has_no_sentence() -> None:
    with pytest.raises(KeyError):
        activities.sentence("evaluate/dreaming")


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"), (999, "999 ns"), (117_000, "117 µs"), (4_200_000, "4.2 ms"), (999_600_000, "1.0 s"), (17_900_000_000, "17.9 s"),
        (123_400_000_000, "123 s"), (750_000_000_000, "12 min 30 s"), (3_725_000_000_000, "1 h 02 min"), (-4_200_000, "-4.2 ms"),
    ],
)  # fmt: skip
def test_times_are_written_for_people(ns: int, text: str) -> None:
    assert units.seconds(ns) == text


def test_shares_ratios_and_sizes() -> None:
    assert (units.share(89, 100), units.share(1, 250), units.share(1, 0)) == ("89 %", "0.4 %", "-")
    assert (units.ratio(1.27), units.ratio(5.41), units.ratio(120.4)) == ("1.27x", "5.4x", "120x")
    assert (units.size(512), units.size(1_600_000), units.size(2e21)) == ("512 B", "1.6 MB", "2000000 PB")


@pytest.mark.parametrize(
    ("values", "total", "shares"), [([1, 1, 1], 10, [4, 3, 3]), ([0, 0], 5, [0, 0]), ([3, 5], 8, [3, 5]), ([2, 6], 4, [1, 3])]
)
def test_apportioning_keeps_the_sum(values: list[int], total: int, shares: list[int]) -> None:
    assert units.apportion(values, total) == shares


def test_an_error_says_what_happened_what_was_expected_and_what_to_do() -> None:
    text = str(UnslowError("slug", "it broke", "a whole one", "mend it"))
    assert text.splitlines() == ["it broke", "  expected: a whole one", "  do: mend it", "  (slug)"]
