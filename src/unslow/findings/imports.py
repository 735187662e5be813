"""Imports by what the user's code asked for: each outermost import with all that it brought, before training and within."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unslow.account.model import Where
from unslow.findings import source
from unslow.findings.context import Context

FAMILIES = {
    "torch": frozenset({"torch", "torchvision", "torchaudio", "torchtext", "lightning", "pytorch_lightning", "torch_geometric", "triton"}),
    "jax": frozenset({"jax", "jaxlib", "flax", "optax", "haiku", "equinox"}),
}
EVERYTHING = frozenset({"numpy", "tensorflow", "keras"}).union(*FAMILIES.values())


def essential(context: Context) -> frozenset[str]:
    """Packages that a training in this framework cannot do without."""
    family = FAMILIES.get(str(context.facts.get("framework")))
    return family | {"numpy"} if family else EVERYTHING


@dataclass(frozen=True, slots=True)
class Imported:
    """One outermost import: the package, its nanoseconds with everything below, when it began, after how many updates."""

    package: str
    module: str
    ns: int
    time: int
    step: int


def outermost(context: Context) -> list[Imported]:
    """Every import of the main thread that was not made by another import."""
    if context.main is None:
        return []
    timeline = context.main.timeline
    swept = context.main.swept
    lane, nesting = swept.lane, swept.nesting
    codes = [code for code, one in lane.definitions.items() if one.kind == "span" and one.activity == "startup.import"]
    begins = np.flatnonzero(nesting.begin & np.isin(lane.event_code, codes))
    found: list[Imported] = []
    until = -1
    for place in begins.tolist():
        if place <= until:
            continue
        until = int(nesting.match[place])
        module = lane.definitions[int(lane.event_code[place])].name
        ns = int(swept.time[until] - swept.time[place])
        at = int(swept.time[place])
        tile = min(int(np.searchsorted(timeline.start, at, side="right")) - 1, len(timeline.step) - 1)
        found.append(Imported(module.split(".")[0], module, ns, at, int(timeline.step[max(tile, 0)])))
    return found


def is_own(context: Context, package: str) -> bool:
    """Whether a package is a file of the user's."""
    beside = [Path(file).parent for file in context.files[:1]]
    seen = any(Path(frame[0]).stem == package or f"/{package}/" in frame[0] for sample in context.samples for frame in sample.frames)
    return seen or any((folder / f"{package}.py").exists() or (folder / package).is_dir() for folder in beside)


def own_time(context: Context, package: str) -> int:
    """What the modules of a package took themselves, without what they import."""
    row = context.rows.get("startup.import")
    return sum(part.ns for part in row.parts if part.name.split(".")[0] == package) if row else 0


def statement_of(context: Context, package: str) -> Where | None:
    """The user's line that imports a package, the shortest way in."""
    for file in context.files:
        parsed = source.tree(file)
        for node in ast.walk(parsed[0]) if parsed else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            if isinstance(node, ast.Call) and source.call_name(node) in ("import_module", "reload", "__import__"):
                names += [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            if any(name.split(".")[0] == package for name in names):
                return Where(file, getattr(node, "lineno", 1))
    return None


def used(context: Context, package: str) -> bool:
    """Whether the file that imports a package says its name, or a name taken from it, anywhere else."""
    for file in context.files:
        parsed = source.tree(file)
        if parsed is None:
            continue
        bound: set[str] = set()
        for node in ast.walk(parsed[0]):
            if isinstance(node, ast.Import):
                bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names if alias.name.split(".")[0] == package}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
                bound |= {alias.asname or alias.name for alias in node.names}
        if "*" in bound or any(isinstance(node, ast.Name) and node.id in bound for node in ast.walk(parsed[0])):
            return True
    return False
