"""Batches and samples: whether one is fetched now, what its transforms cost, and whether preparing it again gives the same."""

from __future__ import annotations

from ..recorder import Recorder

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

# Below this time a sample is too cheap to look into each one: seven batches in eight then take the shares of the last one seen.
CHEAP_SAMPLE_NS = 60_000
LOOK_EVERY = 8


class Fetching:
    """Whether this process is fetching a batch now, in which thread, and what is known of its samples."""

    __slots__ = ("batches", "inside", "look", "per_sample_ns", "shares", "thread", "took")

    def __init__(self) -> None:
        self.thread = 0
        self.inside = False
        self.look = True
        self.batches = 0
        self.took = 0
        self.per_sample_ns = CHEAP_SAMPLE_NS
        self.shares: dict[int, list[float]] = {}


fetching = Fetching()


class Samples:
    """Fingerprints of a few samples each time they are fetched: whether preparing them again gives the same bytes."""

    CHOSEN = 12
    NOTES = 64

    def __init__(self) -> None:
        self.index: Any = None
        self.recorder: Recorder | None = None
        self.open = False
        self.notes = 0

    def start(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.open = True

    def note(self, data: Any, size: int) -> None:
        """``data``: the samples of the batch whose indices are in ``self.index``, of a data set of ``size``."""
        recorder = self.recorder
        try:
            index = self.index
            if recorder is None or not isinstance(index, (list, tuple)) or not isinstance(data, (list, tuple)) or len(index) != len(data):
                return
            every = max(size // self.CHOSEN, 1)
            for position, number in enumerate(index):
                if isinstance(number, int) and number % every == 0:  # about a dozen, the same ones in every epoch and process
                    mark = fingerprint(data[position])
                    if mark is not None:
                        recorder.fact("sample", [number, mark, len(index), size])
                        self.notes += 1
                        break
            if self.notes >= self.NOTES:
                self.open = False
        except Exception as problem:
            self.open = False
            if recorder is not None:
                recorder.warn("fingerprints of samples", problem)


samples = Samples()


def fingerprint(sample: Any, depth: int = 0) -> int | None:
    """A number made of the first bytes of a sample's tensors and arrays, or None where it holds none."""
    if depth > 3:
        return None
    if isinstance(sample, (list, tuple)):
        marks = [fingerprint(item, depth + 1) for item in sample[:4]]
    elif isinstance(sample, dict):
        marks = [fingerprint(item, depth + 1) for item in list(sample.values())[:4]]
    elif hasattr(sample, "untyped_storage") and getattr(sample, "is_cpu", False):
        flat = sample.detach().reshape(-1)
        return hash(tuple(flat[:: max(flat.numel() // 256, 1)].tolist())) & 0xFFFFFFFF
    elif hasattr(sample, "__array_interface__") and getattr(getattr(sample, "dtype", None), "hasobject", True) is False:
        flat = sample.reshape(-1)
        # Numbers, not bytes: the hash of bytes is another one in every process.
        return hash(tuple(flat[:: max(flat.size // 256, 1)].tolist())) & 0xFFFFFFFF
    else:
        return None
    found = [mark for mark in marks if mark is not None]
    return hash(tuple(found)) & 0xFFFFFFFF if found else None
