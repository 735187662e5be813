"""The probe keeps to its rules: standard library only, five names in each adapter, a bootstrap that any Python 3 can read."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = Path(__file__).resolve().parents[2] / "src" / "unslow" / "probe"
ADAPTERS = sorted(
    path for path in (PROBE / "adapters").glob("*.py") if path.stem != "__init__" and "ADAPTER = False" not in path.read_text()
)
FILES = sorted(PROBE.rglob("*.py"))
# An inspected step may use the dispatch mode of the framework that the script has imported.
LENT = {"inspect_mode.py": ("torch",)}
NAMES = {"MODULE", "VERSIONS", "CAPABILITIES", "install", "uninstall"}


def imports(tree: ast.AST) -> list[tuple[str, int]]:
    """(module, level) of every import statement, wherever it stands."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", node.level))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROBE)))
def test_imports_only_the_standard_library(path: Path) -> None:
    """No framework, nothing of ours outside the probe: it lives in the user's process."""
    depth = len(path.relative_to(PROBE).parts)
    for name, level in imports(ast.parse(path.read_text())):
        if level:
            assert level <= depth, f"{path.name} reaches outside the probe"
        else:
            top = name.partition(".")[0]
            if top in LENT.get(path.name, ()):
                continue
            assert top in sys.stdlib_module_names or top == "_unslow_probe", f"{path.name} imports {name}"
            assert top not in {"dataclasses", "logging", "random", "unittest", "tempfile"}, f"{name} is slow, logs or draws"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROBE)))
def test_touches_no_state_of_the_script(path: Path) -> None:
    """No call that changes random states, warning filters, signal handlers, the collector's settings or thread counts."""
    banned = {
        "seed", "manual_seed", "setstate", "set_rng_state", "simplefilter", "filterwarnings", "resetwarnings", "set_threshold", "freeze",
        "set_num_threads", "setrecursionlimit", "setswitchinterval", "settrace", "setprofile", "basicConfig", "set_default_dtype", "set_default_device",
    }  # fmt: skip
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            assert node.func.attr not in banned, f"{path.name}:{node.lineno} calls {node.func.attr}"
            assert (owner, node.func.attr) not in {("gc", "disable"), ("gc", "enable"), ("signal", "signal"), ("gc", "collect")}, (
                f"{path.name}:{node.lineno}"
            )


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_adapter_has_the_five_names(path: Path) -> None:
    """The same names with the same meaning in each adapter."""
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "opens with one sentence"
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    defined[target.id] = node
    assert set(defined) >= NAMES
    install, uninstall = defined["install"], defined["uninstall"]
    assert isinstance(install, ast.FunctionDef) and isinstance(uninstall, ast.FunctionDef)
    assert install.args.args[0].arg == "recorder" and len(install.args.args) == 2
    assert not uninstall.args.args
    values = {name: ast.literal_eval(defined[name].value) for name in ("MODULE", "VERSIONS", "CAPABILITIES")}  # type: ignore[attr-defined]
    assert isinstance(values["MODULE"], str)
    low, high = values["VERSIONS"]
    assert tuple(low) < tuple(high)
    assert all(isinstance(item, str) for item in values["CAPABILITIES"]) and len(set(values["CAPABILITIES"])) == len(values["CAPABILITIES"])


@pytest.mark.parametrize("name", LENT)
def test_lent_imports_wait_for_the_script(name: str) -> None:
    """What is lent is imported inside a function, when the script's own import has happened."""
    for node in ast.parse((PROBE / name).read_text()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert not {module.partition(".")[0] for module, _ in imports(node)} & set(LENT[name])


def test_bootstrap_parses_on_any_python_3() -> None:
    """The script's interpreter may be much older than ours."""
    source = (PROBE / "bootstrap" / "sitecustomize.py").read_text()
    tree = ast.parse(source, feature_version=(3, 4))
    # What feature_version lets through: f-strings and annotated variables.
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr)]
    assert not any(name == "__future__" for name, _ in imports(tree))


def test_bootstrap_leaves_a_process_of_others_alone(tmp_path: Path) -> None:
    """Without a run folder in the environment the bootstrap does nothing but step aside."""
    code = "import sys; print([m for m in sys.modules if 'unslow' in m], [p for p in sys.path if 'bootstrap' in p])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(PROBE / "bootstrap")}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[] []\n", "")


def test_run_folder_that_is_gone(tmp_path: Path) -> None:
    """A child that outlives the run folder runs on without a word."""
    env = {"PYTHONPATH": str(PROBE / "bootstrap"), "UNSLOW_RUN": str(tmp_path / "gone")}
    done = subprocess.run([sys.executable, "-c", "import json; print('fine')"], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("fine\n", "")
    assert not (tmp_path / "gone").exists()
