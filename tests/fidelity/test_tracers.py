"""No hook is visible to a tracer: the same graphs, breaks and numbers as under plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import Run, plain, under

Both = Callable[..., tuple[Run, Run]]
Place = Callable[[str], Path]
pytestmark = pytest.mark.torch


def test_tracing(place: Place, both: Both) -> None:
    """``torch.jit.trace`` and ``script``, ``torch.fx``, ``torch.export``, ``torch.func``."""
    run, _ = both(place("tracers.py").name, "jit", "fx", "export", "functorch")
    assert run.exit_code == 0, run.stderr


def test_dynamo(place: Place, both: Both) -> None:
    """What ``torch.compile`` cuts out of models, losses and optimizers: graphs, breaks, counters."""
    run, _ = both(place("tracers.py").name, "explain")
    assert run.exit_code == 0, run.stderr


def test_dynamo_meets_a_clock(place: Place, work: Path, tmp_path: Path) -> None:
    """A clock read and a print in a compiled function break the graph as often as without hooks; the reason's wording may differ."""
    script = place("tracers.py").name
    without, with_unslow = plain([script, "clocks"], work), under([script, "clocks"], work, tmp_path / "run")
    assert with_unslow.stdout == without.stdout
    assert without.exit_code == with_unslow.exit_code == 0


@pytest.mark.slow
def test_inductor(place: Place, both: Both) -> None:
    """A training compiled with the default backend."""
    run, _ = both(place("tracers.py").name, "compiled", timeout=400)
    assert run.exit_code == 0, run.stderr
