"""Keeps the probe cheap: a hook that is called too often is taken out, and said so."""

from .recorder import Recorder
from .stream import BLOB, END, FIRST_CODE, LAST_CODE, PART, SAMPLE, Stream

MAX_SHARE = 0.03  # of the time since the last look: the promise is 2 %, and one busy second is no habit


class Governor:
    """Looks at each chunk that fills up; only removable hooks (reads of single tensors) are ever taken out."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        recorder.on_chunk.append(self.chunk_full)

    def chunk_full(self, stream: Stream, took_ns: int) -> None:
        """``took_ns``: how long the chunk took to fill. A word is half a span."""
        recorder = self.recorder
        words = stream.maps[-2][1] if len(stream.maps) > 1 else stream.words
        if len(words) // 2 * recorder.span_cost_ns < MAX_SHARE * took_ns or not recorder.removable:
            return
        counts: dict[int, int] = {}
        skip = 0
        for word in words.tolist():
            if skip:
                skip -= 1
                continue
            tag = word & 0xFFFF
            if tag == BLOB:
                skip = ((word >> 16) + 7) // 8
            elif tag in (PART, SAMPLE):
                skip = 1
            elif FIRST_CODE <= tag < END:
                counts[tag & LAST_CODE] = counts.get(tag & LAST_CODE, 0) + 1
        for code, count in counts.items():
            if code in recorder.removable and count * recorder.span_cost_ns > MAX_SHARE / 2 * took_ns:
                patches, name = recorder.removable.pop(code)
                patches.undo(only=name)
                recorder.not_measured(
                    f"calls of {name}",
                    f"{count * 1_000_000_000 // max(took_ns, 1):,} a second are too many to time: from here on part of what is around them",
                )
