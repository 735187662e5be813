"""All the forms of a command, and the bad ones: what Python does with them is what happens."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.runs import UNSLOW, Run, assert_same, assert_sums, environment, plain, under

Both = Callable[..., tuple[Run, Run]]
SHOW = "import sys\nprint(sys.argv, __name__, __file__, __spec__ and __spec__.name, __package__, sys.path[:1], sys.flags.isolated)\n"


def test_script_beside_other_modules(work: Path, both: Both) -> None:
    """Imports of neighbours work, also of those that are called like modules of the standard library or of ours."""
    for name in ("run", "show", "rich", "numpy", "json", "start", "recorder", "unslow"):
        (work / f"{name}.py").write_text(f"value = 'my {name}'\nprint('imported my', __name__)\n")
    (work / "train.py").write_text("import run, show, rich, json, start, recorder, unslow\nprint(json.value, unslow.value)\n")
    run, _ = both("train.py")
    assert run.exit_code == 0


@pytest.mark.parametrize("name", ["run.py", "show.py", "show", "train", "with space.py", "-dash.py", "sub/train.py", "ünï.py"])
def test_names(name: str, work: Path, tmp_path: Path) -> None:
    """A script may be called anything that Python takes."""
    path = work / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(SHOW)
    spelled = f"./{name}" if name.startswith("-") else name
    assert_same(plain([spelled, "a"], work), under([spelled, "a"], work, tmp_path / "run"))


def test_command_word_is_optional(work: Path) -> None:
    """``unslow train.py`` is ``unslow run train.py``."""
    (work / "train.py").write_text(SHOW)
    done = subprocess.run([*UNSLOW, "train.py", "--out", "x"], cwd=work, env=environment(), capture_output=True, text=True, check=False)
    assert done.stdout == plain(["train.py", "--out", "x"], work).stdout
    assert "total" in done.stderr and done.returncode == 0
    assert (work / ".unslow" / ".gitignore").read_text().strip() == "*"


def test_module(work: Path, both: Both) -> None:
    """``-m package`` and ``-m package.module`` with arguments that look like ours."""
    package = work / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("print('package', __name__)\n")
    (package / "__main__.py").write_text(SHOW)
    (package / "part.py").write_text(SHOW + "from . import other\n")
    (package / "other.py").write_text("import sys\nsys.exit(6)\n")
    both("-m", "pack", "--out", "here", "-m", "x")


def test_module_inside_a_package(work: Path, both: Both) -> None:
    """Relative imports and the exit code of a module."""
    package = work / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text(SHOW + "from . import other\n")
    (package / "other.py").write_text("import sys\nsys.exit(6)\n")
    run, _ = both("-m", "pack.part", "a")
    assert run.exit_code == 6


@pytest.mark.parametrize("arguments", [["-m", "no_such_module"], ["-m", "pack"], ["-m", "json.tool", "nowhere.json"]])
def test_modules_that_fail(arguments: list[str], work: Path, both: Both) -> None:
    """Python's own message for a module that cannot be run."""
    (work / "pack").mkdir()
    (work / "pack" / "__init__.py").write_text("")
    both(*arguments)


@pytest.mark.parametrize(
    "code", ["import sys; print(sys.argv, __name__, sys.path[0])", "1/0", "x = = 1", "import sys; sys.exit('text')", ""]
)
def test_code(code: str, both: Both) -> None:
    """``-c CODE args…``."""
    both("-c", code, "a", "-c", "--quiet")


def test_after_two_dashes(work: Path, tmp_path: Path) -> None:
    """``-- python script`` and ``-- bash -c``: any command that starts Python carries the probe."""
    (work / "train.py").write_text(SHOW + "import time\ntime.sleep(0.2)\nraise SystemExit(4)\n")
    for number, command in enumerate(([sys.executable, "train.py", "x"], ["bash", "-c", f"{sys.executable} train.py y; exit 7"])):
        without = subprocess.run(command, cwd=work, env=environment(), capture_output=True, text=True, check=False)
        run = under(["--", *command], work, tmp_path / f"run{number}")
        assert (run.stdout, run.stderr, run.exit_code) == (without.stdout, without.stderr, without.returncode)
        assert_sums(run.account())


def test_command_without_python(work: Path, tmp_path: Path) -> None:
    """A command that starts no Python runs too; its time is unexplained, and the verdict says why."""
    run = under(["--", "sh", "-c", "sleep 0.2; echo out; echo err >&2; exit 3"], work, tmp_path / "run")
    assert (run.stdout, run.stderr, run.exit_code) == ("out\n", "err\n", 3)
    assert_sums(run.account())
    assert run.account()["not_measured"]


def test_signals_of_a_shell_command(work: Path, tmp_path: Path) -> None:
    """What Python ignores for itself (SIGPIPE, SIGXFSZ) is not ignored in the command: ``yes | head`` ends silently."""
    command = ["bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}; grep SigIgn /proc/self/status"]
    without = subprocess.run(command, cwd=work, env=environment(), capture_output=True, text=True, check=False)
    run = under(["--", *command], work, tmp_path / "run")
    assert_same(Run(_own_signals(without.stdout), without.stderr, without.returncode), replace(run, stdout=_own_signals(run.stdout)))


def _own_signals(text: str) -> str:
    """Without the two signals that the C library keeps for itself (32 and 33): how it starts a program shows in them."""
    library = 1 << 31 | 1 << 32
    return re.sub(r"SigIgn:\t(\w+)", lambda found: f"SigIgn {int(found[1], 16) & ~library:016x}", text)


@pytest.mark.torch
@pytest.mark.slow
def test_torchrun(work: Path, tmp_path: Path) -> None:
    """``-- torchrun``: each rank carries the probe; the exit code is torchrun's."""
    (work / "train.py").write_text("import os, torch\nprint('rank', os.environ['RANK'], torch.ones(2).sum().item())\n")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "train.py"]
    run = under(["--", *torchrun], work, tmp_path / "run", env=environment(OMP_NUM_THREADS="1"))
    assert sorted(run.stdout.splitlines()) == ["rank 0 2.0", "rank 1 2.0"]
    assert run.exit_code == 0
    assert_sums(run.account())


@pytest.mark.parametrize(
    "options", [["-I"], ["-E"], ["-S"], ["-s"], ["-O"], ["-u"], ["-B"], ["-X", "dev"], ["-W", "error"], ["-q", "-OO"]], ids="".join
)
def test_interpreter_options(options: list[str], work: Path, tmp_path: Path) -> None:
    """Python's own options: the script is the same; where the probe is switched off by them, the account says so."""
    (work / "train.py").write_text(SHOW + "import sys\nprint(sys.flags, sys.warnoptions)\nassert 0, 'kept'\n")
    without = plain([*options, "train.py"], work)
    run = under(["--", sys.executable, *options, "train.py"], work, tmp_path / "run")
    assert_same(without, run)
    account = run.account()
    assert_sums(account)
    if options[0] in ("-I", "-E", "-S"):
        assert any(options[0] in item["what"] + item["why"] for item in account["not_measured"]), account["not_measured"]


@pytest.mark.parametrize("arguments", [["nowhere.py"], ["nowhere/at/all.py", "x"]], ids=repr)
def test_no_such_script(arguments: list[str], work: Path, tmp_path: Path) -> None:
    """Before the script starts the exit code is 2, as Python's, with a message that says what to do; nothing is left behind."""
    run = under(arguments, work, tmp_path / "run")
    assert (run.exit_code, run.stdout) == (2, "")
    assert run.stderr and "Traceback" not in run.stderr
    assert not list(work.iterdir()) and not (tmp_path / "run").exists()


def test_near_miss(work: Path, tmp_path: Path) -> None:
    """A misspelt name: the message names the script that is there."""
    (work / "train.py").write_text("")
    run = under(["trian.py"], work, tmp_path / "run")
    assert run.exit_code == 2 and "train.py" in run.stderr


@pytest.mark.parametrize("name", ["folder", "empty-folder", ""])
def test_folder_without_main(name: str, work: Path, both: Both) -> None:
    """A folder that Python cannot run: Python's own message and exit code."""
    (work / "folder").mkdir()
    (work / "folder" / "train.py").write_text("")
    (work / "empty-folder").mkdir()
    run, _ = both(name)
    assert run.exit_code == 1 and "__main__" in run.stderr


def test_folder_with_main(work: Path, both: Both) -> None:
    """A folder or a zip file with a ``__main__.py`` is a script for Python."""
    (work / "app").mkdir()
    (work / "app" / "__main__.py").write_text(SHOW)
    both("app", "x")


def test_zip_with_main(work: Path, both: Both) -> None:
    (work / "app").mkdir()
    (work / "app" / "__main__.py").write_text(SHOW + "1 / 0\n")
    shutil.make_archive(str(work / "app"), "zip", work / "app")
    both("app.zip", "x")


@pytest.mark.parametrize(
    "arguments", [[], ["run"], ["run", "--quiet"], ["run", "--out"], ["run", "--nonsense", "x.py"], ["run", "--"], ["run", "-m"]]
)
def test_usage(arguments: list[str], work: Path) -> None:
    """A command line that makes no sense: exit code 2, and what to type instead (a bare ``unslow`` may also print its help)."""
    done = subprocess.run([*UNSLOW, *arguments], cwd=work, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 or not arguments
    assert "unslow run" in done.stderr + done.stdout, "what to type"
    assert "Traceback" not in done.stderr


def test_no_such_interpreter(work: Path, tmp_path: Path) -> None:
    """``--python`` that does not exist: exit code 2, nothing started."""
    (work / "train.py").write_text("print('never')\n")
    command = [*UNSLOW, "run", "--python", "no-such-python", "--out", str(tmp_path / "run"), "train.py"]
    done = subprocess.run(command, cwd=work, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-python" in done.stderr and "Traceback" not in done.stderr


def test_users_own_sitecustomize(work: Path, tmp_path: Path) -> None:
    """A sitecustomize of the user's is loaded as ever, once, under its own name and file."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import sys\nif len(sys.orig_argv) == 2:  # not in unslow's own process\n    print('mine', __name__, __file__)\nvalue = 5\nsys.setrecursionlimit(1234)\n"
    )
    (work / "train.py").write_text(
        "import sys, sitecustomize\nprint(sitecustomize.value, sitecustomize.__file__, sys.getrecursionlimit(), sys.path[1:3])\n"
    )
    env = environment()
    env["PYTHONPATH"] = f"{site}:{env['PYTHONPATH']}"
    assert_same(plain(["train.py"], work, env=env), under(["train.py"], work, tmp_path / "run", env=env))


def test_users_sitecustomize_that_fails(work: Path, tmp_path: Path) -> None:
    """Python reports an error in sitecustomize and goes on; with the same words."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\ndef f():\n    raise ValueError('mine')\nif len(sys.orig_argv) == 2:\n    f()\n")
    (work / "train.py").write_text("print('goes on')\n")
    env = environment()
    env["PYTHONPATH"] = f"{site}:{env['PYTHONPATH']}"
    assert_same(plain(["train.py"], work, env=env), under(["train.py"], work, tmp_path / "run", env=env))


def test_no_pythonpath(work: Path, tmp_path: Path) -> None:
    """Without PYTHONPATH before there is none of ours on ``sys.path`` after; a relative entry keeps its meaning."""
    (work / "train.py").write_text("import sys\nprint([p for p in sys.path if 'bootstrap' in p], sys.path)\n")
    for number, value in enumerate(("lib:", ":lib", "lib")):
        env = environment()
        env["PYTHONPATH"] += f":{value}"
        assert_same(plain(["train.py"], work, env=env), under(["train.py"], work, tmp_path / f"run{number}", env=env))


def test_stdin_is_the_scripts(work: Path, both: Both) -> None:
    """Standard input goes through untouched."""
    (work / "train.py").write_text("import sys\nprint(repr(sys.stdin.read()), sys.stdin.fileno())\n")
    run, _ = both("train.py", stdin="one\ntwo")
    assert "one\\ntwo" in run.stdout


def test_read_from_stdin(both: Both) -> None:
    """``unslow run -``: the script itself comes from standard input."""
    both("-", "x", stdin="import sys\nprint(sys.argv, __name__)\n1 / 0\n")
