"""Predicted against achieved: what a finding promised for ``slow.py``, and what ``fast.py`` gained in interleaved pairs.

The truth is the median of the pairs' ratios (whole process, slow over fast) and its interval; a prediction is a hit if its own
interval, low to high, meets that one. A case without ``fast.py`` is left out.
Every finished case is kept in ``--keep`` at once, so that an interrupted run goes on where it ended.

    python -m benchmarks.calibration CASES [--only C01,C05] [--pairs 5] [--keep calibration.jsonl] [--table docs/calibration.md]
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import interleaved, plain, ratio_interval, under

HITS = 0.8  # of the cases, at least
NARROW = 2.0  # high over low, in at least half of them


@dataclass(frozen=True, slots=True)
class Row:
    """One case: the main finding's promise for the time to finish, and what replacing the script by its cured twin gave."""

    case: str
    cause: str | None
    low: float
    likely: float
    high: float
    true_low: float
    true_median: float
    true_high: float
    pairs: int

    @property
    def hit(self) -> bool:
        return self.low <= self.true_high and self.true_low <= self.high

    @property
    def width(self) -> float:
        return self.high / self.low


def measure(folder: Path, pairs: int) -> Row | None:
    """One run under unslow for the promise, then the pairs without it; None where there is no cured twin."""
    if not (folder / "fast.py").exists():
        return None
    account = under("slow.py", cwd=folder).document("account.json")
    promised: dict[str, Any] = next((one for one in account["findings"] if not one["secondary"]), {})
    gain = promised.get("gain") or {"low": 1.0, "likely": 1.0, "high": 1.0}
    ways = {name: lambda name=name: plain(f"{name}.py", cwd=folder) for name in ("slow", "fast")}
    found = interleaved(ways, pairs, warm_up=False)
    truth = ratio_interval([run.wall for run in found["slow"]], [run.wall for run in found["fast"]])
    return Row(
        folder.name, promised.get("cause"), gain["low"], gain["likely"], gain["high"], truth.low, truth.median, truth.high, truth.count
    )


def table(rows: list[Row]) -> str:
    """Markdown: every case, then the two shares that are asked for."""
    lines = ["| case | main cause | predicted low / likely / high | achieved [interval] | pairs | hit |", "|---|---|---|---|---:|---|"]
    for row in sorted(rows, key=lambda row: row.case):
        predicted = f"{row.low:.2f} / {row.likely:.2f} / {row.high:.2f}"
        achieved = f"{row.true_median:.2f} [{row.true_low:.2f}, {row.true_high:.2f}]"
        lines.append(f"| {row.case} | {row.cause or '–'} | {predicted} | {achieved} | {row.pairs} | {'yes' if row.hit else 'no'} |")
    hits, narrow = sum(row.hit for row in rows), sum(row.width <= NARROW for row in rows)
    lines.append("")
    lines.append(
        f"{hits} of {len(rows)} hit ({hits / len(rows):.0%}, asked {HITS:.0%}); {narrow} within a factor of {NARROW:g} (asked: half)."
    )
    return "\n".join(lines)


def kept(file: Path) -> dict[str, Row]:
    """What an earlier run finished."""
    if not file.exists():
        return {}
    rows = [Row(**json.loads(line)) for line in file.read_text().splitlines() if line.strip()]
    return {row.case: row for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--only", default="", help="names of cases, with commas")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--keep", type=Path, default=Path("calibration.jsonl"))
    parser.add_argument("--table", type=Path, help="write the table there too")
    options = parser.parse_args()
    if not options.cases.is_dir():
        raise SystemExit(f"no such folder of cases: {options.cases}")
    only = set(filter(None, options.only.split(",")))
    done = kept(options.keep)
    for folder in sorted(path.parent.resolve() for path in options.cases.glob("*/case.json")):
        if folder.name in done or (only and folder.name not in only):
            continue
        try:
            row = measure(folder, options.pairs)
        except SystemExit as problem:  # this script does not run here: the others still do
            print(f"{folder.name}: left out: {problem}", file=sys.stderr)
            continue
        if row is None:
            continue
        done[row.case] = row
        with options.keep.open("a") as file:
            file.write(json.dumps(asdict(row)) + "\n")
        print(f"{row.case}: predicted {row.low:.2f} to {row.high:.2f}, achieved {row.true_median:.2f}", file=sys.stderr)
    rows = [row for name, row in done.items() if not only or name in only]
    if not rows:
        raise SystemExit("nothing was measured")
    text = table(rows)
    print(text)
    if options.table:
        options.table.write_text(f"# Predicted against achieved\n\n{text}\n")


if __name__ == "__main__":
    main()
