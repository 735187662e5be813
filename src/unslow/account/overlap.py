"""Work beside the main thread: loader workers, other threads, child processes. Never part of the sum."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from unslow.account.model import Overlapped, Part
from unslow.account.sweep import HEAD, Swept, codes, cut_parts, sweep, tile
from unslow.account.totals import cut_totals
from unslow.recording.model import Definition, Lane, Recording

_WORKER = {"data.fetch": "fetch", "data.transform": "transform", "data.collate": "collate", "data.wait": "idle", "gc": "fetch"}
MAX_PARTS = 30


@dataclass(slots=True)
class _Sums:
    ns: int = 0
    count: int = 0
    parts: dict[str, list[int]] = field(default_factory=dict)


def overlapped(recording: Recording, main: Lane | None) -> tuple[Overlapped, ...]:
    """One row for each kind of work of each worker, thread and child; a worker started again is the same worker."""
    processes: dict[str, dict[str, _Sums]] = {}
    started: dict[str, int] = {}
    epochs = _epochs(main)
    for lane in recording.lanes:
        if lane is main or lane.thread == "sampler":
            continue
        if lane.thread == "main" and is_worker(lane):
            process = worker_name(lane, epochs if main is not None and lane.header.get("ppid") == main.pid else [])
            started[process] = started.get(process, 0) + 1
            _add(processes.setdefault(process, {}), recording, lane, worker_activity)
        elif main is not None and lane.pid == main.pid and lane.thread != "main":
            _add(processes.setdefault(f"thread {lane.thread}", {}), recording, lane, thread_activity)
        elif lane.thread == "main":
            argv = lane.header.get("argv") or ["python"]
            process = f"process {lane.pid} {os.path.basename(str(argv[0])) or 'python'}"
            _add(processes.setdefault(process, {}), recording, lane, child_activity)
    rows: list[Overlapped] = []
    for process, sums in processes.items():
        times = started.get(process, 1)
        label = f"{process} (started {times} times)" if times > 1 else process
        for name, one in sorted(sums.items(), key=lambda item: -item[1].ns):
            if one.ns > 0:
                parts = sorted((Part(part, ns, count) for part, (ns, count) in one.parts.items()), key=lambda part: -part.ns)[:MAX_PARTS]
                rows.append(Overlapped(name, one.ns, one.count, label, (), tuple(parts)))
    return tuple(rows)


def is_worker(lane: Lane) -> bool:
    """Whether this process is a loader worker; one that was spawned, not forked, learns it only when its work begins."""
    return lane.role == "worker" or any(one.attributes.get("event") == "worker.begin" for one in lane.definitions.values())


def worker_name(lane: Lane, epochs: list[tuple[int, int]]) -> str:
    """``worker 0 of loader 1``, as far as it is known. ``epochs``: when the main thread began one, and of which loader."""
    number = lane.header.get("worker")
    for definition in lane.definitions.values():
        if definition.attributes.get("event") == "worker.begin":
            number = definition.attributes.get("worker", number)
    # A worker is started by the epoch that was begun last.
    before = [loader for time, loader in epochs if time <= int(lane.header["base"])]
    name = f"worker {number}" if number is not None else f"worker process {lane.pid}"
    return f"{name} of loader {before[-1]}" if before else name


def _epochs(main: Lane | None) -> list[tuple[int, int]]:
    """When each epoch of each loader began in the main thread."""
    if main is None:
        return []
    loader_of = {code: definition.attributes.get("loader") for code, definition in main.definitions.items() if definition.kind == "mark"}
    codes_of = [code for code, loader in loader_of.items() if isinstance(loader, int)]
    places = np.flatnonzero(np.isin(main.event_code, codes_of))
    return [(int(main.event_time[i]), int(loader_of[int(main.event_code[i])] or 0)) for i in places.tolist()]


def worker_activity(definition: Definition | None, before_work: bool) -> str | None:
    """What a loader worker does in this span; outside all spans it is starting, until it has waited for its first indices."""
    if definition is None:
        return "startup" if before_work else "other"
    role = definition.attributes.get("role")
    if role is not None:
        return str(role)
    if definition.name.startswith("decode"):
        return "decode"
    activity = definition.activity or str(definition.attributes.get("otherwise", ""))
    if activity.startswith("startup."):
        return "startup" if before_work else "fetch"
    return "observer" if activity == "observer" else _WORKER.get(activity, "other")


def thread_activity(definition: Definition | None, _: bool) -> str | None:
    """What another thread does; outside all spans nothing is known of it."""
    return None if definition is None else definition.activity or str(definition.attributes.get("otherwise", "script"))


def child_activity(definition: Definition | None, before_work: bool) -> str | None:
    """What a child process does, with the names of a main thread."""
    if definition is None:
        return "startup.interpreter" if before_work else "script"
    return definition.activity or str(definition.attributes.get("otherwise", "script"))


def _add(into: dict[str, _Sums], recording: Recording, lane: Lane, name: Callable[[Definition | None, bool], str | None]) -> None:
    alive = max((other.last_time for other in recording.lanes if other.pid == lane.pid), default=lane.last_time)
    swept = sweep(lane, int(lane.header["base"]), recording.run.end_ns, alive)
    table = codes(lane.definitions)
    tiles = cut_parts(cut_totals(tile(swept, table), swept, table), swept, table)
    # After the lane's last word the process or thread may be gone: that is no work of anybody.
    size = max(lane.definitions, default=0) + 1
    begun = _work_begins(swept)
    late = tiles.event >= HEAD + begun
    key = late * size + tiles.code
    real = tiles.event <= len(swept.time) + 1
    ns = np.bincount(key[real], weights=tiles.net[real], minlength=2 * size).astype(np.int64)
    count = np.bincount(key[real], weights=tiles.count[real], minlength=2 * size).astype(np.int64)
    for one in np.flatnonzero((ns > 0) | (count > 0)).tolist():
        definition = lane.definitions.get(one % size)
        row = name(definition, one < size)
        if row is None:
            continue
        sums = into.setdefault(row, _Sums())
        sums.ns += int(ns[one])
        sums.count += int(count[one])
        if definition is not None:
            part = sums.parts.setdefault(definition.name, [0, 0])
            part[0] += int(ns[one])
            part[1] += int(count[one])
    cost = int(tiles.cost[real].sum())
    if cost:
        sums = into.setdefault("observer", _Sums())
        sums.ns += cost
        sums.count += int(swept.nesting.begin.sum())


def _work_begins(swept: Swept) -> int:
    """The event with which a worker's work, or a child's script, begins; a forked child is in the script from the start."""
    worker = is_worker(swept.lane)
    wanted = np.zeros(max(swept.lane.definitions, default=0) + 1, dtype=bool)
    for code, definition in swept.lane.definitions.items():
        if worker:
            wanted[code] = definition.kind == "span" and (definition.activity or "").startswith("data.")
        else:
            wanted[code] = definition.attributes.get("event") == "script.begin"
    places = np.flatnonzero(wanted[swept.lane.event_code])
    return int(places[0]) if len(places) else len(swept.time) * worker
