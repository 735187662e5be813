"""What the doctor looks at: the machine, its rates, each framework's cost of one call, and what cannot be seen here."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from unslow import units
from unslow.launch.command import choose_python
from unslow.launch.machine import machine_facts, timer_noise_ns
from unslow.launch.rates import rates

# One small operator, called many times: what a framework charges for asking. The best of some rounds, as noise only adds.
_ASK = {
    "torch": "import torch as f; x = f.ones(8); call = lambda: x + x",
    "numpy": "import numpy as f; x = f.ones(8, f.float32); call = lambda: x + x",
    "tensorflow": "import tensorflow as f; x = f.ones(8); call = lambda: x + x",
    "jax": "import jax as f, jax.numpy as n; x = n.ones(8); call = lambda: (x + x).block_until_ready()",
}
_ROUNDS = """
import time, json
call()
best = min((lambda t: (([call() for _ in range(2000)], time.perf_counter() - t)[1]))(time.perf_counter()) for _ in range(5)) / 2000
print(json.dumps({"version": f.__version__, "call_ns": best * 1e9}))
"""


def examine(python: str | None) -> dict[str, Any]:
    """Everything that ``unslow doctor`` says, as JSON values."""
    executable = os.path.abspath(choose_python(python))
    machine = machine_facts()
    cores = max(int(machine["cores_usable"]), 1)
    measured = {}
    for threads in sorted({1, cores}):
        found, problem = rates(threads, thorough=True)
        measured[str(threads)] = found or {"problem": problem}
    return {
        "machine": machine,
        "rates": measured,
        "timer": timer_noise_ns(),
        "python": executable,
        "bootstrap": _bootstrap(executable),
        "frameworks": {name: _call_cost(executable, code) for name, code in _ASK.items()},
        "not_measured": _blind_spots(machine),
    }


def _bootstrap(executable: str) -> str:
    """What the interpreter says about the way we get into it."""
    code = "import sys; print(sys.flags.isolated or sys.flags.ignore_environment or sys.flags.no_site, '%d.%d' % sys.version_info[:2])"
    try:
        flags, version = subprocess.run(
            [executable, "-c", code], capture_output=True, text=True, timeout=30, check=True, cwd=os.sep
        ).stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError) as problem:
        return f"the interpreter does not run: {problem}"
    if tuple(int(part) for part in version.split(".")) < (3, 11):
        return f"Python {version} is older than 3.11: scripts run, nothing inside them is recorded"
    return "loads" if flags in ("0", "False") else "does not load: the interpreter ignores its environment"


def _call_cost(executable: str, code: str) -> dict[str, Any] | None:
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
    try:
        done = subprocess.run(
            [executable, "-c", code + _ROUNDS], capture_output=True, text=True, timeout=120, env=environment, check=True, cwd=os.sep
        )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None
    return found


def _blind_spots(machine: dict[str, Any]) -> list[str]:
    spots = []
    if not machine["gpus"]:
        spots.append("device work: no GPU is visible here")
    if machine["quota_cores"] is not None:
        spots.append(f"more than {machine['quota_cores']:g} cores: the container's quota ends there, whatever the affinity says")
    return spots


def describe(found: dict[str, Any]) -> str:
    """The findings as text."""
    machine = found["machine"]
    quota = "none" if machine["quota_cores"] is None else f"{machine['quota_cores']:g} cores"
    lines = [
        f"processor      {machine['processor']}",
        f"cores          {machine['cores_usable']:g} usable (of {machine['cores']}; affinity {machine['cores_allowed']}, quota {quota})",
        f"memory         {units.size(machine['memory_bytes'])}"
        + (f", limited to {units.size(machine['memory_limit_bytes'])}" if machine["memory_limit_bytes"] else ""),
        f"load now       {machine['load'][0]:.2f}" if machine["load"] else "load now       unknown",
        f"GPUs           {', '.join(machine['gpus']) or 'none visible'}",
        f"clock          {found['timer']['median_ns']} ns between two reads, {units.seconds(found['timer']['worst_ns'])} at worst",
    ]
    for threads, rate in found["rates"].items():
        text = rate.get("problem") or _rate(rate)
        lines.append(f"{threads + ' thread' + ('s' if threads != '1' else ''):14} {text}")
    lines.append(f"python         {found['python']}: recording {found['bootstrap']}")
    for name, cost in found["frameworks"].items():
        text = "not installed" if cost is None else f"{cost['version']}: {units.seconds(cost['call_ns'])} for one call of an operator"
        lines.append(f"{name:14} {text}")
    lines += [f"not measurable {spot}" for spot in found["not_measured"]]
    return "\n".join(lines) + "\n"


def _rate(rate: dict[str, Any]) -> str:
    noisy = " (noisy)" if rate["noisy"] else ""
    return f"{rate['flops_per_s'] / 1e9:.0f} GFLOP/s in float32, {units.size(rate['bytes_per_s'])}/s of memory{noisy}"
