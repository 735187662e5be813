"""The reader of the stream: what was written comes back, what is damaged is read as far as it goes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unslow.errors import UnslowError
from unslow.recording.format import MAGIC, LaneWriter, describe, read_lane, used_bytes
from unslow.recording.model import Lane


def writer() -> LaneWriter:
    """A stream with a span ``Net`` (16), a span ``Linear`` (17), a mark (18) and a part (19); its base is 1000."""
    stream = LaneWriter(pid=7, base=1000, span_cost_ns=9)
    stream.define(16, "span", "Net", "forward", file="/t.py", line=3, grad=True)
    stream.define(17, "span", "Linear", "forward")
    stream.define(18, "mark", "script begins", event="script.begin")
    stream.define(19, "part", "ToTensor", "data.transform")
    return stream


def read(stream: LaneWriter | bytes, tmp_path: Path) -> tuple[Lane, tuple[str, ...]]:
    path = tmp_path / "lane.unslow"
    path.write_bytes(stream if isinstance(stream, bytes) else stream.to_bytes())
    lane, problems = read_lane(path)
    assert lane is not None
    return lane, problems


def events(lane: Lane) -> list[tuple[int, int, int]]:
    return list(zip(lane.event_time.tolist(), lane.event_code.tolist(), lane.event_end.tolist(), strict=True))


def test_everything_written_comes_back(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(18, 1)
    stream.begin(16, 10)
    stream.blob("fact", name="threads", value=2, t=11)
    stream.part(19, 5, 64)
    stream.end(16, 20)
    stream.sample(21, 1, 16)
    stream.blob("stack", id=1, frames=[["/t.py", 3, "main"]], leaf=["/lib.py", 9, "inner"])
    stream.blob("totals", t0=30, t1=40, parts=[[0, 10, 0]], eval=[], steps=0, step_ns=[])
    stream.trailer(50)
    lane, problems = read(stream, tmp_path)
    assert problems == ()
    assert events(lane) == [(1001, 18, 0), (1010, 16, 0), (1020, 16, 1)]
    assert (lane.part_event.tolist(), lane.part_ns.tolist(), lane.part_count.tolist(), lane.part_code.tolist()) == ([2], [5], [64], [19])
    assert (lane.sample_time.tolist(), lane.sample_stack.tolist(), lane.sample_code.tolist()) == ([1021], [1], [16])
    assert lane.stacks[1].frames == (("/t.py", 3, "main"),) and lane.stacks[1].leaf == ("/lib.py", 9, "inner")
    assert lane.totals[0]["t0"] == 1030 and lane.facts[0]["value"] == 2
    assert lane.definitions[16].attributes == {"grad": True} and lane.definitions[16].line == 3
    assert (lane.ended, lane.last_time, lane.unclosed, lane.pid) == (1050, 1050, 0, 7)


def test_open_spans_are_closed_at_the_last_time(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(16, 10)
    stream.begin(17, 12)
    stream.blob("fact", name="x", value=1, t=30)
    lane, problems = read(stream, tmp_path)
    assert problems == () and lane.ended is None and lane.unclosed == 2
    assert events(lane)[-2:] == [(1030, 17, 1), (1030, 16, 1)]


def test_spans_open_when_totals_begin_end_there(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(16, 10)
    stream.blob("totals", t0=20, t1=60, parts=[[16, 40, 0]], eval=[])
    stream.begin(18, 50)
    lane, problems = read(stream, tmp_path)
    assert problems == () and lane.unclosed == 0
    assert events(lane) == [(1010, 16, 0), (1020, 16, 1), (1050, 18, 0)]


def test_the_last_definition_of_a_code_holds(tmp_path: Path) -> None:
    stream = writer()
    stream.define(16, "span", "Net", "loss")
    lane, _ = read(stream, tmp_path)
    assert lane.definitions[16].activity == "loss"


def test_the_data_end_at_the_first_zero_word(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(18, 5)
    length = len(stream.to_bytes())
    lane, problems = read(stream.to_bytes() + bytes(4096), tmp_path)
    assert problems == () and len(lane.event_time) == 1
    assert used_bytes(tmp_path / "lane.unslow") == length


@pytest.mark.parametrize("cut", range(1, 16))
def test_a_torn_end_loses_only_the_end(tmp_path: Path, cut: int) -> None:
    stream = writer()
    stream.begin(18, 5)
    stream.begin(16, 6)
    stream.part(19, 1, 2)
    lane, _ = read(stream.to_bytes()[:-cut], tmp_path)
    assert lane.event_time.tolist() == [1005, 1006, 1006]
    assert len(lane.part_ns) == 0


def test_a_torn_blob_reads_as_the_end(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(18, 5)
    stream.word(400, 1)
    lane, problems = read(stream, tmp_path)
    assert lane.event_time.tolist() == [1005] and "torn" in problems[0]


def test_an_end_that_passes_open_spans_closes_them(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(16, 1)
    stream.begin(17, 2)
    stream.end(16, 3)
    stream.end(17, 4)
    stream.begin(18, 5)
    stream.part(19, 1, 1)
    lane, problems = read(stream, tmp_path)
    assert events(lane) == [(1001, 16, 0), (1002, 17, 0), (1003, 17, 1), (1003, 16, 1), (1005, 18, 0)]
    assert "nest" in problems[0] and lane.part_event.tolist() == [5]


def test_events_without_a_definition_are_left_out_and_said(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(99, 1)
    stream.begin(18, 2)
    lane, problems = read(stream, tmp_path)
    assert lane.event_code.tolist() == [18] and "definition" in problems[0]


def test_an_unknown_word_ends_the_reading(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(18, 2)
    stream.word(7, 9)
    stream.begin(18, 3)
    lane, problems = read(stream, tmp_path)
    assert lane.event_time.tolist() == [1002] and "unknown" in problems[0]


def test_a_signal_handlers_microseconds_are_put_in_order_without_a_word(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(18, 2000)
    stream.begin(18, 1500)
    lane, problems = read(stream, tmp_path)
    assert problems == () and lane.event_time.tolist() == [3000, 3000]


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.unslow"
    path.write_bytes(MAGIC + b"\x02" + bytes(64))
    with pytest.raises(UnslowError) as raised:
        read_lane(path)
    assert raised.value.slug == "recording-version" and "version 2" in str(raised.value)


@pytest.mark.parametrize("data", [b"", bytes(64), b"not a recording at all, but text"])
def test_what_is_no_recording_is_said_not_raised(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.unslow"
    path.write_bytes(data)
    lane, problems = read_lane(path)
    assert lane is None and len(problems) == 1
    assert list(describe(path))[-1].startswith("problem: ")


@pytest.mark.parametrize("seed", range(40))
def test_garbage_never_raises(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    stream = writer()
    for time in range(60):
        code = int(random.integers(16, 20))
        (stream.begin if random.random() < 0.5 else stream.end)(code, time)
    data = bytearray(stream.to_bytes())
    for place in random.integers(8, len(data), size=8).tolist():
        data[place] = int(random.integers(0, 256))
    path = tmp_path / "a.unslow"
    path.write_bytes(data)
    lane, _ = read_lane(path)
    list(describe(path))
    if lane is not None:
        starts = int((lane.event_end == 0).sum())
        marks = sum(lane.definitions[code].kind == "mark" for code in lane.event_code.tolist())
        assert starts - marks == len(lane.event_time) - starts
        assert (np.diff(lane.event_time) >= 0).all()


def test_the_text_names_what_happened_in_order(tmp_path: Path) -> None:
    stream = writer()
    stream.begin(16, 2_000_000)
    stream.part(19, 5, 64)
    stream.end(16, 3_000_000)
    path = tmp_path / "lane.unslow"
    stream.save(path)
    text = list(describe(path))
    assert text[0] == "lane.unslow  recording version 1"
    assert text[-3:] == [
        "      0.002000  begin forward Net (/t.py:3)",
        "                  part data.transform ToTensor 5 ns, 64 times",
        "      0.003000  end forward Net (/t.py:3)",
    ]
