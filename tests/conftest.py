"""Keeps the tests' runs away from the user's own state, and offers the two ways to run a script."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support.runs")

from tests.support.runs import Run, assert_same, plain, under  # noqa: E402 (after the line that makes its asserts speak)


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The index of runs and the machine's rates go to a folder of this test session."""
    home = tmp_path_factory.mktemp("state")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = str(home / name.lower())
    os.environ.pop("UNSLOW_RUN", None)


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Copies a script of this test folder's ``scripts`` into a work folder of its own, and gives back the copy."""
    scripts = Path(request.path).parent / "scripts"
    work = tmp_path / "work"

    def copy(name: str) -> Path:
        work.mkdir(exist_ok=True)
        return Path(shutil.copy(scripts / name, work / name))

    return copy


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that the scripts of a test run in."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def both(work: Path, tmp_path: Path) -> Callable[..., tuple[Run, Run]]:
    """Runs the arguments under plain ``python`` and under ``unslow run --quiet``, and asserts that nothing outside differs."""

    def run_both(*arguments: str, **options: object) -> tuple[Run, Run]:
        without = plain(list(arguments), work, **options)  # type: ignore[arg-type]
        with_unslow = under(list(arguments), work, tmp_path / "run", **options)  # type: ignore[arg-type]
        assert_same(without, with_unslow)
        return without, with_unslow

    return run_both
