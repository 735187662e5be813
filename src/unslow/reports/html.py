"""``report.html``: one file that needs no network, no script and no earlier knowledge of profilers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from unslow import __version__, units
from unslow.account.model import Account, Activity, Finding, Part
from unslow.activities import WORKER, sentence
from unslow.reports import facts as fact_rows
from unslow.reports import together, words
from unslow.reports.colors import color
from unslow.reports.listing import listings

MAX_PARTS = 12
MAX_LINES = 8
MAX_LANES = 16
MAX_CLOCKS = 8
_HEIGHT = 100.0


def render(account: Account, sources: Mapping[str, str] | None = None) -> str:
    """The whole document. ``sources``: the text of the user's files by path; a file that is missing there is listed without its text."""
    large, small, always = words.table(account)
    small = [row for row in small if row.ns]
    *shares, small_share, unexplained, observer = words.shares(
        [*(row.ns for row in large), sum(row.ns for row in small), *(row.ns for row in always)], account.wall_ns
    )
    return template().render(
        title=_title(account),
        command=words.clean(" ".join(account.command)) if account.command else None,
        started=_started(account.started),
        verdict=words.joined(words.clean(words.verdict(account))),
        ending=words.ending(account.exit_code),
        figures=_figures(account),
        findings=[_finding(account, finding, sources or {}) for finding in account.findings if not finding.secondary],
        secondary=[_finding(account, finding, sources or {}) for finding in account.findings if finding.secondary],
        healthy=account.healthy,
        rows=[_row(account, row, account.wall_ns, share) for row, share in zip(large, shares, strict=True)],
        small=[_row(account, row, account.wall_ns, _percent(row.ns, account.wall_ns)) for row in small],
        small_sum=_sum(small, account.wall_ns, small_share),
        small_label=words.joined(words.small_label(small)),
        always=[_row(account, row, account.wall_ns, share) for row, share in zip(always, (unexplained, observer), strict=True)],
        total=_seconds(account.wall_ns, account.wall_ns),
        total_share="100.0" if account.wall_ns else "–",
        whole=_stack([(row.name, row.ns) for row in (*large, *small, *always)], account.wall_ns),
        strip=_strip(account),
        ticks=[units.seconds(account.wall_ns * quarter / 4) if quarter else "0" for quarter in range(5)] if account.wall_ns else [],
        steps=_steps(account),
        own=_own(account),
        clocks=_clocks(account),
        beside=[f"{one.who}: {one.average}" for one in together.beside(account.overlapped) if one.average],
        lanes=_lanes(account),
        files=listings(account, sources or {}),
        facts=fact_rows.rows(account),
        not_measured=[(words.clean(item.what), words.clean(item.why)) for item in account.not_measured],
        version=__version__,
    )  # fmt: skip


@cache
def template() -> Template:
    """The template, compiled once; escapes everything."""
    environment = Environment(
        loader=PackageLoader("unslow.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja")


def _title(account: Account) -> str:
    if account.script:
        return words.clean(account.script.rsplit("/", 1)[-1])
    return words.clean(" ".join(account.command or ("run",)))[:60]


def _started(started: str | None) -> str | None:
    """``2026-11-30 23:46``, or as it was written."""
    if started is None:
        return None
    return words.clean(started[:16].replace("T", " ") if len(started) >= 16 and started[10] == "T" else started)


def _figures(account: Account) -> list[dict[str, str]]:
    """The few large numbers on top."""
    steps, own = account.steps, words.own_clock(account)
    figures = [{"value": units.seconds(account.wall_ns), "name": "from start to end", "hint": "The wall time of the whole process."}]
    if own is not None:
        figures.append(
            {"value": units.seconds(own.ns), "name": "by the script's own clock", "hint": words.interval_place(own, account.script)}
        )
    if steps.count:
        name = "training steps" + (f" in {steps.epochs} epochs" if steps.epochs and steps.epochs > 1 else "")
        figures.append({"value": f"{steps.count:,}".replace(",", "\u202f"), "name": name, "hint": ""})
    if steps.median_ns is not None:
        figures.append({"value": units.seconds(steps.median_ns), "name": "for a steady step", "hint": "Half of the steps were faster."})
    if account.floor is not None:
        need = units.seconds(account.floor.ns)
        figures.append({"value": need, "name": "is what its arithmetic needs", "hint": words.clean(account.floor.how)})
    return figures


def _seconds(ns: int, whole: int) -> str:
    return f"{ns / units.SECOND:.{words.digits(whole)}f}"


def _percent(ns: int, whole: int) -> str:
    return f"{100 * ns / whole:.1f}" if whole else "–"


def _width(ns: int, whole: int) -> str:
    """A length for CSS, in per cent, within 0 and 100."""
    return f"{min(max(100 * ns / whole, 0.0), 100.0):.3f}" if whole else "0"


def _own(account: Account) -> dict[str, Any] | None:
    """The account of the interval of the script's own clock: rows that sum to it."""
    own = words.own_clock(account)
    if own is None:
        return None
    large = sorted((row for row in own.activities if row.ns >= words.SMALL_SHARE * own.ns and row.ns), key=lambda row: -row.ns)
    small = [row for row in own.activities if row.ns and row not in large]
    *shares, rest = words.shares([*(row.ns for row in large), sum(row.ns for row in small)], own.ns)
    return {
        "place": words.interval_place(own, account.script), "count": own.count, "time": units.seconds(own.ns),
        "rows": [_row(account, row, own.ns, share) for row, share in zip(large, shares, strict=True)],
        "small": _sum(small, own.ns, rest) if small else None, "small_label": words.joined(words.small_label(small)),
        "total": _seconds(own.ns, own.ns), "stack": _stack([(row.name, row.ns) for row in (*large, *small)], own.ns),
    }  # fmt: skip


def _clocks(account: Account) -> list[tuple[str, int, str, str]]:
    """Other intervals of the script's clocks: where, how often, how long, and what held most of each."""
    found = []
    for interval in account.intervals:
        largest = max(interval.activities, key=lambda row: row.ns, default=None)
        if interval is words.own_clock(account) or largest is None or not interval.ns:
            continue
        mostly = f"{words.brief(largest.name)} {units.share(largest.ns, interval.ns)}"
        found.append((words.interval_place(interval, account.script), interval.count, units.seconds(interval.ns), mostly))
    return found[:MAX_CLOCKS]


def _row(account: Account, row: Activity, whole: int, share: str) -> dict[str, Any]:
    all_parts = sorted((part for part in together.parts_of(row) if part.ns > 0), key=lambda part: -part.ns)
    parts = all_parts[:MAX_PARTS]
    return {
        "name": row.name, "label": words.label(row.name), "sentence": _sentence(row.name), "plain": words.plain(row.name),
        "color": color(row.name), "seconds": _seconds(row.ns, whole), "percent": share, "width": _width(row.ns, whole), "count": row.count,
        "each": units.seconds(row.ns / row.count) if row.count > 1 else None,
        "parts": [(words.clean(part.name), units.seconds(part.ns), part.count, _width(part.ns, row.ns)) for part in parts],
        "more": len(all_parts) - len(parts),
        "lines": [
            (f"{words.short_path(where.file, account.script)}:{where.line}", words.clean(where.function or ""), units.seconds(where.ns))
            for where in row.where[:MAX_LINES]
        ],
    }  # fmt: skip


def _sentence(name: str) -> str:
    try:
        return sentence(name)
    except KeyError:
        return "An activity that this version does not know."


def _sum(rows: list[Activity], whole: int, share: str) -> dict[str, str]:
    ns = sum(row.ns for row in rows)
    return {"seconds": _seconds(ns, whole), "percent": share, "width": _width(ns, whole)}


def _stack(parts: list[tuple[str, int]], whole: int) -> list[dict[str, str]]:
    """One bar of many colours: what each part is, and how wide."""
    return [
        {"width": _width(ns, whole), "color": color(name), "title": f"{words.label(name)}: {units.seconds(ns)} ({units.share(ns, whole)})"}
        for name, ns in parts
        if ns > 0
    ]


def _strip(account: Account) -> dict[str, Any]:
    """The run over time: rectangles by activity, and a legend of those that appear, largest first."""
    wall = account.wall_ns
    pieces = []
    held: dict[str, int] = {}
    for segment in account.strip:
        held[segment.activity] = held.get(segment.activity, 0) + segment.end_ns - segment.start_ns
        span = f"{units.seconds(segment.start_ns)} to {units.seconds(segment.end_ns)}"
        pieces.append(
            {
                "x": _width(segment.start_ns, wall),
                "width": _width(segment.end_ns - segment.start_ns, wall),
                "color": color(segment.activity),
                "title": f"{words.label(segment.activity)}, {span}",
            }
        )
    names = sorted(held, key=lambda name: -held[name])
    return {"pieces": pieces, "legend": [(words.label(name), color(name)) for name in names]}


def _steps(account: Account) -> dict[str, Any] | None:
    """The distribution of step times: bars of equal width, one a bin, and where the median lies among them."""
    steps = account.steps
    if not steps.count:
        return None
    bins = steps.histogram
    top = max((one.count for one in bins), default=0)
    bars = [
        {"x": f"{100 * i / len(bins):.3f}", "width": f"{100 / len(bins) * 0.9:.3f}", "height": f"{_HEIGHT * one.count / top:.2f}",
         "y": f"{_HEIGHT - _HEIGHT * one.count / top:.2f}",
         "title": f"{one.count} steps of {units.seconds(one.low_ns)} to {units.seconds(one.high_ns)}"}
        for i, one in enumerate(bins)
        if top
    ]  # fmt: skip
    floor = account.floor
    return {
        "bars": bars, "low": units.seconds(bins[0].low_ns) if bins else "", "high": units.seconds(bins[-1].high_ns) if bins else "",
        "median": units.seconds(steps.median_ns) if steps.median_ns is not None else None, "median_x": _median_x(account),
        "p10": units.seconds(steps.p10_ns) if steps.p10_ns is not None else None,
        "p90": units.seconds(steps.p90_ns) if steps.p90_ns is not None else None,
        "signal": words.clean(steps.signal or "its repetition"), "counts": words.step_counts(account),
        "floor": floor and {
            "time": units.seconds(floor.ns), "how": words.clean(floor.how),
            "share": units.share(floor.ns, steps.median_ns) if steps.median_ns else None,
            "width": _width(floor.ns, steps.median_ns) if steps.median_ns else None,
        },
    }  # fmt: skip


def _median_x(account: Account) -> str | None:
    bins, median = account.steps.histogram, account.steps.median_ns
    if median is None:
        return None
    for i, one in enumerate(bins):
        if one.low_ns <= median <= one.high_ns:
            inside = (median - one.low_ns) / (one.high_ns - one.low_ns) if one.high_ns > one.low_ns else 0.5
            return f"{100 * (i + inside) / len(bins):.2f}"
    return None


def _lanes(account: Account) -> dict[str, Any]:
    """What each other process and thread did, as one bar each over the longest of them."""
    sums: dict[str, dict[str, int]] = {}
    parts: dict[str, list[Part]] = {}
    lines: dict[str, list[Part]] = {}
    for row in account.overlapped:
        mine = sums.setdefault(row.process, {})
        mine[row.name] = mine.get(row.name, 0) + row.ns
        parts.setdefault(row.process, []).extend(row.parts)
        lines.setdefault(row.process, []).extend(
            Part(f"{words.short_path(where.file, account.script)}:{where.line}", where.ns, 1) for where in row.where
        )
    longest = max((sum(work.values()) for work in sums.values()), default=0)
    names: dict[str, int] = {}
    lanes = []
    for process, work in list(sums.items())[:MAX_LANES]:
        whole = sum(work.values())
        for name, ns in work.items():
            names[name] = names.get(name, 0) + ns
        worker = process.startswith("worker")
        done = sorted(((name, ns) for name, ns in work.items() if ns > 0), key=lambda one: -one[1])
        made_of = [part for part in together.merged(parts[process])[:6] if part.ns]
        lanes.append(
            {
                "name": words.clean(process),
                "time": units.seconds(whole),
                "stack": [
                    {"width": _width(ns, longest), "color": color(name, worker=worker), "title": f"{name}: {units.seconds(ns)}"}
                    for name, ns in done
                ],
                "work": ", ".join(f"{words.clean(name)} {units.seconds(ns)}" for name, ns in done),
                "parts": [(words.clean(part.name), units.seconds(part.ns), part.count) for part in made_of],
                "lines": [(line.name, units.seconds(line.ns)) for line in together.merged(lines[process])[:3] if line.ns],
            }
        )
    workers = any(process.startswith("worker") for process in sums)
    legend = [
        (words.clean(name), color(name, worker=workers), WORKER.get(name) if workers else None)
        for name in sorted(names, key=lambda name: -names[name])
    ]
    return {"lanes": lanes, "legend": legend, "left_out": max(0, len(sums) - MAX_LANES)}


def _line_of(sources: Mapping[str, str], file: str, line: int) -> str:
    lines = sources.get(file, "").splitlines()
    return words.clean(lines[line - 1].strip()) if 0 < line <= len(lines) else ""


def _finding(account: Account, finding: Finding, sources: Mapping[str, str]) -> dict[str, Any]:
    gain, step = finding.gain, finding.gain_step
    return {
        "cause": finding.cause, "title": words.clean(finding.title), "time": units.seconds(finding.ns),
        "share": units.share(finding.ns, account.wall_ns),
        "gain": f"{units.ratio(gain.low)} to {units.ratio(gain.high)}" if gain else None,
        "gain_step": f"{units.ratio(step.low)} to {units.ratio(step.high)}" if step else None,
        "evidence": [words.measured(evidence) for evidence in finding.evidence],
        "where": [
            (f"{words.short_path(one.file, account.script)}:{one.line}", _line_of(sources, one.file, one.line))
            for one in finding.where[:4]
        ],
        "fix": finding.fix and {"id": finding.fix.id, "applicability": finding.fix.applicability, "text": words.clean(finding.fix.text)},
    }  # fmt: skip
