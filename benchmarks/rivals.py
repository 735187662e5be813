"""unslow beside py-spy, pyinstrument, cProfile and torch.profiler (those that are installed): loop and wall, as ratios to plain Python.

All on the regression (about 0.4 ms a step) with one intra-op thread: its tensors are too small for a second one, which only adds noise.

    python -m benchmarks.rivals [--rounds 5] [--epochs 200]
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path

from benchmarks.measure import EXAMPLES, ONE_THREAD, Timed, interleaved, plain, ratio_interval, scratch, timed, under

TORCH_PROFILER = """
import runpy, sys, torch
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
with torch.profiler.profile() as profile:
    runpy.run_path(sys.argv[0], run_name="__main__")
profile.export_chrome_trace("trace.json")
"""


def ways(epochs: int) -> dict[str, object]:
    """Each profiler's own way to run a script, as its manual says."""
    script = [str(EXAMPLES / "regression_torch.py"), "--epochs", str(epochs), "--seed", "1"]
    here = Path(scratch())
    (here / "whole.py").write_text(TORCH_PROFILER)

    def command(*words: str) -> Timed:
        return timed([*words, *script], cwd=here, **ONE_THREAD)

    found = {
        "plain": lambda: plain(*script, **ONE_THREAD),
        "plain again": lambda: plain(*script, **ONE_THREAD),
        "unslow": lambda: under(*script, **ONE_THREAD),
        "cProfile": lambda: command(sys.executable, "-m", "cProfile", "-o", "profile.out"),
        "torch.profiler": lambda: command(sys.executable, "whole.py"),
    }
    spy = shutil.which("py-spy") or shutil.which(str(Path(sys.executable).parent / "py-spy"))
    if spy:
        found["py-spy"] = lambda: command(spy, "record", "-o", "profile.svg", "--", sys.executable)
    if importlib.util.find_spec("pyinstrument"):
        found["pyinstrument"] = lambda: command(sys.executable, "-m", "pyinstrument", "-o", "profile.txt")
    for name in ("py-spy", "pyinstrument"):
        if name not in found:
            print(f"{name} is not installed: left out")
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=200)
    options = parser.parse_args()
    found = interleaved(ways(options.epochs), options.rounds)  # type: ignore[arg-type]
    print(f"regression_torch.py --epochs {options.epochs}, {options.rounds} interleaved rounds, one thread; ratios to plain python")
    for name, runs in found.items():
        if name == "plain":
            continue
        loop = ratio_interval([run.elapsed or 0.0 for run in runs], [run.elapsed or 1.0 for run in found["plain"]])
        wall = ratio_interval([run.wall for run in runs], [run.wall for run in found["plain"]])
        print(f"  {name:<15} loop {loop.text()}   wall {wall.text()}")


if __name__ == "__main__":
    main()
