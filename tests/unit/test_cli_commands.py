"""The commands beside ``run``: what they print, where, and with which exit code."""

from __future__ import annotations

import io
import json as plain_json
import sys
from pathlib import Path

import pytest

from tests.golden import accounts
from unslow import __version__
from unslow.activities import ACTIVITIES, WORKER
from unslow.causes import CAUSES
from unslow.cli.main import COMMANDS, USAGE, main
from unslow.reports import json


@pytest.fixture(autouse=True)
def empty_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run is known, and the working folder is empty."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "90")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


class Stdout(io.StringIO):
    """Standard output with its ``buffer``, as a program sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = io.BytesIO()


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = Stdout(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as ended:
        main(words)
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return code or 0, out.getvalue() + out.buffer.getvalue().decode(), err.getvalue()


def put_run(folder: Path, *, started: str = "2026-01-01T10:00:00.000+00:00", exit_code: int = 0) -> Path:
    """A run folder as `unslow run` leaves it."""
    (folder / "recording").mkdir(parents=True)
    facts = {
        "format": 1, "command": ["python", "train.py"], "exit_code": exit_code, "pid": 1, "start_ns": 0, "end_ns": 2_000_000_000,
        "script": str(Path.cwd() / "train.py"), "cwd": str(Path.cwd()), "started": started, "messages": [],
    }  # fmt: skip
    (folder / "run.json").write_text(plain_json.dumps(facts))
    json.write(accounts.ordinary(), folder / "account.json")
    (folder / "report.html").write_text("a report")
    return folder


def test_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "--version") == (0, f"unslow {__version__}\n", "")
    pyproject = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    assert f'version = "{__version__}"' in pyproject


def test_usage_names_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = call(monkeypatch, "--help")
    assert (code, err, out) == (0, "", USAGE)
    for command in COMMANDS:
        assert command in USAGE
    code, out, err = call(monkeypatch)
    assert (code, out, err) == (2, "", USAGE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = call(monkeypatch, command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: unslow {command}")


@pytest.mark.parametrize(
    "words", [("show", "--nonsense"), ("show", "--json", "--html"), ("runs", "--prune", "-1"), ("runs", "--prune", "x")]
)
def test_wrong_options(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = call(monkeypatch, *words)
    assert (code, out) == (2, "")
    assert "usage: unslow" in err


def test_a_misspelt_command_is_a_script_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = call(monkeypatch, "shwo")
    assert (code, out) == (2, "")
    assert "unslow show" in err
    Path("train_model.py").touch()
    assert "train_model.py" in call(monkeypatch, "train_modle.py")[2]


def test_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*ACTIVITIES, *CAUSES, *WORKER, "evaluate/data.wait"):
        code, out, err = call(monkeypatch, "explain", name)
        assert (code, err) == (0, "") and name.removeprefix("evaluate/") in out
    assert "data.wait" in call(monkeypatch, "explain")[1]


def test_explain_suggests(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = call(monkeypatch, "explain", "data.wiat")
    assert (code, out) == (1, "")
    assert "data.wait" in err and "Traceback" not in err


def test_show_in_every_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = put_run(Path(".unslow") / "2026-01-01T10-00-00-train")
    code, out, err = call(monkeypatch, "show")
    assert (code, err) == (0, "")
    assert "total" in out and "report.html" in out and "\x1b" not in out
    for words, start in (
        (("--json",), '{\n "command"'),
        (("--html",), "<!doctype html>"),
        (("--markdown",), "**20.3 s"),
        (("--perfetto",), '{"traceEvents"'),
    ):
        code, out, err = call(monkeypatch, "show", str(folder), *words)
        assert (code, err) == (0, "") and out.lstrip().startswith(start), out[:50]
    assert call(monkeypatch, "show", str(folder / "account.json"))[0] == 0


def test_show_makes_a_missing_account_again(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put_run(Path("out"))
    for name in ("account.json", "report.html"):
        (folder / name).unlink()
    code, out, err = call(monkeypatch, "show", "out")
    assert (code, err) == (0, "")
    assert "2.00" in out and "not measured" in out
    assert (folder / "account.json").exists() and (folder / "report.html").exists()


@pytest.mark.parametrize(
    "words",
    [("show",), ("show", "@-3"), ("show", "@nonsense"), ("show", "@-0"), ("show", "nowhere"), ("show", "empty"), ("show", "text.json"),
     ("dump", "nowhere"), ("dump", "empty"), ("dump",)],
)  # fmt: skip
def test_what_is_not_there_is_said_plainly(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("empty").mkdir()
    Path("text.json").write_text("not json")
    code, out, err = call(monkeypatch, *words)
    assert (code, out) == (1, "")
    assert err.startswith("unslow: ") and "expected:" in err and "do:" in err


def test_runs_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    put_run(Path(".unslow") / "first", started="2026-01-01T10:00:00.000+00:00", exit_code=3)
    put_run(Path(".unslow") / "second", started="2026-01-02T10:00:00.000+00:00")
    code, out, _ = call(monkeypatch, "runs")
    assert code == 0
    assert out.index("@last") < out.index("second") < out.index("@-2") < out.index("exit 3") < out.index("first")


def test_no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = call(monkeypatch, "runs")
    assert code == 0 and "unslow run train.py" in out


def test_prune_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    for day in (1, 2, 3):
        put_run(Path(".unslow") / f"run{day}", started=f"2026-01-0{day}T10:00:00.000+00:00")
    (Path(".unslow") / ".gitignore").write_text("*\n")
    code, out, _ = call(monkeypatch, "runs", "--prune", "1")
    assert code == 0
    assert "removed .unslow/run2" in out and "removed .unslow/run1" in out and "2 runs removed, 1 kept" in out
    assert sorted(path.name for path in Path(".unslow").iterdir()) == [".gitignore", "run3"]


def test_dump_says_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    from unslow.recording.format import LaneWriter

    folder = put_run(Path("out"))
    writer = LaneWriter(pid=1)
    writer.save(folder / "recording" / "host-1-0.unslow")
    for words in ("out", "out/recording/host-1-0.unslow"):
        code, out, err = call(monkeypatch, "dump", words)
        assert (code, err) == (0, "")
        assert "header" in out
