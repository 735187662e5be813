"""What the account cannot name: at most 2 % of the wall, on the examples and on five short scripts of usual shapes.

python -m benchmarks.unexplained [--quick]
"""

from __future__ import annotations

import argparse

from benchmarks.measure import EXAMPLES, ONE_THREAD, SCRIPTS, under

LIMIT = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer epochs of the examples")
    options = parser.parse_args()
    few = {"mnist_torch.py": ["--epochs", "1"], "regression_torch.py": ["--epochs", "100"]} if options.quick else {}
    print(f"{'script':<28} {'wall s':>8} {'unexplained':>12} {'observer':>9}  target {100 * LIMIT:.0f} %")
    for path in (EXAMPLES / "mnist_torch.py", EXAMPLES / "regression_torch.py", *sorted(SCRIPTS.glob("*.py"))):
        variables = {} if path.name == "mnist_torch.py" else ONE_THREAD
        account = under(str(path), *few.get(path.name, []), **variables).document("account.json")
        wall = account["wall_ns"]
        shares = {row["name"]: row["ns"] / wall for row in account["activities"]}
        assert sum(row["ns"] for row in account["activities"]) == wall, "the rows make the wall"
        state = "met" if shares["unexplained"] <= LIMIT else "failed"
        print(f"{path.name:<28} {wall / 1e9:>8.2f} {100 * shares['unexplained']:>11.2f}% {100 * shares['observer']:>8.2f}%  {state}")


if __name__ == "__main__":
    main()
