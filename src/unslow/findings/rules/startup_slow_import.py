"""One import that could be left out or put off takes a good part of the run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.imports import FRAMEWORKS, outermost, statement_of, used
from unslow.findings.lines import unique
from unslow.findings.thresholds import SLOW_IMPORT_NS, SLOW_IMPORT_SHARE
from unslow.units import seconds, share

CAUSE = "startup.slow_import"


def check(context: Context) -> Iterator[Draft]:
    """Packages beside the framework itself, by what each brought in before training."""
    sums: dict[str, int] = defaultdict(int)
    for one in outermost(context):
        if one.step == 0 and one.package not in FRAMEWORKS:
            sums[one.package] += one.ns
    for package, ns in sums.items():
        where = statement_of(context, package)
        needed = used(context, package)
        if ns < SLOW_IMPORT_NS or where is None or ns < SLOW_IMPORT_SHARE * context.wall * (1.0 if needed else 0.75):
            continue
        yield Draft(
            cause=CAUSE,
            title=f"importing {package} took {seconds(ns)}, {share(ns, context.wall)} of the run"
            + ("" if needed else ", and nothing in the script uses it"),
            ns=ns,
            saved=(0.3 * ns, 0.7 * ns, ns) if needed else (0.75 * ns, 0.9 * ns, ns),
            evidence=(
                evidence(f"importing {package} and what only it brings", ns / 1e9, "s"),
                evidence("of the whole run", 100 * ns / context.wall, "%"),
            ),
            where=unique(where, context.hot_lines("startup.import")[:2]),
            fix=Fix(
                "import-later",
                "display",
                f"import {package} only where it is needed, or not at all; what runs at its import belongs into a function",
            ),
            confidence=0.7 if needed else 0.85,
        )
