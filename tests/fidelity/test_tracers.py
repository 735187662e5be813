"""No hook is visible to a tracer: the same graphs, breaks and numbers as under plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import Run

Both = Callable[..., tuple[Run, Run]]
Place = Callable[[str], Path]
pytestmark = pytest.mark.torch


def test_tracing(place: Place, both: Both) -> None:
    """``torch.jit.trace`` and ``script``, ``torch.fx``, ``torch.export``, ``torch.func``."""
    run, _ = both(place("tracers.py").name, "jit", "fx", "export", "functorch")
    assert run.exit_code == 0, run.stderr


def test_dynamo(place: Place, both: Both) -> None:
    """What ``torch.compile`` cuts out of models, losses, optimizers, clocks and prints: graphs, breaks, guards, counters."""
    run, _ = both(place("tracers.py").name, "explain")
    assert run.exit_code == 0, run.stderr


@pytest.mark.slow
def test_inductor(place: Place, both: Both) -> None:
    """A training compiled with the default backend."""
    run, _ = both(place("tracers.py").name, "compiled", timeout=400)
    assert run.exit_code == 0, run.stderr
