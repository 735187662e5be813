"""What the supervisor saw from outside: swapping and crowding, idle cores and the advice that follows from them."""

from __future__ import annotations

from typing import Any

from unslow.account.build import build
from unslow.account.model import Account, Finding
from unslow.findings.engine import diagnose
from unslow.recording.synth import recording

STEPS = 40
MS = 1_000_000


def _run(swapped: int = 0, own: float = 1.0, others: float = 0.0, cores: float = 2, fetch: int = 0, workers: int = 0) -> Account:
    """A training of 40 steps of 100 ms, after which ``fetch`` of each is spent on its batch."""
    lines = ["0 script.begin"]
    facts = {
        "dataset": "D",
        "samples": 400,
        "batch_size": 10,
        "num_workers": workers,
        "automatic_batching": True,
        "site": ["train.py", 3, "f"],
    }
    if fetch:
        lines.append(
            "100 item fact " + '{"name": "loader 1", "value": ' + str(facts).replace("'", '"').replace("True", "true") + ', "t": 1}'
        )
    for step in range(STEPS):
        begin = 100 + 100 * step
        if fetch:
            lines += [f"{begin} {begin + fetch} data.fetch loader loader=1", f"{begin + fetch - 1} {begin + fetch} data.collate c"]
        lines += [
            f"{begin + fetch} {begin + 95} forward Net grad=true training=true",
            f"{begin + 95} {begin + 98} backward b",
            f"{begin + 98} {begin + 100} optimizer o step=true",
        ]
    lines.append("4200 trailer")
    times = range(0, 4201, 200)
    watched = tuple((at * MS, int(at * MS * (own + others)), int(at * MS * own), swapped * at // 4200) for at in times)
    machine: dict[str, Any] = {"cores_usable": cores}
    recorded = recording("\n".join(lines), watched=watched, machine=machine)
    return diagnose(recorded, build(recorded))


def _found(account: Account, cause: str) -> Finding | None:
    return next((one for one in account.findings if one.cause == cause), None)


def test_swapping_is_named_from_pages_that_come_back() -> None:
    """A page costs its time on the disk; where none comes back nothing is said."""
    found = _found(_run(swapped=40_000), "host.swap")
    assert found is not None and found.gain is not None and found.gain.likely > 1.5
    assert _found(_run(), "host.swap") is None


def test_others_on_the_cores_are_named_but_are_no_fault_of_the_script() -> None:
    """A crowded machine is said so, and the script stays healthy."""
    account = _run(own=0.6, others=1.4)
    found = _found(account, "host.contention")
    assert found is not None and found.gain is not None and found.gain.likely <= 1.15
    assert account.healthy
    assert _found(_run(own=1.9), "host.contention") is None
    assert _found(_run(own=0.9, others=0.8, cores=8), "host.contention") is None


def test_more_workers_only_beside_idle_cores() -> None:
    """The same loader: advice where a core is idle, none where all are busy or the quota is one core."""
    assert _found(_run(fetch=60, own=1.0), "data.too_few_workers") is not None
    assert _found(_run(fetch=60, own=1.0, others=1.0), "data.too_few_workers") is None
    assert _found(_run(fetch=60, own=1.0, cores=1), "data.too_few_workers") is None
