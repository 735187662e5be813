"""Memory that the training needs is on disk, and comes back page by page."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.thresholds import PAGE_IN_NS, PAGES_PER_SECOND, SHARE_OF_LOOP

CAUSE = "host.swap"


def check(context: Context) -> Iterator[Draft]:
    """Pages read back from swap between the first row of the watch and the last."""
    rows = context.recording.run.watched
    if len(rows) < 3 or len(rows[0]) < 4:
        return
    pages, span = rows[-1][3] - rows[0][3], (rows[-1][0] - rows[0][0]) / 1e9
    if span <= 0 or pages / span < PAGES_PER_SECOND:
        return
    took = min(pages * PAGE_IN_NS, 0.9 * context.loop)
    if took < SHARE_OF_LOOP * context.loop:
        return
    yield Draft(
        cause=CAUSE,
        title=f"{pages} pages of memory were read back from swap, {pages / span:.0f} a second",
        ns=int(took),
        saved=(0.5 * took, took, min(2 * took, 0.95 * context.loop)),
        evidence=(
            evidence("pages read back from swap", pages, "pages"),
            evidence("a second", pages / span, "pages"),
            evidence("most memory that the script held", context.recording.run.max_rss_bytes / 1e9, "GB"),
        ),
        where=unique(context.hot_lines()[:2]),
        fix=Fix(
            "less-memory",
            "display",
            "make it fit: smaller batches, fewer workers, data in float32 or uint8, memory-mapped files; or take a larger machine",
        ),
        confidence=0.6,
    )
