"""The append-only stream of one thread: 8-byte words in a memory-mapped file that survives SIGKILL (``docs/formats/recording.md``)."""

import mmap
import os

MAGIC = int.from_bytes(b"UNSLOW0\x01", "little")
BLOB, PART, SAMPLE = 1, 2, 3
FIRST_CODE, LAST_CODE = 16, 0x7FFF
END = 0x8000
CHUNK_BYTES = 512 * 1024
CHUNK_WORDS = CHUNK_BYTES // 8


class StreamFull(Exception):
    """No room is left on the device (or no permission): recording ends, the script goes on."""


class Stream:
    """Chunks of one file, mapped one after the other.

    ``words`` is the current chunk as a writable memoryview of unsigned 64-bit words; the owner stores at its own position and
    calls ``next_chunk`` on ``IndexError``. Chunks are allocated on disk before they are mapped: a store into a hole of a full
    disk would be a SIGBUS in the user's process.
    """

    __slots__ = ("chunks", "maps", "path", "words")

    def __init__(self, path: str) -> None:
        self.path = path
        self.chunks = 0
        # Old maps are kept: Python's mmap closes its own descriptor when it goes, and the user may have reused that number.
        self.maps: list[tuple[mmap.mmap, memoryview]] = []
        self.words = self.next_chunk()

    def next_chunk(self) -> memoryview:
        """Allocate and map the next chunk; raises StreamFull."""
        flags = os.O_RDWR | os.O_CREAT | (os.O_EXCL if self.chunks == 0 else 0) | getattr(os, "O_CLOEXEC", 0)
        offset = self.chunks * CHUNK_BYTES
        try:
            descriptor = os.open(self.path, flags, 0o644)
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, offset, CHUNK_BYTES)
                else:
                    os.pwrite(descriptor, bytes(CHUNK_BYTES), offset)
                mapped = mmap.mmap(descriptor, CHUNK_BYTES, offset=offset)
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as problem:
            raise StreamFull(str(problem)) from None
        words = memoryview(mapped).cast("Q")
        if self.chunks == 0:
            words[0] = MAGIC
        self.chunks += 1
        self.maps.append((mapped, words))
        self.words = words
        return words


def blob_words(payload: bytes) -> int:
    """Number of words that a blob with this payload takes, its head included."""
    return 1 + (len(payload) + 7) // 8


def put_blob(words: memoryview, position: int, payload: bytes) -> int:
    """Write a blob that fits; payload first, so that a torn one reads as the end. Returns the next position."""
    count = blob_words(payload)
    padded = payload.ljust((count - 1) * 8, b"\0")
    words[position + 1 : position + count] = memoryview(padded).cast("Q")
    words[position] = len(payload) << 16 | BLOB
    return position + count


def put_padding(words: memoryview, position: int) -> None:
    """Fill the rest of a chunk, from ``position``, with one blob that says nothing."""
    room = len(words) - position
    if room <= 0:
        return
    payload = b'{"k":"pad"}'.ljust((room - 1) * 8) if room > 2 else b""
    if room == 2:
        words[position + 1] = BLOB
        words[position] = BLOB
        return
    put_blob(words, position, payload)
