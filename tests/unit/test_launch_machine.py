"""The machine's facts and its rates: what is read, what is kept, and what happens where nothing can be measured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from unslow.launch import machine, rates


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def answer(monkeypatch: pytest.MonkeyPatch, flops: tuple[float, float], memory: tuple[float, float]) -> list[dict[str, Any]]:
    """Let the measuring process answer this; gives back how it was called."""
    calls: list[dict[str, Any]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        calls.append({"command": command, **options})
        return subprocess.CompletedProcess(command, 0, json.dumps({"flops": flops, "bytes": memory}), "")

    monkeypatch.setattr(rates.subprocess, "run", run)
    return calls


def test_facts_are_json_values() -> None:
    facts = machine.machine_facts()
    json.dumps(facts)
    assert 0 < facts["cores_usable"] <= facts["cores"]
    assert facts["memory_bytes"] > 0


def test_a_quota_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_read", lambda path: "150000 100000" if path.name == "cpu.max" else None)
    assert machine.cpu_quota() == 1.5
    assert machine.usable_cores() <= 1.5
    monkeypatch.setattr(machine, "_read", lambda path: "max 100000" if path.name == "cpu.max" else None)
    assert machine.cpu_quota() is None


def test_a_quota_of_the_first_version_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}
    monkeypatch.setattr(machine, "_read", lambda path: values.get(path.name))
    assert machine.cpu_quota() == 0.5
    values["cpu.cfs_quota_us"] = "-1"
    assert machine.cpu_quota() is None


def test_rates_are_kept_per_thread_count(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = answer(monkeypatch, (2e9, 1.9e9), (1e9, 0.9e9))
    assert not rates.known(2)
    first, problem = rates.rates(2)
    assert problem is None and first is not None
    assert (first["flops_per_s"], first["bytes_per_s"], first["threads"], first["noisy"]) == (2e9, 1e9, 2, False)
    assert rates.known(2) and not rates.known(1)
    assert rates.rates(2) == (first, None)
    assert len(calls) == 1
    rates.rates(1)
    assert len(calls) == 2
    assert all(calls[number]["env"]["OMP_NUM_THREADS"] == threads for number, threads in enumerate("21"))


def test_measuring_imports_nothing_of_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A numpy.py in the working folder is a file of the user's, not to be run by us."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numpy.py").write_text("open('was_here', 'w')\n1 / 0\n")
    rates.measure(1, 0.01)
    assert not (tmp_path / "was_here").exists()


def test_noise_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, (2e9, 1e9), (1e9, 0.9e9))
    found, _ = rates.rates(2)
    assert found is not None and found["noisy"]
    assert not rates.known(2)
    answer(monkeypatch, (2e9, 1e9), (1e9, 0.1e9))
    found, problem = rates.rates(2)
    assert found is None and problem is not None and "busy" in problem


def test_a_measurement_that_fails_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, 10)

    monkeypatch.setattr(rates.subprocess, "run", run)
    found, problem = rates.rates(2)
    assert found is None and problem is not None and "TimeoutExpired" in problem


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", "{}", '{"flops_per_s": 0, "bytes_per_s": 1}', '{"flops_per_s": "x", "bytes_per_s": 1}']
)
def test_a_damaged_cache_is_measured_again(text: str, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    answer(monkeypatch, (2e9, 1.9e9), (1e9, 0.9e9))
    rates.rates(2)
    (path,) = (cache / "unslow").iterdir()
    path.write_text(text)
    assert rates.rates(2)[0] is not None
    assert json.loads(path.read_text())["flops_per_s"] == 2e9


def test_a_cache_that_cannot_be_written_is_no_obstacle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    answer(monkeypatch, (2e9, 1.9e9), (1e9, 0.9e9))
    assert rates.rates(2)[0] is not None
