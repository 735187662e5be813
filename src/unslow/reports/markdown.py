"""The verdict for a forum answer or an issue: short, in Markdown that every site understands."""

from __future__ import annotations

import re

from unslow import units
from unslow.account.model import Account, Activity
from unslow.reports import together, words

MAX_LINES = 5


def render(account: Account) -> str:
    """The sentence, the table, the lines that cost most, and what is known of the run."""
    parts = [f"**{_text(words.verdict(account))}**"]
    ended = words.ending(account.exit_code)
    if ended:
        parts.append(f"{_text(ended[0].upper() + ended[1:])}; this is the account of what it did until then.")
    parts.append(_table(account))
    parts += [section for section in (_findings(account), _notes(account), _not_measured(account)) if section]
    parts.append("Measured with `unslow run`: each moment of the main thread is in exactly one row.")
    return "\n\n".join(parts) + "\n"


def _table(account: Account) -> str:
    large, small, always = words.table(account)
    decimals = words.digits(account.wall_ns)
    lines = ["| where the time went | s | % | where |", "|---|--:|--:|---|"]

    rows = [(words.label(row.name), row.ns, _where(account, row)) for row in large]
    if any(row.ns for row in small):
        rows.append((words.small_label([row for row in small if row.ns]), sum(row.ns for row in small), ""))
    rows += [(words.label(row.name), row.ns, "") for row in always]
    for (name, ns, where), share in zip(rows, words.shares([ns for _, ns, _ in rows], account.wall_ns), strict=True):
        lines.append(f"| {_text(name)} | {ns / units.SECOND:.{decimals}f} | {share} | {where} |")
    whole = "**100.0**" if account.wall_ns else "**-**"
    lines.append(f"| **total** | **{account.wall_ns / units.SECOND:.{decimals}f}** | {whole} |  |")
    return "\n".join(lines)


def _where(account: Account, row: Activity) -> str:
    if not row.where or row.where[0].ns < 0.05 * row.ns:
        return ""
    best = row.where[0]
    return _code(f"{words.short_path(best.file, account.script)}:{best.line}")


def _findings(account: Account) -> str:
    lines = []
    for number, finding in enumerate([one for one in account.findings if not one.secondary][:3], 1):
        gain = f"; predicted {units.ratio(finding.gain.low)} to {units.ratio(finding.gain.high)} faster to finish" if finding.gain else ""
        places = ", ".join(_code(f"{words.short_path(where.file, account.script)}:{where.line}") for where in finding.where[:2])
        lines.append(f"{number}. {_text(finding.title)} ({units.seconds(finding.ns)}{gain}){': ' + places if places else ''}")
        lines += [f"   - {_text(words.measured(evidence))}" for evidence in finding.evidence]
    return "\n".join(["Why:", "", *lines]) if lines else ""


def _notes(account: Account) -> str:
    lines = []
    steady = words.steady_step(account)
    if steady is not None:
        lines.append(f"- Steady step: {_text(steady)} ({_text(words.step_counts(account))})")
    own = words.own_clock(account)
    if own is not None:
        largest = [row for row in sorted(own.activities, key=lambda row: -row.ns) if row.ns >= 0.01 * own.ns][:4]
        said = ", ".join(f"{words.brief(row.name)} {units.seconds(row.ns)}" for row in largest)
        place = _code(words.interval_place(own, account.script))
        lines.append(f"- The script's own clock ({place}) says {units.seconds(own.ns)}: {_text(said)}")
    for who in together.beside(account.overlapped):
        if who.ns >= words.SMALL_SHARE * account.wall_ns:
            work = ", ".join(f"{name} {units.seconds(ns)}" for name, ns in who.work[:5])
            average = f" ({who.average})" if who.average else ""
            lines.append(f"- At the same time, {_text(who.who + average)}: {_text(work)}")
    known = [str(account.facts[name]) for name in ("framework", "torch", "device") if account.facts.get(name)]
    if known:
        lines.append(f"- {_text(', '.join(known))}")
    return "\n".join(lines)


def _not_measured(account: Account) -> str:
    return "\n".join(f"- Not measured: {_text(item.what)} ({_text(item.why)})" for item in account.not_measured[:MAX_LINES])


def _text(text: str) -> str:
    """Text of others, on one line, with nothing in it that Markdown or HTML would act on."""
    text = words.clean(text).replace("\u00a0", " ")
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~@])", r"\\\1", text)


def _code(text: str) -> str:
    """A path as code; what would end the code or the table's cell is taken out."""
    return "`" + words.clean(text).replace("`", "'").replace("|", "¦") + "`"
