"""Where the run folder goes, and what happens where it cannot: nothing of the user's is lost, the script always runs."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runs import UNSLOW, assert_sums, environment, under

SCRIPT = "print('one')\nimport time\ntime.sleep(0.05)\nprint('two')\nraise SystemExit(3)\n"


@pytest.fixture(autouse=True)
def script(work: Path) -> None:
    (work / "train.py").write_text(SCRIPT)


def test_out_is_made_with_parents(work: Path, tmp_path: Path) -> None:
    run = under(["train.py"], work, tmp_path / "a" / "b" / "c")
    assert run.exit_code == 3
    assert_sums(run.account())
    assert (tmp_path / "a" / "b" / "c" / "report.html").exists()
    assert not (work / ".unslow").exists()


def test_an_empty_folder_is_taken(work: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert under(["train.py"], work, tmp_path / "empty").exit_code == 3
    assert (tmp_path / "empty" / "account.json").exists()


@pytest.mark.parametrize("kind", ["folder", "file", "old run"])
def test_anything_else_is_refused_before_the_start(kind: str, work: Path, tmp_path: Path) -> None:
    """A folder with something in it, or a file, is never written to: exit code 2, and the script did not start."""
    out = tmp_path / "taken"
    if kind == "file":
        out.write_text("precious")
    else:
        out.mkdir()
        (out / ("account.json" if kind == "old run" else "notes.txt")).write_text("precious")
    run = under(["train.py"], work, out)
    assert (run.exit_code, run.stdout) == (2, "")
    assert str(out) in run.stderr.replace("\n", "") and "Traceback" not in run.stderr
    kept = [out] if kind == "file" else list(out.iterdir())
    assert [path.read_text() for path in kept] == ["precious"]


def ordinary_user() -> list[str] | None:
    """A prefix that drops root's right to write anywhere, or None where that cannot be had."""
    if os.geteuid() != 0:
        return []
    tool = shutil.which("setpriv")
    return [tool, "--reuid=65534", "--regid=65534", "--clear-groups", "--"] if tool else None


def test_unwritable_place(work: Path, tmp_path: Path) -> None:
    """A place that cannot be written to is no refusal: the script runs and ends as ever, the verdict comes from what is known."""
    if not Path("/proc/self").exists():
        pytest.skip("needs /proc, a folder that nobody can write to")
    command = [*UNSLOW, "run", "--python", sys.executable, "--out", "/proc/self/unslow", "train.py"]
    done = subprocess.run(command, cwd=work, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("one\ntwo\n", 3)
    assert "Traceback" not in done.stderr
    assert "total" in done.stderr, "the verdict, from the supervisor's clock at least"
    assert "/proc/self/unslow" in done.stderr.replace("\n", "")


def test_unwritable_place_quietly(work: Path) -> None:
    run = under(["train.py"], work, Path("/proc/self/unslow"))
    assert (run.stdout, run.exit_code) == ("one\ntwo\n", 3)


def test_unwritable_working_folder(work: Path, tmp_path: Path) -> None:
    """The default place, ``.unslow`` here, where here is read-only: still no refusal."""
    prefix = ordinary_user()
    if prefix is None:
        pytest.skip("runs as root without setpriv")
    probe = subprocess.run(
        [*prefix, sys.executable, "-c", "import msgspec, os, sys; sys.exit(not os.access(sys.executable, os.X_OK))"],
        cwd="/",
        env=environment(),
        capture_output=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip("the interpreter cannot be read by an ordinary user here")
    command = [*prefix, *UNSLOW, "run", "--python", sys.executable, "-c", SCRIPT]
    env = environment(HOME="/nonexistent", XDG_STATE_HOME=None, XDG_CACHE_HOME=None)
    done = subprocess.run(command, cwd="/proc", env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("one\ntwo\n", 3)
    assert "Traceback" not in done.stderr and "total" in done.stderr


def test_state_folder_that_cannot_be_written(work: Path, tmp_path: Path) -> None:
    """The index of runs and the machine's rates are extras: without their place the run is complete."""
    env = environment(XDG_STATE_HOME="/proc/self/no", XDG_CACHE_HOME="/proc/self/no")
    run = under(["train.py"], work, tmp_path / "run", env=env)
    assert (run.stdout, run.stderr, run.exit_code) == ("one\ntwo\n", "", 3)
    assert_sums(run.account())


@pytest.mark.parametrize("size", [0, 4096, 100_000])
def test_files_limited_in_size(size: int, work: Path, tmp_path: Path) -> None:
    """No file may grow beyond ``size`` bytes (as on a full disk): the script ends as ever, and the verdict comes from what is known."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    command = [*UNSLOW, "run", "--python", sys.executable, "--out", str(tmp_path / "run"), "train.py"]
    done = subprocess.run(command, cwd=work, env=environment(), capture_output=True, text=True, check=False, timeout=60, preexec_fn=limit)
    assert (done.stdout, done.returncode) == ("one\ntwo\n", 3)
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr, "what could not be written is said"
    assert "total" in done.stderr, "the verdict, from the supervisor's clock at least"


def test_full_disk(work: Path, tmp_path: Path) -> None:
    """A real file system of 64 KiB: the script ends as ever, and the verdict is on the terminal."""
    small = tmp_path / "small"
    small.mkdir()
    mount = shutil.which("unshare")
    if mount is None:
        pytest.skip("needs unshare")
    out = small / "run"
    inner = f"mount -t tmpfs -o size=64k none {small} && exec {' '.join([*UNSLOW, 'run', '--python', sys.executable, '--out', str(out)])} train.py"
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", inner],
        cwd=work,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "mount" in done.stderr and not done.stdout:
        pytest.skip(f"no small file system here: {done.stderr.strip()}")
    assert (done.stdout, done.returncode) == ("one\ntwo\n", 3)
    assert "Traceback" not in done.stderr and "total" in done.stderr


def test_run_folder_removed_meanwhile(work: Path, tmp_path: Path) -> None:
    """The script itself removes the run folder: its own business; no crash of ours."""
    out = tmp_path / "run"
    (work / "train.py").write_text(f"import shutil\nshutil.rmtree({str(out)!r})\nprint('gone')\n")
    run = under(["train.py"], work, out, quiet=False)
    assert (run.stdout, run.exit_code) == ("gone\n", 0)
    assert "Traceback" not in run.stderr


def test_script_that_changes_folder(work: Path, tmp_path: Path) -> None:
    """A relative ``--out`` means the folder where unslow was started, whatever the script does."""
    (work / "train.py").write_text("import os\nos.chdir('/')\nprint(os.getcwd())\n")
    run = under(["train.py"], work, Path("here"))
    assert (run.stdout, run.exit_code) == ("/\n", 0)
    assert (work / "here" / "account.json").exists()


def test_script_that_closes_every_file(work: Path, tmp_path: Path) -> None:
    """A daemon-like script closes all descriptors, ours included, and opens its own in their place."""
    (work / "train.py").write_text(
        "import os, time\nos.closerange(3, 256)\nfd = os.open('mine.txt', os.O_CREAT | os.O_RDWR)\nfor n in range(2000):\n"
        "    os.write(fd, b'x')\n    time.sleep(0) or print(end='')\nos.close(fd)\nprint(open('mine.txt').read() == 'x' * 2000)\n"
    )
    run = under(["train.py"], work, tmp_path / "run")
    assert (run.stdout, run.stderr, run.exit_code) == ("True\n", "", 0)
    assert_sums(run.account())


def test_default_place(work: Path) -> None:
    """``.unslow/<time>-<name>/`` with a ``.gitignore`` of its own; two runs are two folders."""
    for _ in range(2):
        command = [*UNSLOW, "run", "--python", sys.executable, "train.py"]
        subprocess.run(command, cwd=work, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    runs = [path for path in (work / ".unslow").iterdir() if path.is_dir()]
    assert len(runs) == 2 and all(path.name.endswith("-train") for path in runs)
    assert (work / ".unslow" / ".gitignore").read_text().strip() == "*"
    for path in runs:
        assert {"account.json", "report.html", "run.json", "recording"} <= {item.name for item in path.iterdir()}
