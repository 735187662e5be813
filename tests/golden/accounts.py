"""Accounts made up for the reports: an ordinary one, and those that are hard to draw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unslow.account.model import (
    Account,
    Activity,
    Bin,
    Evidence,
    Finding,
    Fix,
    Floor,
    Gain,
    Interval,
    NotMeasured,
    Overlapped,
    Part,
    Segment,
    Steps,
    Where,
)

MS = 1_000_000
HOME = "/home/ada/mnist"
SCRIPT = f"{HOME}/train.py"

SOURCE = '''\
"""A small network on MNIST."""
import time

import torch
from torch import nn
from torchvision import datasets, transforms


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.ReLU(), nn.Linear(8, 10))

    def forward(self, x):
        return self.layers(x).log_softmax(dim=1)


train = datasets.MNIST("data", transform=transforms.Compose([transforms.ToTensor()]))
loader = torch.utils.data.DataLoader(train, batch_size=30000, shuffle=True, num_workers=2)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
start = time.time()
for epoch in range(5):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
print(f"elapsed {time.time() - start:.2f} s")
'''


def line(text: str) -> int:
    """The number of the first line of ``SOURCE`` that holds ``text``."""
    return next(number for number, one in enumerate(SOURCE.splitlines(), 1) if text in one)


def at(text: str, ms: int, function: str = "<module>") -> Where:
    """A line of ``SOURCE`` and its time."""
    return Where(SCRIPT, line(text), function, ms * MS)


def ordinary() -> Account:
    """MNIST with two workers: nearly all of it is waiting for them."""
    rows = (
        Activity("data.wait", 17_612 * MS, 10, (at("for images", 17_612),), (Part("worker batch", 17_612 * MS, 10),)),
        Activity(
            "startup.import", 1_497 * MS, 1_214, (at("import torch", 1_201), at("from torchvision", 240)),
            (Part("torch", 1_201 * MS, 902), Part("torchvision", 240 * MS, 260), Part("numpy", 56 * MS, 52)),
        ),
        Activity("forward", 403 * MS, 10, (at("self.layers(x)", 380, "forward"),), (Part("Net", 403 * MS, 10),)),
        Activity("backward", 211 * MS, 10, (at("loss.backward", 211),)),
        Activity("teardown", 190 * MS, 1),
        Activity("setup", 121 * MS, 1, (at("datasets.MNIST", 104),)),
        Activity("data.workers", 61 * MS, 10, (at("for images", 61),)),
        Activity("startup.interpreter", 41 * MS, 1),
        Activity("loss", 22 * MS, 10, (at("nll_loss", 22),)),
        Activity("script", 9 * MS, 61),
        Activity("optimizer", 8 * MS, 10),
        Activity("zero_grad", 2 * MS, 10),
        Activity("logging", 1 * MS, 6),
        Activity("unexplained", 64 * MS + 17, 31),
        Activity("observer", 11 * MS + 321, 4_120),
    )  # fmt: skip
    workers = tuple(
        Overlapped(name, ms * MS, count, f"worker {number} of loader 1 (started 5 times)", (), parts)
        for number in (0, 1)
        for name, ms, count, parts in (
            ("transform", 14_100, 150_000, (Part("ToTensor", 14_100 * MS, 150_000),)),
            ("fetch", 2_230, 150_000, ()),
            ("collate", 520, 5, ()),
            ("hand-over", 310, 5, ()),
            ("startup", 240, 5, ()),
            ("idle", 95, 10, ()),
        )
    )
    own = Interval(
        "own", SCRIPT, line("start ="), SCRIPT, line("elapsed"), 18_330 * MS,
        (
            Activity("data.wait", 17_612 * MS, 10), Activity("forward", 403 * MS, 10), Activity("backward", 211 * MS, 10),
            Activity("data.workers", 61 * MS, 10), Activity("loss", 22 * MS, 10), Activity("script", 9 * MS, 61),
            Activity("optimizer", 8 * MS, 10), Activity("zero_grad", 2 * MS, 10), Activity("logging", 1 * MS, 6),
            Activity("unexplained", 1 * MS, 1), Activity("observer", 0, 0),
        ),
    )  # fmt: skip
    wall = sum(row.ns for row in rows)
    return Account(
        command=("python", "train.py"), exit_code=0, script=SCRIPT, source="run", wall_ns=wall, activities=rows,
        steps=Steps(
            10, 5, 2_080 * MS, 1_250 * MS, 2_790 * MS, "optimizer.step",
            tuple(Bin((1_000 + 250 * i) * MS, (1_250 + 250 * i) * MS, n) for i, n in enumerate((1, 1, 0, 1, 3, 2, 1, 1))),
        ),
        overlapped=workers, intervals=(own,),
        floor=Floor(565_000_000, 94_700_000, 21 * MS, "step 4 was looked into: 38 operators, 5.6e+08 floating-point operations"),
        facts={
            "framework": "torch", "torch": "2.14.1", "device": "cpu", "threads": 2, "parameters": 6_370, "batch_size": 30_000,
            "samples": 60_000, "shuffle": True, "num_workers": 2, "dtype": "torch.float32", "loss_first": 2.3121, "loss_last": 2.2017,
            "optimizer": {"name": "SGD", "lr": 0.01, "momentum": 0.0}, "python": "3.11.9", "cpu_ns": 36_200 * MS, "max_rss_bytes": 811_000_000,
            "processes": 11, "machine": {"processor": "A Processor 3.0 GHz", "cores": 8, "cores_usable": 2.0, "memory_bytes": 16 * 10**9},
            "rates": {"flops_per_s": 9.2e10, "bytes_per_s": 1.1e10, "threads": 2, "noisy": False},
        },
        not_measured=(NotMeasured("device work", "no GPU is visible here"),), strip=_strip(wall), started="2026-11-30T23:46:15.120+01:00",
    )  # fmt: skip


def _strip(wall: int) -> tuple[Segment, ...]:
    pieces: list[tuple[int, str]] = [(41, "startup.interpreter"), (1_497, "startup.import"), (121, "setup")]
    for _ in range(5):
        pieces += [
            (12, "data.workers"),
            (1_900, "data.wait"),
            (40, "forward"),
            (21, "backward"),
            (1_620, "data.wait"),
            (40, "forward"),
            (21, "backward"),
        ]
    pieces.append((190, "teardown"))
    segments, now = [], 0
    for ms, name in pieces:
        segments.append(Segment(now, now + ms * MS, name))
        now += ms * MS
    return (*segments[:-1], Segment(segments[-1].start_ns, wall, "teardown"))


def with_findings() -> Account:
    """The same run, diagnosed."""
    main = Finding(
        "data.per_sample_transform", "300 000 images went one by one through ToTensor, the same 60 000 in each of 5 epochs", 17_612 * MS, 0.87,
        0.95, Gain(5.0, 6.4, 8.0), None,
        (
            Evidence("117 µs each in each of two workers", 117.0, "µs"),
            Evidence("both cores were already busy, so more workers cannot help", 0.99, "share"),
        ),
        (Where(SCRIPT, line("ToTensor")),), Fix("cache_dataset", "safe"),
    )  # fmt: skip
    second = Finding(
        "data.worker_startup", "the workers were started again for each of 5 epochs", 61 * MS, 0.003, 0.8, Gain(1.0, 1.01, 1.02), None,
        (), (Where(SCRIPT, line("num_workers")),), Fix("persistent_workers", "safe"), secondary=True,
    )  # fmt: skip
    return replace(ordinary(), findings=(main, second), healthy=False)


def hostile() -> Account:
    """Names that try to leave their place, paths too long for a line, no steps, an end by a signal."""
    file = "/data/" + "a-very-long-folder-name/" * 9 + "<script>alert(1)</script>.py"
    evil = "<script>alert('part')</script>\x1b[31m\nred"
    rows = (
        Activity("script", 1_200 * MS, 3, (Where(file, 1, "</text><script>", 1_100 * MS), Where(file, 99_999, None, 90 * MS)), (Part(evil, 1_100 * MS, 2),)),
        Activity("startup.import", 250 * MS, 40, (), (Part("日本語のモジュール", 200 * MS, 1), Part("x" * 300, 50 * MS, 1))),
        Activity("unexplained", 50 * MS, 0),
        Activity("observer", 0, 0),
    )  # fmt: skip
    facts: dict[str, Any] = {"<b>name</b>": "<img src=x onerror=alert(1)>", "device": ["cpu", "\udcff"], "nested": {"a": {"b": "</style>"}}}
    return Account(
        command=("python", file, "--name", "<script>alert('argument')</script>", "\udcfe"), exit_code=-9, script=file, source="run",
        wall_ns=1_500 * MS, activities=rows, steps=Steps(0), facts=facts,
        overlapped=(Overlapped("script", 700 * MS, 1, "thread <b>T</b>\x1b[0m", (), (Part(evil, 700 * MS, 1),)),),
        not_measured=tuple(NotMeasured(f"<i>thing</i> {number}", "because\nof & this " * 12) for number in range(6)),
        strip=(Segment(0, 250 * MS, "startup.import"), Segment(250 * MS, 1_500 * MS, "script")), started="not a time",
    )  # fmt: skip


def empty() -> Account:
    """Nothing was recorded: all that is known is how long it was."""
    rows = (Activity("unexplained", 30 * MS, 1), Activity("observer", 0, 0))
    why = "no process of the command was recorded: not Python 3.11 or newer, or started with -I, -E or -S"
    return Account(
        command=("sh", "-c", "true"), exit_code=0, script=None, source="run", wall_ns=30 * MS, activities=rows, steps=Steps(0),
        not_measured=(NotMeasured("everything", why),), strip=(Segment(0, 30 * MS, "unexplained"),),
    )  # fmt: skip


def instant() -> Account:
    """A wall of no time at all: no share exists."""
    return replace(empty(), wall_ns=0, activities=(Activity("unexplained", 0, 0), Activity("observer", 0, 0)), strip=())


def busy() -> Account:
    """Many short steps with evaluation, every kind of row, a job that trained for hours."""
    names = [
        "forward", "backward", "optimizer", "data.fetch", "data.transform", "data.collate", "data.sample", "loss", "zero_grad", "evaluate",
        "evaluate/forward", "evaluate/data.fetch", "evaluate/data.wait", "evaluate/transfer.to_device", "transfer.to_device", "transfer.to_host",
        "sync", "checkpoint", "logging", "metrics", "compile", "gc", "comm", "step", "setup", "script", "startup.import", "startup.interpreter",
        "startup.device", "teardown", "data.wait", "data.workers",
    ]  # fmt: skip
    rows = tuple(Activity(name, 9_000_000 * MS // (i + 2) ** 2, 120_000 // (i + 1)) for i, name in enumerate(names))
    rows += (Activity("unexplained", 40_000 * MS, 9), Activity("observer", 30_000 * MS, 9))
    wall = sum(row.ns for row in rows)
    size = wall // 400
    cycle = ["forward", "backward", "data.fetch", "forward", "optimizer", "forward", "evaluate/forward", "checkpoint"]
    cuts = [*range(0, size * 400, size), wall]
    strip = tuple(Segment(cuts[i], cuts[i + 1], cycle[(i * i // 7) % len(cycle)]) for i in range(400))
    bins = tuple(
        Bin(round(1.2**i * MS), round(1.2 ** (i + 1) * MS), n)
        for i, n in enumerate((0, 3, 40, 900, 8_000, 41_000, 60_000, 9_000, 900, 100, 40, 12, 3, 0, 2))
    )
    return replace(
        ordinary(),
        wall_ns=wall,
        activities=rows,
        strip=strip,
        steps=Steps(119_999, 30, 3 * MS, 2 * MS, 5 * MS, "optimizer.step", bins),
        intervals=(),
        floor=None,
    )


def healthy() -> Account:
    """A run in which the steps took the time, with a second clock inside the loop, and nothing to find."""
    rows = (
        Activity("forward", 31_000 * MS, 400, (at("self.layers(x)", 30_400, "forward"),), (Part("Net", 31_000 * MS, 400),)),
        Activity("backward", 58_000 * MS, 400, (at("loss.backward", 58_000),)),
        Activity("startup.import", 2_000 * MS, 900, (at("import torch", 1_800),), (Part("torch._C", 700 * MS, 1), Part("torch.nn", 600 * MS, 2), Part("numpy", 300 * MS, 1), Part("896 others", 400 * MS, 896))),
        Activity("optimizer", 1_500 * MS, 400),
        Activity("evaluate/forward", 900 * MS, 40),
        Activity("unexplained", 100 * MS, 3),
        Activity("observer", 55 * MS, 3),
    )  # fmt: skip
    step = (Activity("backward", 58_000 * MS, 400), Activity("forward", 31_000 * MS, 400), Activity("optimizer", 300 * MS, 400))
    own = Interval("own", SCRIPT, line("start ="), SCRIPT, line("elapsed"), 90_800 * MS, (*step[:2], Activity("optimizer", 1_500 * MS, 400), Activity("unexplained", 300 * MS, 2)))  # fmt: skip
    inner = Interval("2", SCRIPT, line("zero_grad"), SCRIPT, line("optimizer.step"), 89_300 * MS, step, 400)
    return replace(
        ordinary(), wall_ns=sum(row.ns for row in rows), activities=rows, healthy=True, overlapped=(), strip=(), intervals=(own, inner),
        steps=Steps(400, 5, 226 * MS, 220 * MS, 240 * MS, "optimizer.step"), not_measured=(), floor=replace(ordinary().floor or Floor(0, 0, 0, ""), ns=180 * MS),
    )  # fmt: skip
