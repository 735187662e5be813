"""More threads compute than there are cores: they wait for each other at the end of every operator."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings import source
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.thresholds import OVERSUBSCRIBED, SHARE_OF_LOOP, THREADS_STALL
from unslow.findings.trainers import Trainer, trainers

CAUSE = "threads.oversubscription"
_SYMPTOMS = {"dispatch.small_ops", "dispatch.python_loop", "host.contention", "optimizer.unfused", "kernel.wrong_variant"}
# Where children train, all that the started process does is wait for them.
_OF_WAITING = {"io.progress_bar", "io.logging", "io.checkpoint", "metrics.every_step", "data.pipeline_serial", "startup.lazy_import"}
_STARTS = ("Process", "Pool", "spawn", "start_processes", "ProcessPoolExecutor", "Popen", "Parallel")


def check(context: Context) -> Iterator[Draft]:
    """Threads of all processes that train at a time, against the cores; and what operators took against what they need."""
    found = trainers(context)
    together = _at_a_time(found)
    threads = sum(one.threads for one in together)
    if not together or threads < OVERSUBSCRIBED * context.cores or max(one.threads for one in together) < 2:
        return
    ratio = sum(one.spent for one in together) / max(sum(one.needs for one in together), 1.0)
    if ratio < THREADS_STALL:
        return
    # They run side by side: the run gets shorter by what one of them does.
    spent = sum(one.spent for one in together) / len(together)
    left = sum(one.needs for one in together) / len(together)
    saved = spent - STILL * left
    if saved < SHARE_OF_LOOP * context.loop:
        return
    worst = max(together, key=lambda one: one.slowest_ns - one.slowest_needs)
    many, cores = len(together), context.cores
    per_process = max(int(cores // many), 1)
    who = f"{many} processes compute with {threads} threads in all" if many > 1 else f"torch computes with {threads} threads"
    yield Draft(
        cause=CAUSE,
        title=(
            f"{who}, on {cores:g} cores: {worst.slowest.removeprefix('aten.').split('.')[0]} takes {worst.slowest_ns / 1e6:.2g} ms, "
            f"its arithmetic {worst.slowest_needs / 1e6:.2g} ms"
        ),
        ns=round(min(spent, context.wall)),
        saved=(0.85 * saved, 0.97 * saved, spent - 0.7 * left),
        evidence=(
            evidence("threads that compute at a time", threads, "threads"),
            evidence("cores", cores, "cores"),
            evidence("processes that train at a time", many, "processes"),
            evidence("forward, backward and optimizer over what their operators need", ratio, "x"),
        ),
        where=unique(_set(context, together), _started(context) if many > 1 else None, context.hot_lines("backward")[:1]),
        fix=Fix("num-threads", "safe", f"torch.set_num_threads({per_process}){' in each process' if many > 1 else ''}"),
        confidence=0.9,
        explains=frozenset(_SYMPTOMS | (_OF_WAITING if not context.steps else set())),
    )


STILL = 2.0
"""What operators take at best, in units of what they need: Python between them, and needs are counted cautiously."""


def _at_a_time(found: list[Trainer]) -> list[Trainer]:
    """The most processes that train in the same stretch of time."""
    groups = [[other for other in found if other.begin <= one.begin <= other.end] for one in found]
    return max(groups, key=lambda group: sum(one.threads for one in group), default=[])


def _set(context: Context, together: list[Trainer]) -> list[Where]:
    """Where the number of threads was set: a call that was seen, or a variable of the environment in the source."""
    pids = {one.lane.pid for one in together}
    told = [fact.get("value") for lane, fact in context.lane_facts("setting set_num_threads") if lane.pid in pids]
    sites = [one["site"] for one in told if isinstance(one, dict) and one.get("site")]
    found = [Where(str(site[0]), int(site[1]), site[2]) for site in sites]
    for file in context.files if not found else ():
        parsed = source.tree(file)
        for node in ast.walk(parsed[0]) if parsed else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith("_NUM_THREADS"):
                found += [Where(file, node.lineno)]
    return found[:2]


def _started(context: Context) -> list[Where]:
    return [place for name in _STARTS if (place := context.made_at(name)) is not None][:2]
