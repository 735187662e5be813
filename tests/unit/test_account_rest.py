"""Lines, work beside the main thread, the floor, the facts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from unslow.account.build import build
from unslow.account.floor import count_flops
from unslow.recording.synth import MS, recording


def test_samples_give_lines_and_never_more_than_the_row() -> None:
    text = (
        "0 script.begin\n0 100 forward Net\n"
        + "".join(f"{at} sample @/t.py:{7 + at // 60}\n" for at in range(10, 100, 10))
        + "100 script.end\n150 trailer"
    )
    forward = next(row for row in build(recording(text)).activities if row.name == "forward")
    assert [(where.file, where.line, where.ns / MS) for where in forward.where] == [("/t.py", 7, 50), ("/t.py", 8, 40)]


def test_a_site_beats_few_samples_and_loses_to_many() -> None:
    few = "0 script.begin\n0 50 data.wait L @/t.py:3\n10 sample @/t.py:9\n60 script.end\n60 trailer"
    many = (
        "0 script.begin\n0 100 data.wait L @/t.py:3\n"
        + "".join(f"{at} sample @/t.py:9\n" for at in range(10, 100, 10))
        + "100 script.end\n100 trailer"
    )
    lines = [next(row for row in build(recording(text)).activities if row.name == "data.wait").where for text in (few, many)]
    assert [(where.line, where.ns / MS) for where in lines[0]] == [(3, 50)]
    assert [(where.line, where.ns / MS) for where in lines[1]] == [(9, 90)]


def test_relative_files_are_made_absolute_and_made_up_code_has_no_line() -> None:
    text = "0 script.begin\n0 50 data.wait L @sub/t.py:3\n60 70 gc x\n65 sample @<string>:4\n80 script.end\n80 trailer"
    rows = {row.name: row for row in build(recording(text, cwd="/place/../home", script="/t.py")).activities}
    assert rows["data.wait"].where[0].file == "/home/sub/t.py" and rows["gc"].where == ()


WORKER = """
    20 worker.begin worker=0
    30 40 data.wait index role=idle
    40 60 data.fetch batch
    45 47 - decode-png otherwise=data.fetch
    50 55 data.collate default
    54 part data.transform ToTensor 3 x64
    61 65 data.wait put role=hand-over
"""


def test_a_worker_has_an_account_of_its_own() -> None:
    main = "0 script.begin\n5 loader.begin loader=3\n100 script.end\n100 trailer"
    account = build(recording(main, others={"worker 0": WORKER}))
    rows = {row.name: row.ns / MS for row in account.overlapped}
    assert rows == {"startup": 30, "idle": 10, "fetch": 13, "decode": 2, "transform": 3, "collate": 2, "hand-over": 4, "other": 1}
    assert {row.process for row in account.overlapped} == {"worker 0"}
    assert not any(row.name.startswith("data.") for row in account.activities)
    transform = next(row for row in account.overlapped if row.name == "transform")
    assert [(part.name, part.count) for part in transform.parts] == [("ToTensor", 64)]


def test_a_worker_started_again_is_the_same_worker() -> None:
    main = "0 script.begin\n0 loader.begin loader=3\n100 script.end\n100 trailer"
    account = build(recording(main, others={"worker 0": WORKER, "worker 0 ": WORKER}))
    assert {row.process for row in account.overlapped} == {"worker 0 of loader 3 (started 2 times)"}
    assert next(row.ns for row in account.overlapped if row.name == "hand-over") == 8 * MS


def test_threads_and_children_are_beside_the_main_thread() -> None:
    others = {"thread pin": "10 30 transfer.to_device pin\n40 trailer", "child 77": "0 script.begin\n5 15 gc x\n20 trailer"}
    account = build(recording("0 script.begin\n50 script.end\n50 trailer", others=others))
    assert {(row.process, row.name, row.ns / MS) for row in account.overlapped} == {
        ("thread pin", "transfer.to_device", 20), ("process 77 helper.py", "gc", 10), ("process 77 helper.py", "script", 10),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "shapes", "flops"),
    [
        ("aten.addmm.default", [[8], [64, 784], [784, 8]], 2 * 64 * 784 * 8),
        ("aten::mm", [[3, 4], [4, 5]], 2 * 3 * 4 * 5),
        ("aten.bmm.default", [[7, 3, 4], [7, 4, 5]], 7 * 2 * 3 * 4 * 5),
        ("aten.baddbmm.default", [[7, 3, 5], [7, 3, 4], [7, 4, 5]], 7 * 2 * 3 * 4 * 5),
        ("aten.linear.default", [[2, 6, 4], [5, 4], [5]], 2 * 2 * 6 * 4 * 5),
        ("aten.convolution.default", [[2, 3, 8, 8], [16, 3, 3, 3], [16]], 2 * 2 * 16 * 64 * 27),
        ("aten.convolution_backward.default", [[2, 16, 8, 8], [2, 3, 8, 8], [16, 3, 3, 3]], 4 * 2 * 16 * 64 * 27),
        (
            "aten._scaled_dot_product_flash_attention_for_cpu.default",
            [[2, 4, 10, 8], [2, 4, 10, 8], [2, 4, 10, 8]],
            2 * 2 * 4 * 10 * 10 * 16,
        ),
        ("aten.mkldnn_rnn_layer.default", [[5, 2, 6], [12, 6], [12, 3], [12], [12], [2, 3], [2, 3]], 2 * 10 * (72 + 36)),
        ("aten.relu.default", [[64, 8]], 512),
        ("aten.add.Tensor", [[64, 8], [8]], 512),
        ("aten._foreach_add_.List", [[4, 61], [4, 61]], 61),
        ("aten.sum.dim_IntList", [[64, 8], 1, False], 512),
        ("aten.view.default", [[64, 8]], 0),
        ("aten.t.default", [[64, 8]], 0),
        ("aten.zeros.default", [], 0),
    ],
)
def test_floating_point_operations_of_one_call(operator: str, shapes: list[list[int]], flops: int) -> None:
    if "rnn_layer" in operator:
        # The initial states are matrices too; they are no weights, and their few products do not matter.
        assert abs(count_flops([[operator, shapes, "float32", 1]]) / flops - 1) < 0.15
    else:
        assert count_flops([[operator, shapes, "float32", 3]]) == 3 * flops


def test_a_strided_convolution_takes_its_output_from_the_backward() -> None:
    image, weight, out = [2, 3, 8, 8], [16, 3, 3, 3], [2, 16, 4, 4]
    both = [["aten.convolution.default", [image, weight], "f", 1], ["aten.convolution_backward.default", [out, image, weight], "f", 1]]
    assert count_flops(both) == (2 + 4) * 2 * 16 * 16 * 27


def inspected(**fields: Any) -> str:
    item = {
        "step": 5,
        "t0": 10 * MS,
        "t1": 20 * MS,
        "ops": [["aten.mm.default", [[10, 10], [10, 10]], "float32", 4]],
        "distinct_bytes": 800,
        **fields,
    }
    return f"0 script.begin\n1 2 optimizer SGD step=true\n20 item inspected {json.dumps(item)}\n40 script.end\n40 trailer"


RATES = {"flops_per_s": 1e9, "bytes_per_s": 1e9, "threads": 2, "noisy": False}


def test_the_floor_is_what_takes_longer_arithmetic_or_memory() -> None:
    account = build(recording(inspected(), rates=RATES))
    assert account.floor is not None and (account.floor.flops, account.floor.bytes, account.floor.ns) == (8_000, 800, 8_000)
    assert "arithmetic is the limit" in account.floor.how and "step 5" in account.floor.how
    account = build(recording(inspected(distinct_bytes=50_000), rates=RATES))
    assert account.floor is not None and account.floor.ns == 50_000 and "memory is the limit" in account.floor.how
    assert account.facts["operators_per_step"] == 4 and account.facts["step_dtypes"] == {"float32": 4}


@pytest.mark.parametrize(("fields", "rates"), [({}, None), ({}, {**RATES, "noisy": True}), ({"truncated": True}, RATES)])
def test_without_rates_or_a_whole_step_there_is_no_floor(fields: dict[str, Any], rates: dict[str, Any] | None) -> None:
    account = build(recording(inspected(**fields), rates=rates))
    assert account.floor is None
    assert any("arithmetic" in entry.what for entry in account.not_measured)


def test_facts_of_optimizer_and_training_loader_get_their_promised_names() -> None:
    loader = json.dumps({"name": "loader 1", "value": {"batch_size": 64, "samples": 750, "shuffle": True}, "t": 1})
    adam = json.dumps(
        {
            "name": "optimizer Adam 1",
            "value": {"name": "Adam", "settings": {"lr": 0.1}, "parameters": 61, "dtype": ["torch.float32"], "device": ["cpu"]},
            "t": 1,
        }
    )
    text = (
        f"0 script.begin\n1 item fact {loader}\n1 item fact {adam}\n2 fact threads=2\n3 fact threads=1\n4 loader.begin loader=1\n"
        "5 6 data.fetch L loader=1\n6 9 forward Net grad=true\n9 script.end\n9 trailer"
    )
    facts = build(recording(text)).facts
    assert facts["threads"] == 1 and facts["optimizer"] == {"name": "Adam", "lr": 0.1} and facts["parameters"] == 61
    assert (facts["batch_size"], facts["samples"], facts["shuffle"], facts["dtype"], facts["device"]) == (
        64,
        750,
        True,
        "torch.float32",
        "cpu",
    )


def test_what_a_process_could_not_measure_is_said_once() -> None:
    item = json.dumps({"what": "imports", "why": "no hook"})
    text = f"0 script.begin\n1 item not_measured {item}\n1 item not_measured {item}\n2 item warning {item}\n3 script.end\n3 trailer"
    said = [(entry.what, entry.why) for entry in build(recording(text)).not_measured]
    assert said == [("imports", "no hook"), ("imports", "its hook failed and was taken out: no hook")]
