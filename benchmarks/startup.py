"""What unslow adds before the script's first line and after its last, by interleaved pairs. Targets: 0.1 s and 0.5 s.

python -m benchmarks.startup [--pairs 15]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from benchmarks.measure import EXAMPLES, ONE_THREAD, Timed, interleaved, median_interval, plain, scratch, under

# Both print the clock that this process reads too, first thing and last thing.
FIRST = "import time\nprint('first', time.perf_counter_ns(), flush=True)\n"
LAST = "print('last', time.perf_counter_ns(), flush=True)\n"


def stamps(run: Timed) -> tuple[float, float]:
    """(seconds from the start of the command to the script's first line, from its last line to the end of the command)."""
    marks = dict(line.split() for line in run.stdout.splitlines() if line.startswith(("first", "last")))
    return (int(marks["first"]) - run.start_ns) / 1e9, (run.end_ns - int(marks["last"])) / 1e9


def report(name: str, body: str, pairs: int) -> None:
    script = Path(scratch()) / f"{name.replace(' ', '_')}.py"
    script.write_text(FIRST + body + LAST)
    found = interleaved({"plain": lambda: plain(str(script)), "unslow": lambda: under(str(script))}, pairs)
    print(f"{name}: {pairs} pairs")
    for index, (label, limit) in enumerate((("start-up", 0.1), ("end", 0.5))):
        added = median_interval([stamps(b)[index] - stamps(a)[index] for a, b in zip(found["plain"], found["unslow"], strict=True)])
        state = "met" if added.high <= limit else "failed" if added.low > limit else "undecided"
        ratio = statistics.median(run.wall for run in found["unslow"]) / statistics.median(run.wall for run in found["plain"])
        print(f"  {label:<9} + {added.text('{:.3f}')} s   target {limit} s: {state}" + (f"   (wall {ratio:.2f}x)" if index else ""))


def ends(name: str, *arguments: str, **variables: str) -> None:
    """Around a real training: from the command to the interpreter's start, and from the reaped exit to the prompt."""
    under(str(EXAMPLES / name), *arguments, **variables)  # so that the rates of this machine are known
    before, after = [], []
    for _ in range(3):
        run = under(str(EXAMPLES / name), *arguments, **variables)
        facts = run.document("run.json")
        before.append((facts["start_ns"] - run.start_ns) / 1e9)
        after.append((run.end_ns - facts["end_ns"]) / 1e9)
    start, end = statistics.median(before), statistics.median(after)
    print(f"{name} {' '.join(arguments)}: {start:.3f} s before the interpreter starts, {end:.3f} s after it ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    report("empty script", "", options.pairs)
    report("import torch", "import torch\n", options.pairs)
    ends("regression_torch.py", "--epochs", "1000", **ONE_THREAD)
    ends("mnist_torch.py", "--epochs", "2")


if __name__ == "__main__":
    main()
