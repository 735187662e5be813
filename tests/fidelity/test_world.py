"""The script's whole world is the same with and without unslow: what it can see, what it prints, what it computes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import Run, assert_same, environment, plain, under

Both = Callable[..., tuple[Run, Run]]
Place = Callable[[str], Path]


@pytest.mark.parametrize("arguments", [[], ["--epochs", "3", "a b", "--", "-x", "", "--out", "here"]], ids=["bare", "arguments"])
def test_interpreter(place: Place, tmp_path: Path, arguments: list[str]) -> None:
    """Arguments, path, names, filters, signals, threads, collector, streams: as under plain ``python``."""
    script = place("world.py").name
    runs = []
    for number, run in enumerate((plain, lambda *a, **k: under(*a, tmp_path / "run", **k))):
        env = environment(WORLD_MODULES=str(tmp_path / f"modules{number}"))
        runs.append(run([script, *arguments], tmp_path / "work", env=env, stdin="some input\n"))
    assert "argv: ['world.py'" in runs[0].stdout
    assert_same(*runs)


def test_modules_before_the_first_line(place: Place, tmp_path: Path) -> None:
    """Beyond its own, the probe brings only modules of the standard library, and none is missing."""
    script = place("world.py").name
    loaded = []
    for number, run in enumerate((plain, lambda *a, **k: under(*a, tmp_path / "run", **k))):
        path = tmp_path / f"modules{number}"
        run([script], tmp_path / "work", env=environment(WORLD_MODULES=str(path)))
        loaded.append(set(json.loads(path.read_text())))
    assert loaded[0] <= loaded[1]
    more = {name.partition(".")[0] for name in loaded[1] - loaded[0]} - {"_unslow_probe", "sitecustomize"}
    assert more <= set(sys.stdlib_module_names), "only the standard library"
    assert not more & {"logging", "random", "unittest", "dataclasses", "inspect", "asyncio"}, "nothing slow, nothing that draws or logs"


def test_absolute_and_relative_paths(place: Place, both: Both, tmp_path: Path) -> None:
    """``__file__`` and ``sys.path[0]`` follow the spelling of the command line."""
    script = place("world.py")
    env = environment(WORLD_MODULES=str(tmp_path / "modules"))
    plain_run, _ = both(str(script), env=env)
    assert f"file: {script}" in plain_run.stdout


def test_clocks_and_print_behave(place: Place, both: Both) -> None:
    """Clocks, print and logging can be bound, pickled, compared, copied, wrapped and misused as ever; warnings name the user's line."""
    run, _ = both(place("standins.py").name)
    assert run.exit_code == 0, run.stderr


@pytest.mark.torch
def test_torch_world(place: Place, both: Both) -> None:
    """Random states, threads, defaults, filters, hooks and the results of a small training are equal."""
    run, _ = both(place("world_torch.py").name)
    assert run.exit_code == 0, run.stderr


@pytest.mark.torch
@pytest.mark.parametrize("workers", [0, 2])
def test_training_to_the_bit(place: Place, both: Both, workers: int) -> None:
    """Every loss and every random draw of a training with shuffled loaders is equal to the bit."""
    run, _ = both(place("training.py").name, str(workers))
    assert run.exit_code == 0, run.stderr
    assert run.stdout.count("0x") > 12


@pytest.mark.torch
def test_warnings_name_the_users_line(place: Place, both: Both) -> None:
    """A warning with a stack level from inside a hooked function names the file and the line that it names without hooks."""
    run, _ = both(place("warn_torch.py").name)
    assert "warn_torch.py" in run.stderr and run.exit_code == 0
