"""A module is imported inside the training loop: the script's own clock counts its loading as training."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.imports import essential, outermost, statement_of
from unslow.findings.lines import unique
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "startup.lazy_import"


def check(context: Context) -> Iterator[Draft]:
    """Imports after the first update that a statement of the user's asks for, beside the script's own clock."""
    own = context.account.intervals[0] if context.account.intervals else None
    whole = own.ns if own is not None else context.loop
    inside = [one for one in outermost(context) if one.step > 0 and one.package not in essential(context)]
    places = {one.package: statement_of(context, one.package) for one in inside}
    inside = [one for one in inside if places[one.package] is not None]
    ns = sum(one.ns for one in inside)
    if ns < SHARE_OF_LOOP * whole:
        return
    packages = list(dict.fromkeys(one.package for one in sorted(inside, key=lambda one: -one.ns)))
    repeated = len(inside) > len({one.module for one in inside})
    yield Draft(
        cause=CAUSE,
        title=f"importing {' and '.join(packages[:2])} inside the loop took {seconds(ns)}, {share(ns, whole)} of what its clock shows",
        ns=ns,
        # Moved to the top it still takes its time, but outside the loop; made again and again it takes it each time.
        saved=(0.8 * ns, 0.95 * ns, ns) if repeated else (0.0, 0.5 * ns, ns),
        evidence=(
            evidence("importing inside the loop", ns / 1e9, "s"),
            evidence("imports that the loop set off", len(inside), "imports"),
            evidence("of the loop's own time", 100 * ns / whole, "%"),
        ),
        where=unique([place for name in packages if (place := places[name]) is not None][:3]),
        fix=Fix(
            "import-first", "display", "import at the top of the file, before the clock starts; leave it out if only a rare branch needs it"
        ),
        confidence=0.7,
        explains=frozenset({"startup.slow_import"}),
    )
