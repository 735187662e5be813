"""What the documents say holds: the README's verdict sums, its commands exist, links lead somewhere, files open with a sentence."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_the_verdict_in_the_readme_sums() -> None:
    """The rows that are shown and those that are summed up make the total, to the tenth that is printed for each."""
    text = (ROOT / "README.md").read_text()
    rows = re.findall(r"^ {2}(\S.*?) {2,}([\d.,]+) +([\d.]+)(?: |$)", text, flags=re.MULTILINE)
    *parts, (total_name, total, share) = rows
    assert total_name.strip() == "total" and float(share) == 100.0
    assert {"unexplained"} <= {name.split(" (")[0].strip() for name, _, _ in parts}
    assert sum(float(seconds) for _, seconds, _ in parts) == pytest.approx(float(total), abs=0.05 * len(parts) + 0.05)
    assert sum(float(part) for _, _, part in parts) == pytest.approx(100.0, abs=0.05 * len(parts) + 0.05)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (path.parent / target).exists(), target


def test_make_targets_in_the_documents_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    for path in DOCUMENTS:
        assert set(re.findall(r"`make ([a-z]+)", path.read_text())) <= targets, path.name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_files_open_with_a_sentence(path: Path) -> None:
    """Every module says in its first lines what it is."""
    doc = ast.get_docstring(ast.parse(path.read_text()))
    assert (doc and doc.split("\n")[0].rstrip().endswith((".", ":", "?"))) or (doc and "." in doc.split("\n\n")[0])
