"""The words of the verdict: names of rows, the first sentence, short paths; shared by all forms of the report."""

from __future__ import annotations

import itertools
import os
import re
import signal
from dataclasses import dataclass

from unslow import units
from unslow.account.model import Account, Activity, Evidence, Interval
from unslow.activities import EVALUATE

LABELS: dict[str, str] = {
    "startup.interpreter": "startup: Python itself",
    "startup.import": "startup: imports",
    "startup.device": "startup: first use of a device",
    "setup": "setup: data sets and model",
    "compile": "compiling",
    "data.workers": "data: starting workers",
    "data.wait": "data: waiting for workers",
    "data.sample": "data: drawing indices",
    "data.fetch": "data: getting samples",
    "data.transform": "data: transforming",
    "data.collate": "data: making batches",
    "transfer.to_device": "moving to the device",
    "transfer.to_host": "moving to the host",
    "sync": "waiting for the device",
    "comm": "exchange with other ranks",
    "evaluate": "evaluation: the script",
    "gc": "garbage collector",
    "script": "the script's own Python",
    "teardown": "ending: after the last line",
    "zero_grad": "clearing the gradients",
    "checkpoint": "saving",
    "logging": "printing and logging",
    "observer": "observer (unslow itself)",
}
"""How a row is called in print; a name that is missing here is called by its own name."""

_TRAINING = ("forward", "loss", "backward", "optimizer", "zero_grad", "step")
_PHRASES: dict[str, str] = {
    "data.wait": "waiting for batches from the data loader's workers",
    "data.workers": "starting and stopping data loader workers",
    "data.sample": "drawing the indices of the samples",
    "data.fetch": "getting samples, one by one, in the training process",
    "data.transform": "transforming samples in the training process",
    "data.collate": "putting samples together into batches",
    "startup.interpreter": "starting Python",
    "startup.import": "importing modules",
    "startup.device": "preparing the device",
    "forward": "the forward pass",
    "loss": "computing the loss",
    "backward": "the backward pass",
    "optimizer": "the optimizer",
    "zero_grad": "clearing gradients",
    "step": "the training steps themselves",
    "transfer.to_device": "moving tensors to the device",
    "transfer.to_host": "moving tensors back to the host",
    "sync": "waiting for the device",
}
_GROUPS: tuple[tuple[str, str], ...] = (
    ("data.", "getting data ready"),
    ("startup.", "starting up"),
    (EVALUATE, "evaluating the model"),
    ("transfer.", "moving tensors"),
)
_SINGLES: dict[str, str] = {
    "setup": "setting up data sets and models before the first step",
    "compile": "compiling",
    "sync": "waiting for the device",
    "comm": "exchanging data with other ranks",
    "metrics": "computing metrics",
    "evaluate": "evaluating the model",
    "checkpoint": "saving the model",
    "logging": "printing and logging",
    "gc": "the garbage collector",
    "script": "the script's own Python",
    "teardown": "ending, after the script's last line",
    "observer": "unslow itself",
    "unexplained": "something that nothing recorded can name",
}
TRAINING_PHRASE = "the training steps themselves"

_PLAIN: dict[str, str] = {
    "startup.interpreter": "before the first line of the script",
    "startup.import": "Python loads what the script imports",
    "startup.device": "the device is made ready for its first use",
    "setup": "the script's code before its first step",
    "compile": "the model is turned into a faster program",
    "data.workers": "worker processes are started and stopped",
    "data.wait": "training stands still until a batch arrives",
    "data.sample": "it is decided which samples come next",
    "data.fetch": "samples are read; training waits",
    "data.transform": "samples are transformed; training waits",
    "data.collate": "samples are put together; training waits",
    "transfer.to_device": "tensors are copied to the device",
    "transfer.to_host": "tensors are copied back from the device",
    "forward": "the model computes its answers",
    "loss": "the answers are compared with the targets",
    "backward": "the gradients are computed",
    "optimizer": "the parameters are updated",
    "step": "whole training steps, each run as one program",
    "sync": "Python waits until the device has finished",
    "comm": "values go to and from the other ranks",
    "evaluate": "the script's own code around validation",
    "gc": "Python looks for objects no longer in use",
    "script": "lines of the script between the other rows",
    "teardown": "Python cleans up and the process goes away",
    "unexplained": "nothing recorded says what this was",
}

SMALL_SHARE = 0.005
"""Rows below half a per cent of the wall are printed as one."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, and how a sentence says where their time went."""

    phrase: str
    ns: int
    training: bool = False


def label(name: str) -> str:
    """How the row ``name`` is called in print."""
    if name.startswith(EVALUATE):
        inner = label(name.removeprefix(EVALUATE))
        return f"evaluation: {inner.removeprefix('evaluation: ').removeprefix('data: ')}"
    return LABELS.get(name, name)


def brief(name: str) -> str:
    """``waiting for workers``: the row ``name`` inside a sentence."""
    text = label(name).removeprefix("data: ")
    return text.split(": ")[0] if name in ("setup", "teardown") else text


def plain(name: str) -> str:
    """What happens during the row ``name``, for someone who has never seen a training from inside; nothing where its label says it."""
    text = _PLAIN.get(name.removeprefix(EVALUATE), "")
    return text.replace("training", "validation") if name.startswith(EVALUATE) else text


def shares(values: list[int], whole: int) -> list[str]:
    """Per cent of ``whole`` with one decimal; values that sum to it are printed so that they sum to 100.0."""
    if not whole:
        return ["-"] * len(values)
    return [f"{one / 10:.1f}" for one in units.apportion(values, round(1000 * sum(values) / whole))]


def verdict(account: Account) -> str:
    """The first sentence: how long it was, and what most of it went into. Says why only where a finding says why."""
    wall = units.seconds(account.wall_ns)
    main = next((finding for finding in account.findings if not finding.secondary), None)
    if account.healthy:
        return f"{wall}, and nothing is wrong here: no change was found that would make it more than 1.15x faster.{_largest(account)}"
    if main is not None:
        return f"{wall}, of which {_amount(main.ns, account.wall_ns)} went into this: {main.title.rstrip('.')}."
    found = groups(account)
    if not found or found[0].ns <= 0:
        return f"{wall}."
    first = found[0]
    text = f"{wall}, of which {_amount(first.ns, account.wall_ns)} went into {first.phrase}"
    if not account.steps.count:
        return f"{text}; no training step was seen."
    second = next((group for group in found if group.training != first.training), None)
    if first.training and second is not None and second.ns >= account.wall_ns * 0.05:
        return f"{text}; another {_amount(second.ns, account.wall_ns)} went into {second.phrase}."
    if not first.training and second is not None:
        return f"{text}; {second.phrase} took {_amount(second.ns, account.wall_ns)}."
    return f"{text}."


def _largest(account: Account) -> str:
    found = groups(account)
    return f" Most of it, {_amount(found[0].ns, account.wall_ns)}, went into {found[0].phrase}." if found and found[0].ns > 0 else ""


def _amount(ns: int, wall_ns: int) -> str:
    return f"{units.seconds(ns)} ({units.share(ns, wall_ns)})"


def groups(account: Account) -> list[Group]:
    """The rows put together as a sentence would, largest first."""
    sums: dict[str, list[Activity]] = {}
    for row in account.activities:
        sums.setdefault(_group_of(row.name), []).append(row)
    found = []
    for phrase, rows in sums.items():
        total = sum(row.ns for row in rows)
        largest = max(rows, key=lambda row: row.ns)
        # One row that holds nearly all of its group is named itself: "importing modules" says more than "starting up".
        exact = _PHRASES.get(largest.name) if phrase != TRAINING_PHRASE and largest.ns >= 0.7 * total else None
        found.append((total, Group(exact or phrase, largest.ns if exact else total, phrase == TRAINING_PHRASE)))
    return [group for _, group in sorted(found, key=lambda item: -item[0])]


def _group_of(name: str) -> str:
    if name in _TRAINING:
        return TRAINING_PHRASE
    for prefix, phrase in _GROUPS:
        if name.startswith(prefix):
            return phrase
    return _SINGLES.get(name, name)


def table(account: Account) -> tuple[list[Activity], list[Activity], list[Activity]]:
    """Rows to print, largest first, rows too small to print each, and the two that always stand last. Together they are all rows."""
    always = [row for row in account.activities if row.name in ("unexplained", "observer")]
    others = sorted((row for row in account.activities if row not in always), key=lambda row: -row.ns)
    large = [row for row in others if row.ns >= SMALL_SHARE * account.wall_ns and row.ns]
    return large, [row for row in others if row not in large], sorted(always, key=lambda row: row.name == "observer")


def small_label(rows: list[Activity]) -> str:
    """How the sum of small rows is called."""
    return f"{len(rows)} other{'s' if len(rows) != 1 else ''}, {'each ' if len(rows) != 1 else ''}below 0.5 %"


def digits(wall_ns: int) -> int:
    """Decimals of seconds in the table: a tenth says enough of twenty seconds, not of half a second."""
    return 1 if wall_ns >= 10 * units.SECOND else 2 if wall_ns >= units.SECOND else 3


def own_clock(account: Account) -> Interval | None:
    """The interval of the script's own clock, if it has one."""
    return next((interval for interval in account.intervals if interval.label == "own"), None)


def interval_place(interval: Interval, script: str | None) -> str:
    """``train.py:92 to :95``."""
    begin = f"{short_path(interval.file_from, script)}:{interval.line_from}"
    if interval.file_to == interval.file_from:
        return f"{begin} to :{interval.line_to}"
    return f"{begin} to {short_path(interval.file_to, script)}:{interval.line_to}"


def ending(exit_code: int | None) -> str | None:
    """How the script ended, where it did not end with 0."""
    if not exit_code:
        return None
    if exit_code > 0:
        return f"the script ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"the script was ended by {name}"


def steady_step(account: Account) -> str | None:
    """``2.1 s, its arithmetic needs 0.02 s``, as far as it is known."""
    steps = account.steps
    if not steps.count or steps.median_ns is None:
        return None
    text = units.seconds(steps.median_ns)
    if account.floor is not None:
        # A single operation may need nothing that a clock would see.
        need = units.seconds(account.floor.ns) if account.floor.ns >= 1000 else "less than 1 µs"
        text += f", its arithmetic needs {need}"
    return text


def step_counts(account: Account) -> str:
    """``10 steps in 5 epochs``."""
    steps = account.steps
    text = f"{steps.count:,} step{'s' if steps.count != 1 else ''}".replace(",", "\u00a0")
    if steps.epochs:
        text += f" in {steps.epochs} epoch{'s' if steps.epochs != 1 else ''}"
    return text


def short_path(file: str, script: str | None = None) -> str:
    """A file as its user would call it: below the working folder or the script's, else whole; never with control characters."""
    for base in (os.getcwd(), os.path.dirname(script) if script else None):
        if base and base != os.sep and file.startswith(base.rstrip(os.sep) + os.sep):
            return clean(file[len(base.rstrip(os.sep)) + 1 :])
    return clean(file)


def joined(text: str) -> str:
    """The same words, where no line ends between a number and its unit."""
    return re.sub(r"(?<=[\d.]) (?=(?:ns|µs|ms|s|min|h|%|[kMGTP]?B|\d{3})\b|%)", "\u00a0", text)


def clean(text: str) -> str:
    """Text of others made safe to print: control characters, line ends and lone surrogates become visible."""
    return text if text.isprintable() else "".join(one if one.isprintable() or one == "\u00a0" else repr(one)[1:-1] for one in text)


_SECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "µs": 1_000, "ns": 1}


def measured(evidence: Evidence) -> str:
    """A figure with what it is of: ``work of the workers: 27.2 s``. A sentence that holds its figures already stays as it is."""
    text, value, unit = clean(evidence.text), evidence.value, evidence.unit
    if unit in _SECONDS:
        figure = units.seconds(value * _SECONDS[unit])
    elif unit == "x":
        figure = units.ratio(value)
    elif unit in ("B", "bytes"):
        figure = units.size(value)
    else:
        number = f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
        figure = f"{number} {clean(unit)}".strip()
    return text if figure in text else f"{text}: {figure}"


def source_line(file: str, line: int) -> str:
    """The text of one of the user's lines, or nothing where the file is not there any more."""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            return clean(next(itertools.islice(lines, line - 1, None), "").strip())
    except OSError:
        return ""
