"""Every page about a cause is true: its example shows the cause, its healthy twin does not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.runs import environment, under
from unslow.causes import CAUSES
from unslow.findings.engine import all_rules

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "causes").glob("*.md"))
SECTIONS = ("How it is recognised", "What to do", "When it is fine", "Example that shows it", "Healthy twin", "Fix")
WITHOUT_SCRIPT = ("host.swap",)  # shown by a recording in tests/unit/test_rules_host.py: a script would have to fill the memory
BESIDE_IDLE_CORES = ("data.too_few_workers", "data.pipeline_serial", "host.contention")
QUICK = ("debug.anomaly", "graph.growth", "optimizer.unfused", "data.array_conversion")


def _script(page: Path, section: str) -> str:
    found = re.search(rf"^## {section}\n+```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{page.name}: no script under {section}"
    return found.group(1)


def _primary(page: Path, section: str, folder: Path) -> list[str]:
    """The primary findings of a page's script, main one first."""
    folder.mkdir()
    (folder / "train.py").write_text(_script(page, section))
    # One thread, unless the page says otherwise: on a busy machine two of them wait for each other, which is another cause.
    run = under(["train.py"], folder, folder / "run", timeout=300, env=environment(OMP_NUM_THREADS="1"))
    assert run.exit_code == 0, run.stderr
    return [finding["cause"] for finding in run.account()["findings"] if not finding["secondary"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_is_whole(page: Path) -> None:
    """A title, a paragraph, all sections in order, and two scripts that compile."""
    text = page.read_text()
    assert text.startswith(f"# {page.stem}\n\n")
    assert tuple(re.findall(r"^## (.*)$", text, re.MULTILINE)) == SECTIONS
    for section in ("Example that shows it", "Healthy twin") if page.stem not in WITHOUT_SCRIPT else ():
        compile(_script(page, section), page.name, "exec")
    assert re.search(r"`[a-z0-9-]+`.*: ?(safe|unsafe|display)", text.rpartition("## Fix")[2])


def test_each_rule_has_a_page_and_each_page_a_rule() -> None:
    """No rule without an explanation, no page about nothing, no name outside the vocabulary."""
    rules = set(all_rules())
    assert rules == {page.stem for page in PAGES}
    assert rules <= set(CAUSES)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[] if page.stem in QUICK else [pytest.mark.slow])
        for page in PAGES
        if page.stem not in WITHOUT_SCRIPT
    ],
)
def test_example_shows_it_and_twin_does_not(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause is among what is found in the example, and not in its twin."""
    if not page.stem.startswith("threads."):
        # Two threads that wait for each other on a crowded machine would drown every other cause.
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if page.stem in BESIDE_IDLE_CORES and os.getloadavg()[0] > len(os.sched_getaffinity(0)) / 2:
        pytest.skip("no core is idle here now: what these say, or do not say, depends on it")
    assert page.stem in _primary(page, "Example that shows it", tmp_path / "example")
    assert page.stem not in _primary(page, "Healthy twin", tmp_path / "twin")
