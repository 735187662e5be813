"""How wide the terminal is and whether it takes colour."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, TextIO


def print_verdict(account: Any, folder: Path | None, stream: TextIO) -> None:
    """The verdict on ``stream``, in its width."""
    from unslow.reports import terminal

    color = stream.isatty() and not os.environ.get("NO_COLOR")
    width = max(60, min(shutil.get_terminal_size((100, 24)).columns, 120))
    stream.write(terminal.render(account, folder, width=width, color=color))
    stream.flush()
