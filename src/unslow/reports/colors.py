"""Which colour class an activity has: the same in every bar, strip and legend of a report."""

from __future__ import annotations

from unslow.activities import EVALUATE

_CLASSES: dict[str, str] = {
    "data.wait": "wait",
    "data.fetch": "fetch",
    "data.transform": "transform",
    "data.collate": "collate",
    "data.sample": "sample",
    "data.workers": "workers",
    "forward": "forward",
    "step": "forward",
    "loss": "loss",
    "backward": "backward",
    "optimizer": "optimizer",
    "zero_grad": "zero",
    "startup.import": "import",
    "startup.interpreter": "python",
    "startup.device": "device",
    "setup": "setup",
    "teardown": "teardown",
    "transfer.to_device": "transfer",
    "transfer.to_host": "transfer",
    "sync": "sync",
    "comm": "comm",
    "compile": "compile",
    "checkpoint": "output",
    "logging": "output",
    "metrics": "metrics",
    "gc": "gc",
    "script": "script",
    "observer": "observer",
}
_WORKER: dict[str, str] = {
    "fetch": "fetch",
    "decode": "sample",
    "transform": "transform",
    "collate": "collate",
    "hand-over": "transfer",
    "startup": "import",
    "idle": "idle",
    "observer": "observer",
}


def color(name: str, *, worker: bool = False) -> str:
    """A CSS class such as ``c-wait``; what is not known has the colour of the unexplained."""
    if worker and name in _WORKER:
        return f"c-{_WORKER[name]}"
    if name == "evaluate" or name.startswith(EVALUATE):
        return "c-evaluate-data" if name.startswith(f"{EVALUATE}data.") else "c-evaluate"
    return f"c-{_CLASSES.get(name, 'unexplained')}"
