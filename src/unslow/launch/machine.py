"""What this machine is and allows: usable cores (affinity, container quota), memory, processor, load."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any


def machine_facts() -> dict[str, Any]:
    """Facts as JSON values: cores, quota in cores (null: none), memory in bytes, processor, load averages."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return {
        "cores": os.cpu_count() or 1,
        "cores_allowed": affinity,
        "quota_cores": quota,
        "cores_usable": usable_cores(),
        "processor": processor(),
        "memory_bytes": _memory(),
        "memory_limit_bytes": _memory_limit(),
        "system": f"{platform.system()} {platform.release()}",
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "gpus": gpu_devices(),
        "throttled": _throttled(),
    }


def usable_cores() -> float:
    """Cores that this process may really use: affinity, cut by a container's quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return float(affinity) if quota is None else min(float(affinity), quota)


def cpu_quota() -> float | None:
    """The cgroup's CPU quota in cores, version 2 (every level up) or 1; None without one."""
    found: list[float] = []
    for folder in _cgroup_folders():
        limit = _read(folder / "cpu.max")
        if limit:
            quota, _, period = limit.partition(" ")
            if quota.isdigit() and period.isdigit() and int(period):
                found.append(int(quota) / int(period))
    quota_us, period_us = _read(Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")), _read(Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us"))
    if quota_us and period_us and int(quota_us) > 0 and int(period_us) > 0:
        found.append(int(quota_us) / int(period_us))
    return min(found) if found else None


def processor() -> str:
    """The processor's name, as the system gives it."""
    for line in (_read(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def gpu_devices() -> list[str]:
    """Device files of NVIDIA and AMD accelerators; asks no driver."""
    found = sorted(str(path) for path in Path("/dev").glob("nvidia[0-9]*"))
    return found + (["/dev/kfd"] if Path("/dev/kfd").exists() else [])


def timer_noise_ns(rounds: int = 2000) -> dict[str, int]:
    """How finely and how evenly the clock runs here: median and worst gap of back-to-back reads, in nanoseconds."""
    clock = time.perf_counter_ns
    gaps = []
    before = clock()
    for _ in range(rounds):
        now = clock()
        gaps.append(now - before)
        before = now
    gaps.sort()
    return {"median_ns": gaps[len(gaps) // 2], "worst_ns": gaps[-1]}


def _cgroup_folders() -> list[Path]:
    root = Path("/sys/fs/cgroup")
    name = next((line[3:] for line in (_read(Path("/proc/self/cgroup")) or "").splitlines() if line.startswith("0::")), "/")
    folder = root / name.strip("/")
    return [folder, *[parent for parent in folder.parents if parent == root or root in parent.parents]]


def _throttled() -> int | None:
    for folder in _cgroup_folders():
        for line in (_read(folder / "cpu.stat") or "").splitlines():
            if line.startswith("nr_throttled"):
                return int(line.split()[1])
    return None


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _memory_limit() -> int | None:
    limits = [int(text) for folder in _cgroup_folders() if (text := _read(folder / "memory.max")) and text.isdigit()]
    return min(limits) if limits else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
