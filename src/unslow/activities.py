"""The closed vocabulary of activities: where the time of a main thread, or of a loader worker, can have gone."""

from __future__ import annotations

ACTIVITIES: dict[str, str] = {
    "startup.interpreter": "Starting Python, before the first line of the script.",
    "startup.import": "Importing modules, each with its own seconds.",
    "startup.device": "Creating a device context, loading kernels, first-use initialisation.",
    "setup": "Running the script's own code before the first training step: building data sets and models.",
    "compile": "Tracing, compiling or autotuning, each time with its trigger.",
    "data.workers": "Starting or stopping loader processes.",
    "data.wait": "Waiting for another process or thread to deliver a batch.",
    "data.sample": "Drawing the indices of the next batch.",
    "data.fetch": "Getting samples in this process: item look-up, generator, read, decode.",
    "data.transform": "Transforming samples or batches.",
    "data.collate": "Putting samples together into a batch.",
    "transfer.to_device": "Moving tensors to the device.",
    "transfer.to_host": "Moving tensors back to the host.",
    "forward": "Running the model forward.",
    "loss": "Computing the loss.",
    "backward": "Computing gradients.",
    "optimizer": "Updating the parameters.",
    "zero_grad": "Clearing the gradients.",
    "step": "Running a whole training step as one program.",
    "sync": "Waiting for a device to finish its work.",
    "comm": "Exchanging data with other ranks, and waiting for them.",
    "metrics": "Computing metrics inside a training step.",
    "evaluate": "Validating: the script's own code around evaluation.",
    "checkpoint": "Saving the model or its state.",
    "logging": "Printing, progress bars, summaries, trackers.",
    "gc": "Running the garbage collector.",
    "script": "Running the script's own Python between all of these.",
    "teardown": "Ending: after the script's last line, until the process is gone.",
    "observer": "Running unslow itself.",
    "unexplained": "Doing something that nothing recorded can name.",
}

EVALUATE = "evaluate/"
"""The prefix of an activity inside evaluation: training and validation are never mixed."""

UNPREFIXED = frozenset({"startup.interpreter", "startup.import", "startup.device", "compile", "gc", "teardown", "observer", "unexplained"})
"""Activities that are the same thing inside evaluation as outside it."""

WORKER: dict[str, str] = {
    "startup": "Coming up: from the start of the process to its first batch.",
    "fetch": "Getting samples: item look-up, read.",
    "decode": "Decoding stored samples.",
    "transform": "Transforming samples, each transform by name.",
    "collate": "Putting samples together into a batch.",
    "hand-over": "Giving the finished batch to the main process.",
    "idle": "Waiting for the next indices.",
    "other": "Doing something between these that no span names.",
    "observer": "Running unslow itself.",
}
"""What a loader worker does: overlapped work, never part of the sum."""


def evaluated(name: str) -> str:
    """The name that ``name`` has inside an evaluation region."""
    if name in UNPREFIXED or name.startswith(EVALUATE):
        return name
    return "evaluate" if name in ("evaluate", "script", "setup") else EVALUATE + name


def sentence(name: str) -> str:
    """What the main thread was doing, for any row name of an account; raises KeyError for a name outside the vocabulary."""
    if name.startswith(EVALUATE):
        inner = name.removeprefix(EVALUATE)
        return f"During evaluation: {ACTIVITIES[inner][0].lower()}{ACTIVITIES[inner][1:]}"
    return ACTIVITIES[name]
