"""A module is imported inside the training loop: the script's own clock counts its loading as training."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings import source
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.imports import outermost
from unslow.findings.lines import unique
from unslow.findings.thresholds import SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "startup.lazy_import"


def check(context: Context) -> Iterator[Draft]:
    """Imports that the user's own lines ask for after the first update, or between the reads of the script's clock."""
    own = context.account.intervals[0] if context.account.intervals else None
    whole = own.ns if own is not None else context.loop
    asked = [place for place in _asked(context) if _imports(place)]
    inside = [one for one in outermost(context) if one.step > 0]
    ns = sum(place.ns for place in asked)
    if not asked or ns < SHARE_OF_LOOP * whole:
        return
    again: dict[str, int] = {}
    for one in inside:
        again[one.module] = again.get(one.module, 0) + 1
    repeated = max(again.values(), default=0) > 1
    yield Draft(
        cause=CAUSE,
        title=f"imports inside the training loop took {seconds(ns)}, {share(ns, whole)} of what the loop's clock shows",
        ns=ns,
        # Moved to the top it still takes its time, but outside the loop; made again and again it takes it each time.
        saved=(0.8 * ns, 0.95 * ns, ns) if repeated else (0.0, 0.6 * ns, ns),
        evidence=(
            evidence("importing inside the loop", ns / 1e9, "s"),
            evidence("imports that lines inside the loop set off", len(inside), "imports"),
            evidence("of the loop's own time", 100 * ns / whole, "%"),
        ),
        where=unique(asked[:3]),
        fix=Fix(
            "import-first", "display", "import at the top of the file, before the clock starts; leave it out if only a rare branch needs it"
        ),
        confidence=0.7,
        explains=frozenset(),
    )


def _asked(context: Context) -> list[Where]:
    """The user's lines inside the loop at which imports were seen."""
    if context.main is None:
        return []
    low, high = context._loop_bounds
    sums: dict[tuple[str, int, str], int] = {}
    for sample in context.samples:
        if sample.activity == "startup.import" and sample.frames and low <= sample.time <= high:
            sums[sample.frames[0]] = sums.get(sample.frames[0], 0) + sample.ns
    return [Where(f, n, fn, ns) for (f, n, fn), ns in sorted(sums.items(), key=lambda item: -item[1])]


def _imports(place: Where) -> bool:
    """Whether the line is an import or asks for one."""
    line = source.line(place.file, place.line)
    return line is not None and (
        line.text.startswith(("import ", "from ")) or bool({"import_module", "reload", "__import__"} & set(line.names))
    )
