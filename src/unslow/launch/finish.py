"""After the script's end: read the recording, measure the machine's rates if need be, make the account."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from unslow.account.model import Account, NotMeasured
from unslow.launch.supervisor import Outcome


def preload() -> None:
    """Import, while the script runs, what will be needed after its end."""
    import jinja2
    import msgspec
    import numpy as np
    import rich.console
    import rich.table

    import unslow.account.build
    import unslow.recording.merge
    from unslow.findings import engine

    with contextlib.suppress(Exception):  # a rule that cannot be loaded is told of in the account
        engine.all_rules()
    _ = (jinja2, msgspec, np, rich.console, rich.table, unslow.account.build, unslow.recording.merge)


def finish(outcome: Outcome, say: Callable[[str], None] | None) -> Account:
    """The account of a finished run, which is put into the index. ``say`` takes a sentence for the user; None keeps quiet."""
    from unslow.launch.index import remember

    remember(outcome.folder)
    return make_account(outcome.folder, say, outcome.facts)


def make_account(folder: Path, say: Callable[[str], None] | None = None, facts: dict[str, Any] | None = None) -> Account:
    """Load the recording in ``folder`` and account for it; measures the machine's rates where they are not known yet.

    ``facts``: what ``run.json`` would say, where it could not be written.
    """
    import msgspec

    from unslow.account.build import build
    from unslow.findings.engine import diagnose
    from unslow.recording.merge import load
    from unslow.recording.model import Run

    recording = load(folder, msgspec.convert(facts, Run) if facts else None)
    if recording.run.rates is None and any(lane.inspected for lane in recording.lanes):
        rates, problem = _rates(_threads(recording), say)
        recording = replace(recording, run=replace(recording.run, rates=rates))
        _keep(folder, rates, problem)
    account = build(recording)
    try:
        return diagnose(recording, account)
    except Exception as problem:  # the account stands without its findings
        why = f"the diagnosis failed ({type(problem).__name__}: {problem})"
        return replace(account, not_measured=(*account.not_measured, NotMeasured("why the time went", why)))


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
