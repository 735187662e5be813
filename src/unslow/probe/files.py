"""Which files are the user's own: the ones whose lines are worth showing."""

from __future__ import annotations

import os
import sys
from types import FrameType

_PROBE = os.path.dirname(os.path.abspath(__file__))
_STDLIB = os.path.dirname(os.path.abspath(os.__file__))
# The last: where torch.compile keeps the code that it writes.
_LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/", "\\site-packages\\", "/torchinductor_")
_known: dict[str, bool] = {}
_absolute: dict[str, str] = {}
_main_files: set[str] = set()
_no_script = not sys.argv or sys.argv[0] in ("", "-c", "-") if hasattr(sys, "argv") else True


def add_main(path: str) -> None:
    """The file that runs as ``__main__`` is the user's wherever it lies (``-m package``)."""
    _main_files.add(path)
    _known.clear()


def is_user(filename: str) -> bool:
    """Whether code with this ``co_filename`` belongs to the user and not to Python, a library or unslow."""
    known = _known.get(filename)
    if known is None:
        known = _known[filename] = _classify(filename)
    return known


def absolute(filename: str) -> str:
    """The absolute path of a ``co_filename``, fixed when it is first seen (the script may change its folder later)."""
    path = _absolute.get(filename)
    if path is None:
        path = filename if filename.startswith("<") else os.path.abspath(filename)
        _absolute[filename] = path
    return path


def _classify(filename: str) -> bool:
    if filename in ("<string>", "<stdin>"):
        return _no_script and (filename == "<stdin>" or "-c" in sys.orig_argv)
    if filename.startswith("<"):
        return False
    path = absolute(filename)
    if path in _main_files:
        return True
    if path.startswith((_PROBE, _STDLIB + os.sep)):
        return False
    return not any(folder in path for folder in _LIBRARY_FOLDERS)


def site(depth: int = 1) -> tuple[str, int, str] | None:
    """File, line and function of the nearest user frame above the caller's caller, or None."""
    try:
        frame: FrameType | None = sys._getframe(depth + 1)
    except ValueError:
        return None
    steps = 0
    while frame is not None and steps < 64:
        code = frame.f_code
        if is_user(code.co_filename):
            return absolute(code.co_filename), frame.f_lineno or code.co_firstlineno, code.co_name
        frame = frame.f_back
        steps += 1
    return None
