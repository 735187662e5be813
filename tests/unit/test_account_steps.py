"""Steps: what marks one, how many there were, and the steady one."""

from __future__ import annotations

from unslow.account.build import build
from unslow.account.model import Steps
from unslow.recording.synth import MS, recording


def steps(body: str) -> Steps:
    return build(recording(f"0 script.begin\n{body}\n9000 script.end\n9000 trailer")).steps


def one(at: float, name: str = "SGD", length: float = 2) -> str:
    return f"{at} {at + 3} forward Net grad=true\n{at + 3} {at + 6} backward b\n{at + 6} {at + 6 + length} optimizer {name} step=true\n"


def test_the_most_frequent_optimizer_marks_the_steps() -> None:
    found = steps("".join(one(10 + 20 * i, "D" if i % 3 else "G") for i in range(9)))
    assert (found.count, found.signal) == (6, "optimizer.step")


def test_without_an_optimizer_gradients_mark_them() -> None:
    found = steps("".join(f"{i * 10} {i * 10 + 4} backward b\n" for i in range(5)))
    assert (found.count, found.signal, found.median_ns) == (5, "backward", 10 * MS)


def test_a_closure_counts_once() -> None:
    found = steps("10 30 optimizer LBFGS step=true\n11 14 optimizer LBFGS step=true\n15 17 optimizer LBFGS step=true\n")
    assert found.count == 1


def test_accumulated_gradients_are_one_step() -> None:
    body = "".join(
        f"{i * 10} {i * 10 + 4} backward b\n" + (f"{i * 10 + 5} {i * 10 + 6} optimizer A step=true\n" if i % 4 == 3 else "")
        for i in range(16)
    )
    found = steps(body)
    assert (found.count, found.median_ns) == (4, 40 * MS)


def test_evaluations_and_new_epochs_are_not_the_steady_step() -> None:
    body, at = "", 0
    for epoch in range(3):
        body += f"{at} loader.begin loader=1\n{at + 100} {at + 101} data.fetch L loader=1\n"
        at += 101
        for _ in range(10):
            body += one(at)
            at += 10
        if epoch == 1:
            body += f"{at} no_grad.enter\n{at} {at + 300} forward Net grad=false\n{at + 300} no_grad.exit\n"
            at += 300
    found = steps(body)
    assert (found.count, found.epochs) == (30, 3)
    assert found.median_ns == found.p10_ns == found.p90_ns == 10 * MS
    assert sum(bar.count for bar in found.histogram) == 29 and found.histogram[-1].high_ns > 400 * MS


def test_in_epochs_of_few_steps_the_steady_step_is_the_mean_of_the_epoch() -> None:
    body = ""
    for epoch in range(5):
        at = 1000 * epoch
        body += f"{at} loader.begin loader=1\n{at + 1} {at + 900} data.wait L loader=1\n{one(at + 900)}{at + 910} {at + 911} data.wait L loader=1\n{one(at + 911)}"
    found = steps(body)
    assert (found.count, found.epochs, found.median_ns) == (10, 5, 500 * MS)


def test_totals_add_their_histogram() -> None:
    window = '{"t0": 100000000, "t1": 200000000, "parts": [[19, 100000000, 50]], "eval": [], "steps": 50, "step_ns": [[2097152, 50]]}'
    found = steps(f"{one(10)}{one(30)}100 item totals {window}")
    assert found.count == 52
    assert found.median_ns is not None and 1_572_864 <= found.median_ns <= 2_097_152
    assert sum(bar.count for bar in found.histogram) == 51


def test_no_steps_is_no_distribution() -> None:
    assert steps("10 20 forward Net grad=false") == Steps(count=0)
