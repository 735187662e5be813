"""Run folders and the index: where a run goes, how it is found again, and that nothing of the user's is taken away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unslow.errors import UnslowError
from unslow.launch import index
from unslow.launch.folder import discard, run_folder, short_name


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def put_run(folder: Path, started: str, cwd: Path | None = None) -> Path:
    (folder / "recording").mkdir(parents=True)
    (folder / "recording" / "host-1-0.unslow").touch()
    facts = {
        "command": ["python", "t.py"],
        "exit_code": 0,
        "start_ns": 0,
        "end_ns": 5,
        "script": None,
        "cwd": str(cwd or Path.cwd()),
        "started": started,
    }
    (folder / "run.json").write_text(json.dumps(facts))
    for name in ("account.json", "report.html"):
        (folder / name).touch()
    return folder


def test_default_folder_is_hidden_from_git() -> None:
    folder, messages = run_folder(None, "train")
    assert messages == ()
    assert folder.parent == Path.cwd() / ".unslow" and folder.name.endswith("-train") and folder.is_dir()
    assert (folder.parent / ".gitignore").read_text() == "*\n"


def test_runs_of_one_second_have_folders_of_their_own() -> None:
    folders = [run_folder(None, "train")[0] for _ in range(4)]
    assert len(set(folders)) == 4
    assert all(path.name.endswith("-train") for path in folders)


def test_an_own_gitignore_is_left(work: Path) -> None:
    (work / ".unslow").mkdir()
    (work / ".unslow" / ".gitignore").write_text("mine\n")
    run_folder(None, "train")
    assert (work / ".unslow" / ".gitignore").read_text() == "mine\n"


def test_a_file_where_the_folder_should_be(work: Path) -> None:
    """``.unslow`` is a file of the user's: it stays, the run goes elsewhere, and that is said."""
    (work / ".unslow").write_text("mine")
    folder, messages = run_folder(None, "train")
    assert folder.is_dir() and work not in folder.parents
    assert len(messages) == 1 and str(folder) in messages[0]
    assert (work / ".unslow").read_text() == "mine"
    discard(folder)


def test_asked_for_folder(work: Path) -> None:
    assert run_folder("a/b/c", "train") == (Path("a/b/c"), ())
    assert run_folder("a/b/c", "train")[0].is_dir(), "an empty folder is taken"
    (work / "a" / "b" / "c" / "file").touch()
    for taken in ("a/b/c", "a/b/c/file", "a"):
        with pytest.raises(UnslowError, match=taken):
            run_folder(taken, "train")


def test_discard_takes_only_what_is_empty(work: Path) -> None:
    folder, _ = run_folder("x", "train")
    (folder / "recording").mkdir()
    (folder / "mine").touch()
    discard(folder)
    assert [path.name for path in folder.iterdir()] == ["mine"]
    (folder / "mine").unlink()
    discard(folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("/x/train.py", "train"),
        ("tr ain/../é b.py", "é-b"),
        ("", "run"),
        (".py", "py"),
        ("a" * 99, "a" * 40),
        ("x/..", "run"),
        ("\udcff.py", "-"),
    ],
)
def test_short_names(script: str, name: str) -> None:
    assert short_name(script) == name


def test_last_is_the_newest_from_here(tmp_path: Path, work: Path) -> None:
    first = put_run(work / ".unslow" / "a", "2026-01-01T10:00:00")
    second = put_run(tmp_path / "elsewhere", "2026-01-02T10:00:00")
    other = put_run(tmp_path / "other", "2026-01-03T10:00:00", cwd=tmp_path)
    for folder in (second, other, tmp_path / "gone"):
        index.remember(folder)
    assert index.resolve("@last") == second
    assert index.resolve("@-2") == first
    with pytest.raises(UnslowError, match="@-3"):
        index.resolve("@-3")


def test_without_a_run_from_here_the_newest_of_all(tmp_path: Path) -> None:
    index.remember(put_run(tmp_path / "other", "2026-01-03T10:00:00", cwd=tmp_path))
    assert index.resolve("@last") == tmp_path / "other"


def test_an_index_of_nonsense_is_no_obstacle(work: Path) -> None:
    index.index_file().parent.mkdir(parents=True)
    index.index_file().write_text('nonsense\n{"folder": 5}\n[]\n{"folder": "/nowhere"}\n\n')
    put_run(work / ".unslow" / "a", "2026-01-01T10:00:00")
    (work / ".unslow" / "b").mkdir()
    (work / ".unslow" / "c").mkdir()
    (work / ".unslow" / "c" / "run.json").write_text("{}")
    assert [run.folder.name for run in index.known_runs()] == ["a"]


def test_an_index_that_cannot_be_written_is_no_obstacle(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    (work / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(work / "file"))
    index.remember(work)
    assert index.known_runs() == []


def test_prune_leaves_what_is_not_ours(tmp_path: Path, work: Path) -> None:
    """A folder given with --out, in which the user has put something since: that stays; so do runs of other folders."""
    mixed = put_run(tmp_path / "results", "2026-01-01T10:00:00")
    (mixed / "model.pt").write_text("precious")
    linked = put_run(work / ".unslow" / "linked", "2026-01-02T10:00:00")
    target = tmp_path / "target"
    target.mkdir()
    (target / "precious.unslow").touch()
    (linked / "recording" / "host-1-0.unslow").unlink()
    (linked / "recording").rmdir()
    (linked / "recording").symlink_to(target)
    plain = put_run(work / ".unslow" / "plain", "2026-01-03T10:00:00")
    other = put_run(tmp_path / "other", "2026-01-04T10:00:00", cwd=tmp_path)
    for folder in (mixed, other):
        index.remember(folder)
    removed, left = index.prune(0)
    assert removed == [plain] and sorted(left) == sorted([mixed, linked])
    assert (mixed / "model.pt").read_text() == "precious"
    assert (target / "precious.unslow").exists()
    assert (other / "account.json").exists()


def test_prune_follows_no_link_to_a_run(tmp_path: Path, work: Path) -> None:
    """A link in ``.unslow`` to a run elsewhere: the run is removed as the run that it is, with nothing beside it."""
    real = put_run(tmp_path / "deep" / "run", "2026-01-01T10:00:00", cwd=tmp_path)
    (tmp_path / "deep" / "precious").touch()
    (work / ".unslow").mkdir()
    (work / ".unslow" / "link").symlink_to(real)
    index.prune(0)
    assert (tmp_path / "deep" / "precious").exists()


def test_bytes_that_are_no_utf8_do_not_hide_a_recording(tmp_path: Path) -> None:
    """An argument may hold any bytes; the stream's header writes them as half surrogate pairs, which strict JSON readers refuse."""
    from unslow.recording.format import LaneWriter, read_lane

    path = tmp_path / "a.unslow"
    LaneWriter(pid=1, argv=["train.py", "\udcff"]).save(path)
    lane, problems = read_lane(path)
    assert problems == () and lane is not None
    assert lane.header["argv"] == ["train.py", "?"]
