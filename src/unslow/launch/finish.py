"""After the script's end: read the recording, make the account, write the documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from unslow.account.model import Account
from unslow.launch.supervisor import Outcome


def preload() -> None:
    """Import, while the script runs, what will be needed after its end."""
    import jinja2
    import msgspec
    import numpy
    import rich.console
    import rich.table

    import unslow.account.build
    import unslow.recording.merge
    from unslow.findings.engine import all_rules

    all_rules()
    _ = (jinja2, msgspec, numpy, rich.console, rich.table, unslow.account.build, unslow.recording.merge)


def finish(outcome: Outcome, say: Callable[[str], None] | None) -> Account:
    """The account of a finished run, with ``account.json`` and ``report.html`` in its folder.

    ``say`` takes a sentence for the user; None keeps quiet. A document that cannot be written is a sentence, not an error.
    """
    from unslow.launch.index import remember

    account = make_account(outcome.folder, say)
    remember(outcome.folder)
    problems = write_documents(account, outcome.folder)
    for problem in problems:
        if say is not None:
            say(problem)
    return account


def make_account(folder: Path, say: Callable[[str], None] | None = None) -> Account:
    """Load the recording in ``folder`` and account for it; measures the machine's rates where they are not known yet."""
    from unslow.account.build import build
    from unslow.findings.engine import diagnose
    from unslow.recording.merge import load

    recording = load(folder)
    if recording.run.rates is None and any(lane.inspected for lane in recording.lanes):
        rates, problem = _rates(_threads(recording), say)
        recording = replace(recording, run=replace(recording.run, rates=rates))
        _keep(folder, rates, problem)
    return diagnose(recording, build(recording))


def write_documents(account: Account, folder: Path) -> list[str]:
    """Write account.json and report.html; returns what could not be written, in words."""
    from importlib import import_module

    problems = []
    json_report = import_module("unslow.reports.json")
    html_report = import_module("unslow.reports.html")
    for name, write in (
        ("account.json", lambda path: json_report.write(account, path)),
        ("report.html", lambda path: path.write_text(html_report.render(account, sources(account)), encoding="utf-8")),
    ):
        try:
            write(folder / name)
        except OSError as problem:
            problems.append(f"{name} could not be written to {folder} ({problem.strerror})")
    return problems


def sources(account: Account) -> dict[str, str]:
    """The text of every file of the user's that the account points into; what is gone or unreadable is left out."""
    files = {where.file for row in (*account.activities, *account.overlapped) for where in row.where}
    texts = {}
    for file in files:
        try:
            texts[file] = Path(file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return texts


def _threads(recording: Any) -> int:
    for lane in recording.lanes:
        for fact in lane.facts:
            if fact.get("name") == "threads" and isinstance(fact.get("value"), int):
                return int(fact["value"])
    return max(int(recording.run.machine.get("cores_usable", 1)), 1)


def _rates(threads: int, say: Callable[[str], None] | None) -> tuple[dict[str, Any] | None, str | None]:
    from unslow.launch.rates import known, rates

    if say is not None and not known(threads):
        say(f"measuring what this machine can compute with {threads} thread{'s' if threads != 1 else ''} (once, half a second)")
    return rates(threads)


def _keep(folder: Path, rates: dict[str, Any] | None, problem: str | None) -> None:
    try:
        path = folder / "run.json"
        facts = json.loads(path.read_text())
        facts["rates"] = rates
        if problem:
            facts["messages"] = [*facts.get("messages", []), problem]
        path.write_text(json.dumps(facts, indent=1))
    except (OSError, ValueError):
        pass
