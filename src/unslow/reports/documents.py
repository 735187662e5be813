"""The documents of a run folder: ``account.json`` and ``report.html``, and the source that the report shows."""

from __future__ import annotations

from pathlib import Path

from unslow.account.model import Account, Activity, Overlapped


def preload() -> None:
    """Import and compile, while the script runs, what will be needed after its end."""
    from unslow.reports import html, json, terminal

    html.template()
    _ = (json, terminal)


def write(account: Account, folder: Path) -> list[str]:
    """Write both documents; returns what could not be written, in words."""
    from unslow.reports import json

    problems = []
    for name, make in (("account.json", json.write), ("report.html", _write_html)):
        try:
            make(account, folder / name)
        except OSError as problem:
            problems.append(f"{name} could not be written to {folder} ({problem.strerror})")
        except Exception as problem:  # a report that cannot be drawn costs the report, not the verdict
            problems.append(f"{name} could not be made ({type(problem).__name__}: {problem})")
    return problems


def _write_html(account: Account, path: Path) -> None:
    from unslow.reports import html

    beside = path.with_suffix(".part")
    try:
        beside.write_text(html.render(account, sources(account)), encoding="utf-8")
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def sources(account: Account) -> dict[str, str]:
    """The text of every file of the user's that the account points into; what is gone or unreadable is left out."""
    rows: list[Activity | Overlapped] = [*account.activities, *account.overlapped]
    texts = {}
    for file in sorted({where.file for row in rows for where in row.where}):
        try:
            texts[file] = Path(file).read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            continue
    return texts
