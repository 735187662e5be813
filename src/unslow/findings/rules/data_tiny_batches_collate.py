"""Many tiny records are fetched and put together one by one, where one indexing of the whole batch would do."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix
from unslow.findings.after import while_training
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.preparation import OVERHEAD, preparation
from unslow.findings.thresholds import CHEAP_SAMPLE_NS, SHARE_OF_LOOP
from unslow.units import seconds, share

CAUSE = "data.tiny_batches_collate"


def check(context: Context) -> Iterator[Draft]:
    """Time on the way to samples that are cheap themselves: calls, tuples, stacking."""
    found = preparation(context)
    work = found.work(OVERHEAD)
    felt = found.felt(work)
    if felt < SHARE_OF_LOOP * context.loop:
        return
    by_hand = work.by_hand > work.main + work.worker
    automatic = any(one.get("automatic_batching", True) for one in context.loaders.values())
    if not by_hand and (not automatic or not found.samples or work.total / found.samples > 2 * CHEAP_SAMPLE_NS):
        return
    number, unit = (max(context.steps, 1), "step") if by_hand else (found.samples, "record")
    each = work.total / number
    # The tuples and views that are made for each record keep the collector busy too.
    collected, _ = while_training(context, "gc")
    plain = [one for one in context.loaders.values() if one.get("dataset") == "TensorDataset" and one.get("collate") == "default_collate"]
    text = "fetch whole batches: DataLoader(dataset, sampler=BatchSampler(RandomSampler(dataset), batch_size, False), batch_size=None)"
    if by_hand:
        text = "index the whole batch at once: data[rows] instead of stacking data[row] for each row"
    elif all(one.get("sampler") == "_InfiniteConstantSampler" for one in context.loaders.values()):
        text = "let the data set yield whole batches (arrays of rows) and give the loader batch_size=None"
    elif not plain:
        text = "give the data set a __getitems__(rows) that indexes the whole batch at once, or index its arrays directly"
    title = f"{number} records were fetched and put together one by one, {seconds(each)} each, {seconds(work.total)} in all"
    if by_hand:
        title = f"the rows of each batch were picked and put together one by one, {seconds(each)} a step, {seconds(work.total)} in all"
    yield Draft(
        cause=CAUSE,
        title=title,
        ns=felt,
        saved=(0.8 * felt, 0.92 * felt + 0.5 * collected, felt + collected),
        evidence=(
            evidence(f"fetching and stacking, a {unit}", each / 1e3, "µs"),
            evidence(f"{unit}s", number, f"{unit}s"),
            evidence(f"of the training time ({share(felt, context.loop)})", felt / 1e9, "s"),
        ),
        where=found.where(work, *([] if by_hand else found.loop_line[:1])),
        fix=Fix("batched-fetch", "safe" if plain and not by_hand else "display", text),
        confidence=0.85,
        explains=frozenset({"data.pipeline_serial", "data.too_few_workers", "host.gc", "dispatch.python_loop"}),
    )
