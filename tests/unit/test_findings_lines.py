"""Loops in the user's source: which there are around a line, and how their turns hang together."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from unslow.findings.lines import loops_around, turns


def _file(folder: Path, text: str) -> tuple[str, int]:
    """The file, and the line that is marked with ``# here``."""
    path = folder / "train.py"
    path.write_text(dedent(text))
    return str(path), next(i for i, line in enumerate(path.read_text().splitlines(), 1) if "# here" in line)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("for x in xs:\n    out.append(f(x))  # here", "free"),
        ("for x in xs:\n    total = total + f(x)  # here", "free"),
        ("for i in range(n):\n    out[i] = f(xs[i])  # here", "free"),
        ("for x in xs:\n    y, state = cell(x, state)  # here\n    out.append(y)", "carried"),
        ("for t in range(n):\n    h = torch.tanh(a(xs[t]) + b(h))  # here", "carried"),
        ("for _ in range(n):\n    y, state = cell(x, state)  # here\n    x = head(y)", "feedback"),
        ("while not done(x):\n    x = f(x)  # here", "feedback"),
        ("out = [f(x) for x in xs]  # here", "free"),
    ],
)
def test_turns(tmp_path: Path, body: str, answer: str) -> None:
    """Turns are free, carry a state beside data of their own, or live on what the one before put out."""
    assert turns(*_file(tmp_path, body)) == answer


def test_loops_end_at_the_function(tmp_path: Path) -> None:
    """A loop around the call of a function is none of the function's own."""
    file, line = _file(
        tmp_path,
        """
        for epoch in range(3):
            def step(rows):
                for row in rows:
                    work(row)  # here
            step(data)
        """,
    )
    assert len(loops_around(file, line)) == 1


def test_the_header_of_a_loop_is_outside_of_it(tmp_path: Path) -> None:
    """Asking for the next item happens in the loop around, not in this one."""
    file, line = _file(tmp_path, "for batch in loader:  # here\n    work(batch)\n")
    assert loops_around(file, line) == ()
