"""Overhead of the loop: hooks off and on at random inside one run, in blocks of steps; and whole loops in interleaved pairs.

The target is 2 %. Met: the 95 % interval of the median ratio ends at or below 1.03; failed: it starts above 1.02; else undecided.
Beside it stands the A-A interval (off against off), which says what this machine can tell apart at all, and spans per step times
the measured cost of one.

    python -m benchmarks.overhead [--epochs 2500] [--pairs 6] [--block 200] [--skip-mnist]
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import EXAMPLES, ONE_THREAD, Interval, Timed, interleaved, median_interval, plain, ratio_interval, under, verdict

LIMITS = {"met_below": 1.03, "failed_above": 1.02}
BLOCKS = 60  # at least so many with the hooks off, and with them on


@dataclass(frozen=True, slots=True)
class Block:
    """Some steps in a row with the hooks all in or all out; nanoseconds per step."""

    on: bool
    wall: float
    cpu: float


def blocks_of(folder: Path) -> list[Block]:
    """The blocks that the probe's switch wrote into the recording, without the first (first uses, inspected steps)."""
    from unslow.recording.merge import load

    found = [fact["value"] for fact in facts_of(load(folder)) if fact["name"] == "block"]
    return [Block(block["on"], block["wall_ns"] / block["steps"], block["cpu_ns"] / block["steps"]) for block in found[1:]]


def facts_of(recording: Any) -> list[dict[str, Any]]:
    """The facts of the script's own main thread."""
    main = recording.main if hasattr(recording, "main") else recording.lanes[0]
    facts: list[dict[str, Any]] = list(main.facts)
    return facts


def compare(blocks: list[Block], quantity: str) -> tuple[Interval, Interval]:
    """(on against off, off against off): each block with the nearest free one before it, so that a drift of the machine cancels."""
    ratios, waiting = [], list[Block]()
    for block in blocks:
        if waiting and waiting[-1].on is not block.on:
            on, off = (block, waiting.pop()) if block.on else (waiting.pop(), block)
            ratios.append(getattr(on, quantity) / getattr(off, quantity))
        else:
            waiting.append(block)
    offs = [getattr(block, quantity) for block in blocks if not block.on]
    return median_interval(ratios), ratio_interval(offs[0::2], offs[1::2])


def by_switching(epochs: int, block: int) -> None:
    """The regression, whose steps take less than a millisecond: the hard case."""
    script = str(EXAMPLES / "regression_torch.py")
    run = under(script, "--epochs", str(epochs), "--seed", "1", UNSLOW_EXPERIMENT=f"switch:{block}:1", **ONE_THREAD)
    assert run.folder is not None
    blocks = blocks_of(run.folder)
    counts = {on: sum(item.on is on for item in blocks) for on in (True, False)}
    print(f"regression_torch.py, hooks switched at random every {block} steps: {counts[True]} blocks on, {counts[False]} off, one thread")
    if min(counts.values(), default=0) < BLOCKS:
        print(f"  too few blocks (at least {BLOCKS} of each): undecided; more --epochs give more")
        if min(counts.values(), default=0) < 4:
            return
    off = statistics.median(item.wall for item in blocks if not item.on)
    print(f"  one step without hooks: {off / 1e3:.0f} µs")
    for quantity in ("cpu", "wall"):
        ratio, control = compare(blocks, quantity)
        said = verdict(ratio, **LIMITS) if min(counts.values()) >= BLOCKS else "undecided"
        print(f"  {quantity:<5} on / off {ratio.text()}   off / off {control.text()}   {said}")
    price(run, off)


def price(run: Timed, step_ns: float) -> None:
    """What the header of the stream says a span costs, times the spans of a step."""
    from unslow.recording.merge import load

    assert run.folder is not None
    recording = load(run.folder)
    main = recording.main if hasattr(recording, "main") else recording.lanes[0]
    cost = main.header.get("span_cost_ns", 0) if isinstance(main.header, dict) else main.header.span_cost_ns
    account = run.document("account.json")
    per_step = (
        "data.fetch",
        "data.sample",
        "data.collate",
        "forward",
        "loss",
        "backward",
        "optimizer",
        "zero_grad",
        "transfer.to_host",
        "sync",
    )
    spans = sum(row["count"] for row in account["activities"] if row["name"] in per_step) / max(account["steps"]["count"], 1)
    print(f"  counted: {spans:.1f} spans a step x {cost} ns = {spans * cost / 1e3:.1f} µs, {100 * spans * cost / step_ns:.2f} % of a step")


def by_pairs(name: str, pairs: int, arguments: list[str], variables: dict[str, str]) -> None:
    """Whole loops, as the script's own clock measures them, with and without unslow; each pair back to back, order drawn."""
    script = str(EXAMPLES / name)
    ways = {
        "plain": lambda: plain(script, *arguments, **variables),
        "again": lambda: plain(script, *arguments, **variables),
        "unslow": lambda: under(script, *arguments, **variables),
    }
    found = interleaved(ways, pairs)
    loops = {way: [run.elapsed or 0.0 for run in runs] for way, runs in found.items()}
    ratio, control = ratio_interval(loops["unslow"], loops["plain"]), ratio_interval(loops["again"], loops["plain"])
    print(f"{name} {' '.join(arguments)}, whole loops in {pairs} interleaved pairs (plain: {statistics.median(loops['plain']):.2f} s)")
    print(f"  loop  unslow / plain {ratio.text()}   plain / plain {control.text()}   {verdict(ratio, **LIMITS)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=2500, help="of the regression: 12 steps each")
    parser.add_argument("--block", type=int, default=200, help="steps")
    parser.add_argument("--pairs", type=int, default=6, help="of whole loops")
    parser.add_argument("--skip-mnist", action="store_true")
    options = parser.parse_args()
    by_switching(options.epochs, options.block)
    by_pairs("regression_torch.py", options.pairs, ["--epochs", "300", "--seed", "1"], ONE_THREAD)
    if not options.skip_mnist:
        by_pairs("mnist_torch.py", options.pairs, ["--epochs", "2", "--seed", "1"], {})


if __name__ == "__main__":
    main()
