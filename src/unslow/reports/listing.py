"""The user's source with seconds beside the lines: which lines of which files are worth showing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unslow import units
from unslow.account.model import Account
from unslow.reports import words

MAX_FILES = 6
MAX_HOT = 24
WHOLE_FILE = 50
CONTEXT = 2


def listings(account: Account, sources: Mapping[str, str]) -> list[dict[str, Any]]:
    """The files where most time was spent, each with its hot lines and what is around them."""
    spent: dict[str, dict[int, dict[str, int]]] = {}
    for row in account.activities:
        for where in row.where:
            by_name = spent.setdefault(where.file, {}).setdefault(where.line, {})
            by_name[row.name] = by_name.get(row.name, 0) + where.ns
    order = sorted(spent, key=lambda file: -sum(sum(names.values()) for names in spent[file].values()))
    return [_listing(account, file, spent[file], sources.get(file)) for file in order[:MAX_FILES]]


def _listing(account: Account, file: str, spent: dict[int, dict[str, int]], source: str | None) -> dict[str, Any]:
    sums = {line: sum(names.values()) for line, names in spent.items()}
    hot = sorted(sums, key=lambda line: -sums[line])[:MAX_HOT]
    # Only \n ends a line for Python's own line numbers; a form feed does not.
    text = source.replace("\r\n", "\n").replace("\r", "\n").split("\n") if source is not None else []
    while text and not text[-1].strip():
        text.pop()
    if source is None:
        shown = sorted(hot)
    elif len(text) <= WHOLE_FILE:
        shown = list(range(1, len(text) + 1))
    else:
        shown = sorted({near for line in hot for near in range(line - CONTEXT, line + CONTEXT + 1) if 1 <= near <= len(text)})
    shown = sorted({*shown, *hot})
    largest = max(sums.values(), default=0)
    lines = []
    before = 0
    for number in shown:
        ns = sums.get(number, 0)
        names = sorted(spent.get(number, {}).items(), key=lambda item: -item[1])
        lines.append(
            {"gap": number != before + 1 and bool(before or number > 1), "number": number,
             "text": words.clean(text[number - 1].expandtabs(4)) if number <= len(text) else "",
             "time": units.seconds(ns) if ns else "", "heat": f"{100 * ns / largest:.1f}" if largest else "0",
             "why": ", ".join(f"{words.label(name)} {units.seconds(one)}" for name, one in names)}
        )  # fmt: skip
        before = number
    return {
        "name": words.short_path(file, account.script),
        "lines": lines,
        "total": units.seconds(sum(sums.values())),
        "missing": source is None,
        "cut": bool(text) and before < len(text),
    }
