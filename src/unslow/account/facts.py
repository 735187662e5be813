"""The facts of a run: the machine, the framework, the model and the data, gathered from what each process wrote down."""

from __future__ import annotations

from typing import Any

import numpy as np

from unslow.account.floor import inspected
from unslow.account.model import NotMeasured
from unslow.account.phases import Signals
from unslow.recording.model import Lane, Recording
from unslow.units import seconds


def facts(recording: Recording, main: Lane | None, found: Signals | None) -> dict[str, Any]:
    """Everything stated, the last value of each name; then the names that ``account.json`` promises, derived from it."""
    run = recording.run
    said: dict[str, Any] = {}
    for lane in recording.lanes:
        if main is not None and lane.pid == main.pid:
            said |= {str(fact["name"]): fact.get("value") for fact in lane.facts if "name" in fact}
    gathered: dict[str, Any] = {"machine": dict(run.machine), "rates": run.rates, **said}
    if main is not None:
        gathered["python"] = main.header.get("python")
        gathered["executable"] = main.header.get("executable")
    gathered["unslow"] = run.unslow
    gathered["cpu_ns"] = run.user_ns + run.system_ns
    gathered["max_rss_bytes"] = run.max_rss_bytes
    gathered["processes"] = len({lane.pid for lane in recording.lanes})
    _optimizer(gathered)
    _loader(gathered, found)
    _operators(gathered, main)
    return {name: value for name, value in gathered.items() if value is not None}


def _optimizer(gathered: dict[str, Any]) -> None:
    """The first optimizer that was told of: name, settings, number of parameters, type and device."""
    told = [value for name, value in gathered.items() if name.startswith("optimizer ") and isinstance(value, dict)]
    if not told or "optimizer" in gathered:
        return
    first = told[0]
    settings = first.get("settings") if isinstance(first.get("settings"), dict) else {}
    gathered["optimizer"] = {"name": first.get("name"), **(settings or {})}
    gathered.setdefault("parameters", sum(int(one.get("parameters") or 0) for one in told))
    for name in ("dtype", "device"):
        value = first.get(name)
        if value:
            gathered.setdefault(name, value[0] if isinstance(value, list) and len(value) == 1 else value)


def _loader(gathered: dict[str, Any], found: Signals | None) -> None:
    """Batch size, samples and shuffling of the loader that training takes its batches from."""
    if found is None or not found.loader_trains.any():
        return
    numbers, counts = np.unique(found.loader_of[found.loader_trains], return_counts=True)
    told = gathered.get(f"loader {int(numbers[counts.argmax()])}")
    if isinstance(told, dict):
        for name in ("batch_size", "samples", "shuffle", "num_workers"):
            if told.get(name) is not None:
                gathered.setdefault(name, told[name])


def _operators(gathered: dict[str, Any], main: Lane | None) -> None:
    """How many operators a step has, and on which types."""
    step = inspected(main)
    if step is None:
        return
    types: dict[str, int] = {}
    for row in step["ops"]:
        types[str(row[2])] = types.get(str(row[2]), 0) + int(row[3])
    gathered["operators_per_step"] = sum(types.values())
    gathered["step_dtypes"] = types


def unknown(recording: Recording, notes: tuple[NotMeasured, ...]) -> tuple[NotMeasured, ...]:
    """What this run cannot say, each once: ours, the probe's, and what was wrong with the files."""
    found = list(notes)
    for lane in recording.lanes:
        found += [NotMeasured(str(item.get("what")), str(item.get("why"))) for item in lane.not_measured]
        found += [NotMeasured(str(item.get("what")), f"its hook failed and was taken out: {item.get('why')}") for item in lane.warnings]
        unheard = sorted({str(d.activity) for d in lane.definitions.values() if _is_unheard(d.activity)})
        found += [NotMeasured(name, "an activity that this unslow does not know: its time is unexplained") for name in unheard]
    found += _lost_workers(recording)
    found += [NotMeasured("a part of the recording", problem) for problem in recording.problems]
    found += [NotMeasured("the run", message) for message in recording.run.messages]
    return tuple(dict.fromkeys(found))


def _lost_workers(recording: Recording) -> list[NotMeasured]:
    """Loader workers that did not say that their loop had ended: killed, or out of memory."""
    lost = []
    for lane in recording.lanes:
        events = {str(d.attributes.get("event")): d for d in lane.definitions.values() if d.kind == "mark"}
        if lane.thread == "main" and "worker.begin" in events and "worker.end" not in events and lane.ended is None:
            number = events["worker.begin"].attributes.get("worker", lane.pid)
            at = seconds(lane.last_time - recording.run.start_ns)
            lost.append(NotMeasured(f"worker {number}", f"it ended abruptly: the last that was seen of it is at {at}"))
    return lost


def _is_unheard(activity: str | None) -> bool:
    from unslow.activities import ACTIVITIES

    return activity is not None and activity not in ACTIVITIES
