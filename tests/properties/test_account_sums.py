"""That the rows sum to the wall is an equality, whatever was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unslow.account.build import build, timeline
from unslow.account.rows import strip
from unslow.recording.format import LaneWriter
from unslow.recording.model import Recording, Run
from unslow.recording.synth import decoded

SPANS = (
    ("data.fetch", {"loader": 1}), ("data.wait", {"loader": 2}), ("forward", {"grad": True, "training": True}),
    ("forward", {"grad": False, "training": False}), ("forward", {"grad": True, "training": False}), ("backward", {}),
    ("optimizer", {"step": True}), ("zero_grad", {}), ("gc", {}), ("observer", {}), ("startup.import", {}), ("no such activity", {}),
    (None, {"otherwise": "logging", "setup": True}), (None, {}), ("step", {"step": True}),
)  # fmt: skip
MARKS = (
    ("script.begin", {}), ("script.end", {}), ("no_grad.enter", {}), ("no_grad.exit", {}), ("model.eval", {}), ("model.train", {}),
    ("loader.begin", {"loader": 1}), ("loader.begin", {"loader": 2}), ("clock", {"file": "/nowhere.py", "line": 3}), ("clock", {"file": "/nowhere.py", "line": 9}),
)  # fmt: skip
PART, OTHER_PART = 90, 91


@dataclass
class Span:
    """A span or mark, with what lies in it and the gaps before and after."""

    code: int
    before: int
    after: int
    parts: list[tuple[int, int, int]] = field(default_factory=list)
    inner: list[Span] = field(default_factory=list)


gaps = st.integers(0, 2_000)
parts = st.lists(st.tuples(st.sampled_from([PART, OTHER_PART]), st.integers(0, 6_000), st.integers(0, 70)), max_size=3)
mark_codes = st.integers(50, 50 + len(MARKS) - 1)
span_codes = st.integers(16, 16 + len(SPANS) - 1)
leaves = st.builds(Span, st.one_of(mark_codes, span_codes), gaps, gaps, parts)
trees = st.recursive(leaves, lambda inner: st.builds(Span, span_codes, gaps, gaps, parts, st.lists(inner, max_size=4)), max_leaves=40)


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Random nested spans with parts, windows of totals, any costs, any end."""
    base = draw(st.integers(0, 5_000))
    cost = draw(st.integers(0, 1_500))
    writer = LaneWriter(pid=1, base=base, span_cost_ns=cost, inside_cost_ns=draw(st.integers(0, 2_000)))
    for number, (activity, fields) in enumerate(SPANS):
        writer.define(16 + number, "span", f"span {number}", activity, **fields)
    for number, (event, fields) in enumerate(MARKS):
        writer.define(50 + number, "mark", "time.time" if event == "clock" else event, None, event=event, **fields)
    writer.define(PART, "part", "ToTensor", "data.transform")
    writer.define(OTHER_PART, "part", "collate", "data.collate")
    now = 0
    budget = draw(st.integers(0, 200))

    def write(span: Span) -> None:
        nonlocal now, budget
        if budget <= 0:
            return
        now += span.before
        writer.begin(span.code, now)
        for inner in span.inner:
            write(inner)
        for code, ns, count in span.parts:
            writer.part(code, ns, count)
        now += span.after
        budget -= 1
        # Where the budget ran out the process was killed: no end is written any more.
        if span.code < 50 and budget > 0:
            writer.end(span.code, now)

    for span in draw(st.lists(trees, max_size=6)):
        write(span)
        if budget > 0 and draw(st.booleans()):
            length = draw(st.integers(0, 3_000))
            codes = draw(st.lists(st.sampled_from([0, *range(16, 16 + len(SPANS))]), max_size=4))
            rows = [[code, draw(st.integers(0, 2_000)), draw(st.integers(0, 3))] for code in codes]
            writer.blob("totals", t0=now, t1=now + length, parts=rows[:3], eval=rows[3:], steps=0, step_ns=[])
            now += length
    if budget > 0 and draw(st.booleans()):
        writer.blob("inspected", step=1, t0=now // 3, t1=now, ops=[["mm", [[2, 2], [2, 2]], "f", 1]], distinct_bytes=8, cost_ns=draw(gaps))
    if budget > 0 and draw(st.booleans()):
        now += draw(gaps)
        writer.trailer(now)
    sampler = LaneWriter(pid=1, base=base, thread="sampler", lane=1)
    sampler.blob("stack", id=1, frames=[["/nowhere.py", 4, "main"]], leaf=["/nowhere.py", 4, "main"])
    for time in sorted(draw(st.lists(st.integers(0, now + 1_000), max_size=5))):
        sampler.sample(time, 1)
    start = draw(st.integers(0, base + 500))
    end = start + draw(st.one_of(st.integers(0, 3_000), st.integers(now, now + 20_000)))
    run = Run(command=("python",), exit_code=0, pid=1, start_ns=start, end_ns=end, script=None, cwd="/", started="")
    return Recording(run, (decoded(writer, allow_problems=True), decoded(sampler)))


@settings(max_examples=150, deadline=None)
@given(recordings())
def test_rows_sum_to_the_wall(recorded: Recording) -> None:
    account = build(recorded)
    assert sum(row.ns for row in account.activities) == account.wall_ns
    assert all(row.ns >= 0 for row in account.activities)
    names = [row.name for row in account.activities]
    assert len(names) == len(set(names)) and {"unexplained", "observer"} <= set(names)
    for row in account.activities:
        assert sum(one.ns for one in row.where) <= row.ns
        assert not row.parts or sum(part.ns for part in row.parts) == row.ns
    for interval in account.intervals:
        assert sum(row.ns for row in interval.activities) == interval.ns
        assert all(row.ns >= 0 for row in interval.activities)


@settings(max_examples=100, deadline=None)
@given(recordings())
def test_timeline_and_strip_cover_the_run_without_a_hole(recorded: Recording) -> None:
    tiles, wall = timeline(recorded), recorded.run.wall_ns
    assert tiles.start[0] == recorded.run.start_ns and tiles.end[-1] == recorded.run.end_ns
    assert np.array_equal(tiles.start[1:], tiles.end[:-1])
    assert (tiles.end >= tiles.start).all() and (tiles.cost >= 0).all() and (tiles.cost <= tiles.end - tiles.start).all()
    slices = strip(tiles)
    assert len(slices) <= 400 and bool(slices) == bool(wall)
    if slices:
        assert slices[0].start_ns == 0 and slices[-1].end_ns == wall
        assert all(one.end_ns == other.start_ns and one.activity != other.activity for one, other in pairwise(slices))
