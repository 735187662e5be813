"""The verdict for a terminal: one sentence, the account with bars, at most three causes, and the next command to type."""

from __future__ import annotations

import io
import os
import textwrap
from pathlib import Path

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from unslow import units
from unslow.account.model import Account, Activity, Finding
from unslow.reports import together, words

MAX_FINDINGS = 3
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DETAILED_SHARE = 0.10
_MAX_BARS = 40


def render(account: Account, folder: Path | None = None, *, width: int = 100, color: bool = False) -> str:
    """The verdict as text ``width`` cells wide (80 and more look right); with ANSI colours if ``color``."""
    page = _Page(width)
    page.paragraph(f"unslow: {words.verdict(account)}", "bold")
    ended = words.ending(account.exit_code)
    if ended:
        page.paragraph(f"  {ended}; this is the account of what it did until then", "red")
    page.blank()
    _account(page, account)
    if account.findings:
        page.blank()
        _findings(page, account)
    page.blank()
    _notes(page, account)
    _not_measured(page, account)
    _next(page, account, folder)
    return page.draw(color)


class _Page:
    """Lines of styled text, wrapped to a width that counts wide characters as two cells."""

    def __init__(self, width: int) -> None:
        self.width = max(width, 60)
        self.lines: list[Text] = []

    def blank(self) -> None:
        if self.lines and self.lines[-1].plain:
            self.lines.append(Text())

    def paragraph(self, text: str, style: str = "", indent: str = "  ") -> None:
        begin = text[: len(text) - len(text.lstrip())]
        for line in _wrap(text.lstrip(), self.width, begin, indent):
            self.lines.append(Text(line, style))

    def entry(self, title: str, text: str, style: str = "") -> None:
        """``  title  text``, further lines below the text."""
        begin = f"  {title:<18}"
        for number, line in enumerate(_wrap(text, self.width, begin, " " * len(begin))):
            line_text = Text(line, style)
            if number == 0 and title:
                line_text.stylize("dim", 0, len(begin))
            self.lines.append(line_text)

    def add(self, *parts: tuple[str, str]) -> None:
        self.lines.append(Text.assemble(*parts))

    def draw(self, color: bool) -> str:
        out = io.StringIO()
        console = Console(
            file=out, width=self.width, force_terminal=color, no_color=not color, color_system="standard" if color else None,
            legacy_windows=False, emoji=False, markup=False, highlight=False,
        )  # fmt: skip
        for line in self.lines:
            line.rstrip()
            console.print(line, soft_wrap=True)
        return out.getvalue()


def _wrap(text: str, width: int, begin: str, indent: str) -> list[str]:
    """Lines no wider than ``width`` cells; only a single word that is wider by itself is broken."""
    text = words.joined(words.clean(text))
    narrower = max(width - (cell_len(text) - len(text)), width // 2)
    lines = textwrap.wrap(text, narrower, initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines] or [begin]


def _account(page: _Page, account: Account) -> None:
    """The table: every row of half a per cent and more, the rest as one, and the total."""
    large, small, always = words.table(account)
    rows: list[tuple[str, int, Activity | None]] = [(words.label(row.name), row.ns, row) for row in large]
    if small and sum(row.ns for row in small):
        rows.append((words.small_label([row for row in small if row.ns]), sum(row.ns for row in small), None))
    rows += [(words.label(row.name), row.ns, None) for row in always]
    name_width = max(26, *(cell_len(name) for name, _, _ in rows)) if rows else 26
    decimals = words.digits(account.wall_ns)
    number_width = max(7, len(f"{account.wall_ns / units.SECOND:.{decimals}f}"))
    bar_width = max(0, min(page.width - name_width - number_width - 14, _MAX_BARS))
    longest = max((ns for _, ns, _ in rows), default=0)
    shares = words.shares([ns for _, ns, _ in rows], account.wall_ns)

    def line(name: str, time: str, share: str, bar: str, style: str) -> None:
        text = f"  {name}{' ' * (name_width - cell_len(name))} {time:>{number_width}} {share:>6}"
        page.add((text, style), (f"  {bar}", "cyan") if bar else ("", ""))

    line("where the time went", "s", "%", "", "dim")
    for (name, ns, row), share in zip(rows, shares, strict=True):
        style = "bold" if row is not None and ns == longest else ""
        line(name, f"{ns / units.SECOND:.{decimals}f}", share, _bar(ns, longest, bar_width), style)
        if row is not None and ns >= _DETAILED_SHARE * account.wall_ns:
            _details(page, account, row, name_width + number_width - 1, decimals)
    line("total", f"{account.wall_ns / units.SECOND:.{decimals}f}", "100.0" if account.wall_ns else "-", "", "bold")


def _bar(ns: int, longest: int, width: int) -> str:
    eighths = round(8 * width * ns / longest) if longest else 0
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _details(page: _Page, account: Account, row: Activity, width: int, decimals: int) -> None:
    """Under a large row: what it is, its largest named parts, and the user's own lines with their seconds in the same column."""
    meaning = words.plain(row.name)
    if meaning:
        page.add((f"    {_cut(meaning, page.width - 4)}", "dim italic"))
    parts = [part for part in together.parts_of(row) if part.ns >= 0.05 * row.ns and part.name != "in the script"][:3]
    # A single part that is the whole row only says the row's name again.
    if parts and parts[0].ns < 0.95 * row.ns:
        text = ", ".join(f"{words.clean(part.name)} {units.seconds(part.ns)}" for part in parts)
        page.add((f"    {_cut(f'of it: {text}', page.width - 4)}", "dim"))
    for where in [where for where in row.where if where.ns >= 0.05 * row.ns][:2]:
        time = f"{where.ns / units.SECOND:.{decimals}f}"
        room = width - len(time) - 2
        place = _cut_front(f"{words.short_path(where.file, account.script)}:{where.line}", room)
        function = f"  in {words.clean(where.function)}" if where.function and where.function != "<module>" else ""
        page.add((_cut(f"    {place}{' ' * (room - cell_len(place))} {time}{' ' * 7 if function else ''}{function}", page.width), "dim"))


def _cut(text: str, width: int) -> str:
    """The beginning of a text, no wider than ``width`` cells."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _cut_front(text: str, width: int) -> str:
    """The end of a text, which is what tells paths apart."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[1:]
    return f"…{text}"


def _findings(page: _Page, account: Account) -> None:
    page.add(("  what could still be better, by little" if account.healthy else "  why", "dim"))
    primary = [finding for finding in account.findings if not finding.secondary]
    for number, finding in enumerate(primary[:MAX_FINDINGS], 1):
        _finding(page, account, number, finding)


def _finding(page: _Page, account: Account, number: int, finding: Finding) -> None:
    gain = finding.gain
    predicted = f"   predicted: {units.ratio(gain.low)} to {units.ratio(gain.high)} to finish" if gain else ""
    seconds = units.seconds(finding.ns)
    head = f"  {number}  {finding.cause}"
    tail = f"{seconds}{predicted}"
    room = page.width - len(head) - len(tail)
    page.add((head + (" " * room + tail if room >= 2 else ""), "bold"))
    if room < 2:
        page.paragraph(f"     {tail}", "bold", indent="     ")
    page.paragraph(f"     {finding.title.rstrip('.')}.", indent="     ")
    said = "; ".join(words.measured(evidence) for evidence in finding.evidence)
    if said:
        page.paragraph(f"     {said}", "dim", indent="     ")
    for where in finding.where[:1]:
        place = f"     {words.short_path(where.file, account.script)}:{where.line}"
        text = words.source_line(where.file, where.line)
        room = page.width - len(place) - 3
        page.add((f"{place}   {text if len(text) <= room else text[: room - 1] + '…'}" if text and room > 10 else place, "cyan"))
    if finding.fix is not None:
        page.paragraph(f"     fix  {finding.fix.text or finding.fix.id}  ({finding.fix.applicability})", "green", indent="          ")


def _notes(page: _Page, account: Account) -> None:
    """Facts beside the table: the steady step, the script's own clock, work that overlapped."""
    steady = words.steady_step(account)
    if steady is not None:
        page.entry("steady step", f"{steady}  ({words.step_counts(account)}, each marked by {account.steps.signal or 'its repetition'})")
    elif account.steps.count:
        page.entry("steps", words.step_counts(account))
    own = words.own_clock(account)
    if own is not None:
        times = f", {own.count} times" if own.count > 1 else ""
        largest = [row for row in sorted(own.activities, key=lambda row: -row.ns) if row.ns >= 0.01 * own.ns][:4]
        decimals = words.digits(own.ns) + (units.SECOND <= own.ns < 100 * units.SECOND)
        said = ", ".join(f"{words.brief(row.name)} {row.ns / units.SECOND:.{words.digits(own.ns)}f}" for row in largest)
        place = words.interval_place(own, account.script)
        page.entry("your own clock", f"({place}{times}) says {own.ns / units.SECOND:.{decimals}f} s: {said}")
    for who in together.beside(account.overlapped):
        if who.ns < words.SMALL_SHARE * account.wall_ns:
            continue
        average = f" ({who.average})" if who.average else ""
        page.entry("at the same time", f"{who.who}{average}: {', '.join(_work(who))}")


def _work(who: together.Beside) -> list[str]:
    """``transform 28.2 s (mostly ToTensor)``, largest first; waiting is always told."""
    said = []
    for name, ns in [item for item in who.work if item[1] >= 0.01 * who.ns][:5]:
        part = who.largest.get(name) if name in ("transform", "decode") else None
        mostly = f" (mostly {_cut(words.clean(part.name), 30)})" if part is not None and part.ns >= 0.5 * ns else ""
        said.append(f"{words.clean(name)} {units.seconds(ns)}{mostly}")
    if who.idle_ns and not any(one.startswith("idle ") for one in said):
        said.append(f"idle {units.seconds(who.idle_ns)}")
    return said


def _not_measured(page: _Page, account: Account) -> None:
    for number, item in enumerate(account.not_measured[:4]):
        page.entry("not measured" if number == 0 else "", _cut(f"{item.what}: {item.why}", 150), "yellow")
    if len(account.not_measured) > 4:
        page.entry("", f"and {len(account.not_measured) - 4} more, in the report", "yellow")


def _next(page: _Page, account: Account, folder: Path | None) -> None:
    """Where the whole story is, and what to type next."""
    page.blank()
    if folder is not None and (folder / "report.html").exists():
        page.lines.append(Text(f"  the whole story: {words.clean(_near(folder / 'report.html'))}", "cyan"))
    large, _, _ = words.table(account)
    main = next((finding for finding in account.findings if not finding.secondary), None)
    if main is not None and not account.healthy:
        page.paragraph(f"  about this cause: unslow explain {main.cause}", "dim", indent="    ")
    elif large:
        page.lines.append(Text(f"  what a row means: unslow explain {large[0].name}", "dim"))


def _near(path: Path) -> str:
    """The path from the working folder, where it lies below it."""
    whole, here = os.path.abspath(path), os.getcwd()
    return whole[len(here) + 1 :] if here != os.sep and whole.startswith(here + os.sep) else whole
