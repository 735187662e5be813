"""The machine's rates: arithmetic and memory, measured with numpy in a process of their own, kept per machine and thread count."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

NOISY_SPREAD = 0.5  # the best of the repeats may be half as fast again as their median; beyond that they say nothing
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

# Single precision, matrices that fit the cache: the most that arithmetic reaches here. The copy is far larger than any cache.
_MEASURE = """
import sys, time, json, numpy
from concurrent.futures import ThreadPoolExecutor
budget, threads = float(sys.argv[1]), int(sys.argv[2])
clock = time.perf_counter
a = numpy.ones((512, 512), numpy.float32); b = a * 0.5; out = numpy.empty_like(a)
def repeat(work, amount, seconds):
    work(); rates = []; end = clock() + seconds
    while clock() < end or len(rates) < 3:
        start = clock(); work(); rates.append(amount / (clock() - start))
    rates.sort()
    return rates[-1], rates[len(rates) // 2]
flops = repeat(lambda: numpy.matmul(a, b, out=out), 2 * 512**3, budget / 2)
source = numpy.ones(1 << 24, numpy.float32); target = numpy.empty_like(source)
lanes = max(1, min(threads, 16))
pool, parts = ThreadPoolExecutor(lanes), list(zip(numpy.array_split(target, lanes), numpy.array_split(source, lanes)))
copy = lambda: list(pool.map(lambda part: numpy.copyto(*part), parts)) if lanes > 1 else numpy.copyto(target, source)
memory = repeat(copy, 2 * source.nbytes, budget / 2)
print(json.dumps({"flops": flops, "bytes": memory, "numpy": numpy.__version__}))
"""


def rates(threads: int, *, thorough: bool = False) -> tuple[dict[str, Any] | None, str | None]:
    """Peak float32 operations and bytes a second with ``threads`` threads, and why not where they are not known.

    The first call on a machine takes up to half a second; later ones read the cache. ``thorough`` measures anew, for two seconds.
    """
    path = _cache_file(threads)
    if not thorough and path is not None:
        try:
            kept: dict[str, Any] = json.loads(path.read_text())
            if all(isinstance(kept[name], int | float) and kept[name] > 0 for name in ("flops_per_s", "bytes_per_s")):
                return kept, None
        except (OSError, ValueError, KeyError, TypeError):
            pass  # not there, or not ours: measured again
    measured, problem = measure(threads, 2.0 if thorough else 0.16)
    if measured is not None and not measured["noisy"] and path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(measured))
        except OSError:
            pass
    return measured, problem


def known(threads: int) -> bool:
    """Whether the rates for this number of threads have been measured on this machine."""
    path = _cache_file(threads)
    return path is not None and path.exists()


def measure(threads: int, seconds: float) -> tuple[dict[str, Any] | None, str | None]:
    """Measure now, in a fresh process that starts with this number of threads."""
    environment = dict(os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)))
    environment.pop("UNSLOW_RUN", None)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, str(seconds), str(threads)],
            env=environment,
            # Python looks for modules in the working folder first: there must be none of the user's.
            cwd=os.sep,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as problem:
        return None, f"measuring the machine's rates failed: {type(problem).__name__}"
    best, usual = found["flops"]
    best_bytes, usual_bytes = found["bytes"]
    if best > (1 + NOISY_SPREAD) * usual and best_bytes > (1 + NOISY_SPREAD) * usual_bytes:
        return None, "the machine is too busy for its rates to be measured: unslow doctor tries longer"
    return {"flops_per_s": best, "bytes_per_s": best_bytes, "threads": threads, "noisy": best > (1 + NOISY_SPREAD) * usual}, None


def _cache_file(threads: int) -> Path | None:
    from unslow.launch.machine import processor, usable_cores

    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    machine = hashlib.sha256(f"{processor()} {usable_cores()} {os.uname().nodename}".encode()).hexdigest()[:16]
    return Path(base) / "unslow" / f"rates-{machine}-{threads}.json"
