"""One import that could be left out or put off takes a good part of the run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.imports import essential, is_own, outermost, own_time, statement_of, used
from unslow.findings.lines import unique
from unslow.findings.thresholds import SLOW_IMPORT_NS, SLOW_IMPORT_SHARE
from unslow.units import seconds, share

CAUSE = "startup.slow_import"


def check(context: Context) -> Iterator[Draft]:
    """Packages beside the framework itself, by what each brought in before training; files of the user's by what they do themselves."""
    sums: dict[str, int] = defaultdict(int)
    for one in outermost(context):
        if one.step == 0 and one.package not in essential(context):
            sums[one.package] += one.ns
    for package, whole in sums.items():
        where = statement_of(context, package)
        mine = is_own(context, package)
        ns = own_time(context, package) if mine else whole
        needed = used(context, package)
        # A package of others that the script uses can hardly be left out: only where it dwarfs the run is it worth a word.
        least = 1.75 if needed and not mine else 1.0
        if where is None or ns < least * max(SLOW_IMPORT_NS, SLOW_IMPORT_SHARE * context.wall):
            continue
        ending = "" if needed else ", and nothing in the script uses it"
        yield Draft(
            cause=CAUSE,
            title=f"importing {package} took {seconds(ns)}, {share(ns, context.wall)} of the run{ending}",
            ns=ns,
            saved=(0.3 * ns, 0.6 * ns, ns) if needed and not mine else (0.75 * ns, 0.92 * ns, ns),
            evidence=(
                evidence(f"importing {package}", ns / 1e9, "s"),
                evidence("of the whole run", 100 * ns / context.wall, "%"),
            ),
            where=unique(where, context.hot_lines("startup.import")[:2]),
            fix=Fix(
                "import-later",
                "display",
                f"import {package} only where it is needed, or not at all; what runs at its import belongs into a function",
            ),
            confidence=0.7 if needed and not mine else 0.85,
        )
