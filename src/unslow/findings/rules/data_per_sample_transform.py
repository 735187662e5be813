"""Heavy work is done sample by sample (transforms, tokenising, NumPy), again in every epoch, while the training waits."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings.after import while_training
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import BYTES, DECODE, OVERHEAD, TRANSFORM, Preparation, drawn_anew, preparation
from unslow.findings.thresholds import DATA_KIND_LEADS, HEAVY_SAMPLE_NS, LONG_SAMPLE_NS, SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.per_sample_transform"


def check(context: Context) -> Iterator[Draft]:
    """Time in transforms and in the user's own code for single samples."""
    found = preparation(context)
    work = found.work(TRANSFORM)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    names = transforms(found)
    by_hand = work.by_hand > work.main + work.worker
    number, unit = (found.samples, "sample") if found.samples and not by_hand else (max(context.steps, 1), "step")
    each = work.total / number
    if not by_hand and found.samples and each < HEAVY_SAMPLE_NS:
        return
    again = 1 - 1 / found.epochs if found.epochs > 1 else 0.0
    # A short transform is mostly the way to it, which one call for the whole batch saves; a long one is saved by keeping its result.
    short = each < LONG_SAMPLE_NS and not by_hand
    way = found.felt(found.work(OVERHEAD, BYTES)) if short else 0
    low, likely, high = (0.85, 0.97, 1.0) if short else (0.7 * again, 0.95 * again, 0.97) if again else (0.2, 0.6, 0.95)
    if found.deterministic is False:
        low, likely = 0.5 * low, 0.7 * likely
    collected, _ = while_training(context, "gc")
    title = f"every sample went on its own through {' and '.join(names[:3]) or 'the code that prepares it'}, {seconds(each)} a {unit}"
    if found.epochs > 1:
        title += f", again in each of {found.epochs} epochs"
    made = [where for name in names if (where := context.made_at(name)) is not None]
    hot = work.where(1)
    # Where the hot line is only the loop that asks for batches, the transform's own line says more.
    first: list[Where] = made if hot and hot[0].line in [place.line for place in found.loop_line] else hot + made
    yield Draft(
        cause=CAUSE,
        title=title,
        ns=felt,
        saved=(felt * low, (felt + way) * likely + 0.5 * collected, (felt + way) * high + collected),
        evidence=(
            evidence(f"preparing, a {unit}", each / 1e3, "µs"),
            evidence("how often", number, f"{unit}s"),
            evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
            *([evidence("samples that gave the same numbers when prepared again", 100, "%")] if found.deterministic else []),
        ),
        where=found.where(work, *first),
        fix=_fix(found),
        # By hand between the steps it may be something else than preparing samples: a game, a simulation.
        confidence=0.65 if by_hand else 0.85,
        explains=_under(found, work.total, way),
    )


def transforms(found: Preparation) -> list[str]:
    """Classes of the transforms by time, on the main thread and in workers."""
    sums: dict[str, int] = {}
    for name in ("data.transform", "evaluate/data.transform"):
        row = found.context.rows.get(name)
        for part in row.parts if row else ():
            sums[part.name] = sums.get(part.name, 0) + part.ns
    for name, (ns, _) in found.context.worker_parts("transform").items():
        sums[name] = sums.get(name, 0) + ns
    whole = sum(sums.values())
    return [name for name, ns in sorted(sums.items(), key=lambda item: -item[1]) if ns > 0.05 * whole and name != "in the script"]


def _fix(found: Preparation) -> Fix:
    if found.deterministic:
        return Fix("cache-samples", "safe", "prepare each sample once and keep the result: the same sample gave the same numbers each time")
    return Fix(
        "whole-batches", "display", "prepare the whole batch with one call (tensor operations on the batch), or once before the training"
    )


def _under(found: Preparation, ns: int, way: int) -> frozenset[str]:
    under = {"data.pipeline_serial", "host.gc"} if drawn_anew(found) else {"data.pipeline_serial", "data.too_few_workers", "host.gc"}
    if way or found.work(OVERHEAD).total < ns:
        under.add("data.tiny_batches_collate")
    if found.work(DECODE).total < DATA_KIND_LEADS * (found.work(DECODE).total + ns):
        under.add("data.decode")
    return frozenset(under)
