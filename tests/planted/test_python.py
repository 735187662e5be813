"""Known delays in what needs no framework: imports, printing, logging, the collector, the end of a script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import assert_sums, seconds, under

HEAD = "import time\nfrom time import perf_counter as read\n"
SAY = "print('planted', spent)\n"

# name: (source, row); the source sets ``spent``
PLANTED: dict[str, tuple[str, str]] = {
    "import": ("start = read()\nimport slow_module\nspent = read() - start\n" + SAY, "startup.import"),
    "import in a function": ("def f():\n    start = read()\n    import slow_package.inner\n    return read() - start\nspent = f()\n" + SAY, "startup.import"),
    "logging": (
        "import logging\nclass H(logging.Handler):\n    def emit(self, record):\n        time.sleep(0.1)\nlog = logging.getLogger('x')\n"
        "log.addHandler(H())\nstart = read()\nfor n in range(3):\n    log.warning('%d', n)\nspent = read() - start\n" + SAY,
        "logging",
    ),
    "print": (
        "import sys\nclass Slow:\n    def write(self, text):\n        time.sleep(0.05)\n    def flush(self):\n        pass\nreal = sys.stdout\n"
        "sys.stdout = Slow()\nstart = read()\nfor n in range(3):\n    print('x')\nspent = read() - start\nsys.stdout = real\n" + SAY,
        "logging",
    ),
    "gc": (
        "import gc\ngc.disable()\ndef callback(phase, info):\n    time.sleep(0.05)\ngc.callbacks.append(callback)\nstart = read()\n"
        "for n in range(3):\n    gc.collect()\nspent = read() - start\ngc.callbacks.remove(callback)\n" + SAY,
        "gc",
    ),
    "gc with a large heap": (
        "import gc\ngc.disable()\nheap = [[n] for n in range(1_000_000)]\nstart = read()\nwhile read() - start < 0.3:\n    gc.collect()\n"
        "spent = read() - start\n" + SAY,
        "gc",
    ),
    "at exit": (
        "import atexit\ndef last():\n    start = read()\n    time.sleep(0.3)\n    print('planted', read() - start)\natexit.register(last)\n",
        "teardown",
    ),
    "after the script's last line": (
        "import threading\ndef late():\n    time.sleep(0.3)\n    print('planted', 0.3)\nthreading.Thread(target=late).start()\n",
        "teardown",
    ),
    "finalisation": ("class Last:\n    def __del__(self):\n        start = read()\n        time.sleep(0.3)\n        print('planted', read() - start)\nlast = Last()\n", "teardown"),
    "own code": ("start = read()\nwhile read() - start < 0.3:\n    sum(range(1000))\nspent = read() - start\n" + SAY, "setup script"),
    "sleep": ("start = read()\ntime.sleep(0.3)\nspent = read() - start\n" + SAY, "setup script"),
    "another program": ("import subprocess\nstart = read()\nsubprocess.run(['sleep', '0.3'])\nspent = read() - start\n" + SAY, "setup script"),
}  # fmt: skip


@pytest.fixture
def measure(work: Path, tmp_path: Path) -> Callable[[str], tuple[dict[str, Any], float]]:
    """Runs a source under unslow; gives its account and the seconds that it printed as planted."""
    (work / "slow_module.py").write_text("import time\ntime.sleep(0.15)\nfor _ in range(5):\n    time.sleep(0.03)\n")
    (work / "slow_package").mkdir()
    (work / "slow_package" / "__init__.py").write_text("import time\ntime.sleep(0.15)\n")
    (work / "slow_package" / "inner.py").write_text("import time\ntime.sleep(0.15)\n")

    def run(source: str) -> tuple[dict[str, Any], float]:
        (work / "train.py").write_text(HEAD + source)
        done = under(["train.py"], work, tmp_path / "run")
        assert done.exit_code == 0, done.stderr
        account = done.account()
        assert_sums(account)
        (line,) = done.stdout.splitlines()
        return account, float(line.split()[1])

    return run


@pytest.mark.parametrize("name", PLANTED)
def test_found_in_its_row(name: str, measure: Callable[[str], tuple[dict[str, Any], float]]) -> None:
    """The row holds the planted seconds; a bare script's own imports and ending are a few milliseconds."""
    source, row = PLANTED[name]
    account, planted = measure(source)
    assert planted >= 0.3
    found = {item["name"]: item["ns"] / 1e9 for item in account["activities"]}
    ordinary = 0.06 if row in ("startup.import", "teardown") else 0.02
    held = seconds(account, *row.split())
    assert held >= planted - max(0.02, 0.05 * planted), found
    assert held <= planted + max(ordinary, 0.05 * planted), found
    assert found["unexplained"] <= 0.02


def test_module_by_name(measure: Callable[[str], tuple[dict[str, Any], float]]) -> None:
    """Each module's own seconds, under its own name."""
    account, _ = measure(PLANTED["import in a function"][0])
    (row,) = [row for row in account["activities"] if row["name"] == "startup.import"]
    named = {part["name"]: part["ns"] / 1e9 for part in row["parts"]}
    assert named["slow_package"] == pytest.approx(0.15, abs=0.02)
    assert named["slow_package.inner"] == pytest.approx(0.15, abs=0.02)
