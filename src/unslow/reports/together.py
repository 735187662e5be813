"""What a report draws as one: workers of a loader, packages of an import, parts of the same name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from unslow import units
from unslow.account.model import Activity, Overlapped, Part

_REST = re.compile(r"\d+ others")
"""How an account calls the sum of the parts that it does not list."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What one kind of process or thread did beside the main thread, summed by kind of work, with the largest named part of each."""

    who: str
    number: int
    ns: int
    work: tuple[tuple[str, int], ...]
    largest: dict[str, Part]

    @property
    def idle_ns(self) -> int:
        """How long they waited for something to do, all together."""
        return dict(self.work).get("idle", 0)

    @property
    def average(self) -> str:
        """``each busy for 17.4 s on average, idle for 0.5 % of its time``; nothing where one alone did one thing."""
        busy = units.seconds((self.ns - self.idle_ns) / self.number)
        if not self.idle_ns:
            return f"each {busy} on average" if self.number > 1 else ""
        each = ("each ", " on average") if self.number > 1 else ("", "")
        return f"{each[0]}busy for {busy}{each[1]}, idle for {units.share(self.idle_ns, self.ns)} of the time"


def beside(rows: tuple[Overlapped, ...]) -> list[Beside]:
    """Overlapped work put together: all loader workers, all other threads, all child processes."""
    kinds: dict[str, list[Overlapped]] = {}
    for row in rows:
        kinds.setdefault(row.process.split(" ")[0], []).append(row)
    found = []
    for kind, name in (("worker", "loader worker"), ("thread", "other thread"), ("process", "child process")):
        mine = kinds.pop(kind, [])
        if mine:
            found.append(_beside(name, mine))
    rest = [row for mine in kinds.values() for row in mine]
    return found + ([_beside("other process", rest)] if rest else [])


def _beside(name: str, rows: list[Overlapped]) -> Beside:
    number = len({row.process for row in rows})
    plural = name if number == 1 else name + ("es" if name.endswith("s") else "s")
    sums: dict[str, int] = {}
    for row in rows:
        sums[row.name] = sums.get(row.name, 0) + row.ns
    work = tuple(sorted(sums.items(), key=lambda item: -item[1]))
    largest = {}
    for kind in sums:
        found = merged([part for row in rows if row.name == kind for part in row.parts])
        if found:
            largest[kind] = found[0]
    return Beside(f"{number} {plural}", number, sum(sums.values()), work, largest)


def merged(parts: Iterable[Part], rename: Callable[[str], str] = str) -> list[Part]:
    """Parts of the same name put together, largest first."""
    sums: dict[str, list[int]] = {}
    for part in parts:
        one = sums.setdefault(rename(part.name), [0, 0])
        one[0] += part.ns
        one[1] += part.count
    return sorted((Part(name, *one) for name, one in sums.items()), key=lambda part: -part.ns)


def parts_of(row: Activity) -> list[Part]:
    """The named parts of a row, largest first: imports by package, since nobody asks for one of two thousand modules."""
    if row.name != "startup.import":
        return merged(row.parts)
    packages = merged((part for part in row.parts if not _REST.fullmatch(part.name)), lambda name: name.split(".")[0])
    rest = [part for part in row.parts if _REST.fullmatch(part.name)]
    return packages + [Part(f"{part.name.removesuffix(' others')} smaller modules", part.ns, part.count) for part in rest]
