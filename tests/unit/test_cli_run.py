"""How the command line of ``unslow run`` is read: ours ends where the script begins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unslow.cli.run import parse
from unslow.errors import UnslowError


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    for name in ("train.py", "show"):
        Path(name).touch()


@pytest.mark.parametrize(
    ("words", "rest", "out", "quiet"),
    [
        (["train.py"], ["train.py"], None, False),
        (["--quiet", "--out", "x", "train.py", "--out", "y", "--quiet"], ["train.py", "--out", "y", "--quiet"], "x", True),
        (["--out=x", "train.py", "-m", "z"], ["train.py", "-m", "z"], "x", False),
        (["train.py", "--", "-c", "--help"], ["train.py", "--", "-c", "--help"], None, False),
        (["-m", "pack", "--quiet", "-c"], ["-m", "pack", "--quiet", "-c"], None, False),
        (["-c", "print(1)", "--out", "x"], ["-c", "print(1)", "--out", "x"], None, False),
        (["-c", ""], ["-c", ""], None, False),
        (["-", "x"], ["-", "x"], None, False),
        (["show"], ["show"], None, False),
    ],
)
def test_options_end_where_the_script_begins(words: list[str], rest: list[str], out: str | None, quiet: bool) -> None:
    options, command, _ = parse(words)
    assert (command, options.out, options.quiet) == ([sys.executable, *rest], out, quiet)


def test_the_script_is_named_by_its_whole_path() -> None:
    assert parse(["train.py"])[2] == str(Path("train.py").resolve())
    for words in (["-m", "json.tool"], ["-c", "1"], ["-"], ["--", sys.executable, "train.py"]):
        assert parse(words)[2] is None


def test_after_two_dashes_the_command_is_as_it_stands() -> None:
    assert parse(["--quiet", "--", sys.executable, "--", "x"])[1] == [sys.executable, "--", "x"]


@pytest.mark.parametrize(
    "words",
    [
        [], ["--quiet"], ["--out"], ["--out", "x"], ["--nonsense", "train.py"], ["-q", "train.py"], ["--qui", "train.py"], ["-m"], ["-c"],
        ["--"], ["nowhere.py"], ["--python", "no-such-python", "train.py"], ["--", "no-such-program"],
    ],
)  # fmt: skip
def test_what_cannot_be_run(words: list[str]) -> None:
    with pytest.raises(UnslowError):
        parse(words)


def test_the_active_virtual_environment_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    assert parse(["train.py"])[1][0] == str(python)
    assert parse(["--python", sys.executable, "train.py"])[1][0] == sys.executable
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    assert parse(["train.py"])[1][0] == sys.executable


def test_starting_imports_little() -> None:
    """What is imported before the script starts: nothing of the weight of numpy, rich, msgspec or jinja2."""
    import subprocess

    code = (
        "import sys; from unslow.cli import main, run; import unslow.launch.folder, unslow.launch.command, unslow.launch.supervisor\n"
        "run.parse(['-c', '1'])\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'numpy', 'rich', 'msgspec', 'jinja2', 'psutil', 'asyncio', 'tempfile'}))"
    )
    source = str(Path(__file__).resolve().parents[2] / "src")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": source})
    assert done.stdout == "[]\n"
