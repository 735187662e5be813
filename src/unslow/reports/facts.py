"""The facts of a run as rows of words, in the order in which people ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unslow import units
from unslow.account.model import Account
from unslow.reports.words import clean

_NAMES: dict[str, str] = {
    "framework": "framework",
    "torch": "torch",
    "python": "Python",
    "executable": "interpreter",
    "device": "device",
    "threads": "threads of the framework",
    "dtype": "number type of the parameters",
    "parameters": "parameters",
    "operators_per_step": "operators in a step",
    "batch_size": "batch size",
    "samples": "samples in the data set",
    "shuffle": "shuffled",
    "num_workers": "loader workers",
    "loss_first": "first loss",
    "loss_last": "last loss",
    "processes": "processes recorded",
}
_SKIPPED = ("machine", "rates", "optimizer", "cpu_ns", "max_rss_bytes", "unslow", "sample", "forward_backward", "step_dtypes")
_INTERNAL = ("inputs ", "optimizer ", "loader ")
"""Groups that rules read: what a person asks of them stands in a row of its own."""


def rows(account: Account) -> list[tuple[str, str]]:
    """``(name, value)``: the training first, then the machine, then whatever else was stated."""
    facts = account.facts
    found = [(title, text) for name, title in _NAMES.items() if (text := value(facts.get(name)))]
    optimizer = facts.get("optimizer")
    if optimizer:
        found.append(("optimizer", value(optimizer)))
    if isinstance(facts.get("cpu_ns"), int) and account.wall_ns:
        found.append(("processor time", f"{units.seconds(facts['cpu_ns'])}, {facts['cpu_ns'] / account.wall_ns:.1f} cores on average"))
    if isinstance(facts.get("max_rss_bytes"), int):
        found.append(("memory at most", units.size(facts["max_rss_bytes"])))
    found += _machine(facts.get("machine"), facts.get("rates"))
    known = {*_NAMES, *_SKIPPED}
    more = [(str(name), value(one)) for name, one in facts.items() if name not in known and not str(name).startswith(_INTERNAL)]
    return found + [(clean(name), text) for name, text in more if text]


def _machine(machine: Any, rates: Any) -> list[tuple[str, str]]:
    found = []
    if isinstance(machine, Mapping):
        if machine.get("processor"):
            found.append(("processor", value(machine["processor"])))
        if machine.get("cores_usable") is not None:
            cores = f"{value(machine['cores_usable'])} usable"
            found.append(("cores", cores + (f" of {value(machine['cores'])}" if machine.get("cores") else "")))
        for name, title in (("memory_bytes", "memory"), ("memory_limit_bytes", "memory limit")):
            if isinstance(machine.get(name), int):
                found.append((title, units.size(machine[name])))
        if machine.get("gpus"):
            found.append(("GPUs", value(machine["gpus"])))
        if machine.get("system"):
            found.append(("system", value(machine["system"])))
    if isinstance(rates, Mapping):
        flops, num_bytes = rates.get("flops_per_s"), rates.get("bytes_per_s")
        if isinstance(flops, int | float) and isinstance(num_bytes, int | float):
            text = f"{flops / 1e9:.0f} GFLOP/s in float32, {units.size(num_bytes)}/s of memory"
            found.append((f"measured with {value(rates.get('threads', '?'))} threads", text))
    return found


def value(one: Any) -> str:
    """Any JSON value in words; nothing for nothing."""
    if one is None or one == "":
        return ""
    if isinstance(one, bool):
        return "yes" if one else "no"
    if isinstance(one, int):
        return f"{one:,}".replace(",", "\u202f")
    if isinstance(one, float):
        return f"{one:.6g}"
    if isinstance(one, Mapping):
        return ", ".join(f"{clean(str(name))} {value(inner)}" for name, inner in one.items() if value(inner))
    if isinstance(one, list | tuple):
        return ", ".join(value(inner) for inner in one)
    return clean(str(one))
