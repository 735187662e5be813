"""What only the order of events tells: set-up, loss, evaluation, endings."""

from __future__ import annotations

from unslow.account.build import build
from unslow.account.model import Account
from unslow.recording.synth import MS, recording

TRAIN = "grad=true training=true"
VALID = "grad=false training=false"


def rows(account: Account) -> dict[str, float]:
    """Milliseconds by row, those above zero; checks the sum on the way."""
    assert sum(row.ns for row in account.activities) == account.wall_ns
    return {row.name: row.ns / MS for row in account.activities if row.ns}


def step(at: float) -> str:
    """Ten milliseconds of training: 1 zero_grad, 3 forward, 1 loss in the script, 3 backward, 2 optimizer."""
    return f"""
        {at} {at + 1} zero_grad zero_grad
        {at + 1} {at + 4} forward Net {TRAIN}
        {at + 5} {at + 8} backward backward
        {at + 8} {at + 10} optimizer SGD step=true
    """


STEP = {"zero_grad": 1, "forward": 3, "loss": 1, "backward": 3, "optimizer": 2}


def test_a_whole_run_from_spawn_to_exit() -> None:
    account = build(
        recording(
            f"10 script.begin\n12 15 startup.import torch\n20 22 - sleep otherwise=script setup=true\n{step(30)}\n50 script.end\n60 trailer",
            wall=70,
            base=5,
        )
    )
    assert rows(account) == {"startup.interpreter": 10, "startup.import": 3, "setup": 17, "script": 10, "teardown": 20, **STEP}
    setup = next(row for row in account.activities if row.name == "setup")
    assert [(part.name, part.ns / MS) for part in setup.parts] == [("in the script", 15), ("sleep", 2)]


def test_without_training_there_is_no_setup() -> None:
    account = build(recording("1 script.begin\n5 8 - sleep otherwise=script setup=true\n9 script.end\n10 trailer"))
    assert rows(account) == {"startup.interpreter": 1, "script": 8, "teardown": 1}
    assert account.steps.count == 0 and account.floor is None


def test_training_begins_when_its_loader_does() -> None:
    text = f"0 script.begin\n10 loader.begin loader=1\n12 20 data.fetch Loader loader=1\n{step(20)}\n30 script.end\n30 trailer"
    assert rows(build(recording(text))) == {"setup": 10, "script": 2, "data.fetch": 8, **STEP}


def test_a_loader_that_only_feeds_statistics_is_setup() -> None:
    text = f"""
        0 script.begin
        5 loader.begin loader=1
        6 10 data.fetch Loader loader=1
        20 loader.begin loader=1
        21 22 data.fetch Loader loader=1
        {step(22)}
        32 script.end
        32 trailer
    """
    assert rows(build(recording(text))) == {"setup": 16, "data.fetch": 5, "script": 1, **STEP}


def test_a_span_without_an_activity_keeps_the_one_around_it() -> None:
    text = "0 script.begin\n10 20 data.fetch Loader\n12 15 - pickle otherwise=checkpoint\n13 14 - gzip otherwise=logging\n21 25 - pickle otherwise=checkpoint\n30 script.end\n30 trailer"
    account = build(recording(text))
    assert rows(account) == {"script": 16, "data.fetch": 10, "checkpoint": 4}
    fetch = next(row for row in account.activities if row.name == "data.fetch")
    assert {part.name: part.ns / MS for part in fetch.parts} == {"Loader": 7, "pickle": 2, "gzip": 1} and fetch.count == 1


EPOCH = f"""
    100 model.eval
    101 no_grad.enter
    102 loader.begin loader=2
    103 106 data.fetch Loader loader=2
    106 109 forward Net {VALID}
    110 112 data.fetch Loader loader=2
    112 115 forward Net {VALID}
    115 116 transfer.to_host item
    117 118 gc collect
    119 no_grad.exit
    120 122 logging print
"""


def test_validation_is_kept_apart_with_its_own_loader() -> None:
    text = f"0 script.begin\n0 loader.begin loader=1\n0 4 data.fetch Loader loader=1\n{step(4)}\n{EPOCH}\n123 loader.begin loader=1\n123 125 data.fetch Loader loader=1\n{step(125)}\n135 script.end\n135 trailer"
    account = build(recording(text))
    double = {name: 2 * ms for name, ms in STEP.items()}
    assert rows(account) == {
        "data.fetch": 6, "script": 86 + 1 + 1, "logging": 2, "gc": 1, **double,
        "evaluate/data.fetch": 5, "evaluate/forward": 6, "evaluate/transfer.to_host": 1, "evaluate": 3 + 1 + 1 + 1,
    }  # fmt: skip
    assert account.steps.count == 2 and account.steps.epochs == 2


def test_validation_without_no_grad_reaches_back_over_its_data() -> None:
    text = f"""
        0 script.begin
        {step(0)}
        20 loader.begin loader=2
        21 24 data.fetch Loader loader=2
        25 28 forward Net grad=true training=false
        28 30 data.fetch Loader loader=2
        30 33 forward Net grad=true training=false
        40 model.train
        {step(50)}
        60 script.end
        60 trailer
    """
    got = rows(build(recording(text)))
    assert got["evaluate/data.fetch"] == 5 and got["evaluate/forward"] == 6 and got["evaluate"] == 1 + 1 + 7
    assert got["script"] == 20


def test_training_in_evaluation_mode_is_training() -> None:
    text = "0 script.begin\n0 3 forward Net grad=true training=false\n3 4 zero_grad z\n4 6 backward b\n6 8 optimizer SGD step=true\n8 script.end\n8 trailer"
    assert rows(build(recording(text))) == {"forward": 3, "zero_grad": 1, "backward": 2, "optimizer": 2}


def test_weights_made_under_no_grad_are_no_validation() -> None:
    text = f"0 script.begin\n1 no_grad.enter\n3 no_grad.exit\n{step(10)}\n21 no_grad.enter\n25 no_grad.exit\n30 script.end\n30 trailer"
    assert not any(name.startswith("evaluate") for name in rows(build(recording(text))))


def teacher(at: float, teacher_first: bool) -> str:
    calls = [f"{at + 4} {at + 6} forward Teacher {VALID}", f"{at + 6} {at + 8} forward Student {TRAIN}"]
    if not teacher_first:
        calls = [f"{at + 4} {at + 6} forward Student {TRAIN}", f"{at + 6} {at + 8} forward Teacher {VALID}"]
    middle = "\n".join(calls)
    return f"""
        {at} {at + 2} data.fetch Loader loader=1
        {at + 3} no_grad.enter
        {middle}
        {at + 8} no_grad.exit
        {at + 10} {at + 12} backward b
        {at + 12} {at + 13} optimizer SGD step=true
    """


def test_a_teacher_inside_a_step_counts_alone() -> None:
    for first in (True, False):
        text = f"0 script.begin\n0 loader.begin loader=1\n{teacher(0, first)}\n{teacher(13, first)}\n26 script.end\n26 trailer"
        got = rows(build(recording(text)))
        assert got["evaluate/forward"] == 4 and "evaluate" not in got and got["forward"] == 4, first


def test_validation_in_the_middle_of_an_epoch_is_no_teacher() -> None:
    text = f"""
        0 script.begin
        0 loader.begin loader=1
        0 1 data.fetch Loader loader=1
        {step(1)}
        11 12 data.fetch Loader loader=1
        13 no_grad.enter
        14 loader.begin loader=2
        15 17 data.fetch Loader loader=2
        17 20 forward Net {VALID}
        21 no_grad.exit
        {step(22)}
        32 script.end
        32 trailer
    """
    got = rows(build(recording(text)))
    assert got["evaluate/data.fetch"] == 2 and got["evaluate/forward"] == 3 and got["evaluate"] == 3 and got["script"] == 2


def test_an_abrupt_end_is_said() -> None:
    account = build(recording(f"0 script.begin\n{step(0)}\n20 ... data.wait worker\n30 sample @/t.py:5", wall=36, exit_code=-9))
    assert rows(account) == {**STEP, "script": 10, "data.wait": 10, "unexplained": 6}
    assert any("abruptly" in entry.why for entry in account.not_measured)


def test_a_finished_span_is_not_stretched_by_an_abrupt_end() -> None:
    account = build(recording(f"0 script.begin\n0 ... step fit\n{step(0)}\n30 sample @/t.py:5", wall=30))
    # The gap before the backward is time of the open span, and so is all that follows; the optimizer's own span has ended.
    assert rows(account) == {"zero_grad": 1, "forward": 3, "step": 21, "backward": 3, "optimizer": 2}


def test_no_lane_at_all_leaves_everything_unexplained() -> None:
    empty = recording("0 script.begin\n1 trailer", wall=50)
    account = build(type(empty)(empty.run, ()))
    assert rows(account) == {"unexplained": 50}
    assert "-I" in account.not_measured[0].why


def test_behind_a_wrapper_the_earliest_python_is_the_main_thread() -> None:
    whole = recording("0 script.begin\n1 trailer", others={"child 50": f"20 script.begin\n{step(30)}\n45 script.end\n50 trailer"}, wall=60)
    account = build(type(whole)(whole.run, whole.lanes[1:]))
    assert rows(account)["startup.interpreter"] == 20 and rows(account)["forward"] == 3 and rows(account)["teardown"] == 15


def test_validation_ends_where_training_mode_comes_back() -> None:
    text = f"""
        0 script.begin
        {step(0)}
        20 model.eval
        21 24 forward Net {VALID}
        25 model.train
        26 28 checkpoint torch.save
        30 no_grad.enter
        31 33 forward Teacher {VALID}
        34 no_grad.exit
        {step(40)}
        50 script.end
        50 trailer
    """
    got = rows(build(recording(text)))
    assert got["checkpoint"] == 2 and got["evaluate/forward"] == 5 and got["evaluate"] == 2 + 2
