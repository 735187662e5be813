"""The vocabulary of causes: why time goes. The list grows; a name, once given, stays."""

from __future__ import annotations

from pathlib import Path

CAUSES: dict[str, str] = {
    "data.per_sample_transform": "Heavy Python or CPU work (transform, tokenising) is done per sample, again in every epoch.",
    "data.tiny_batches_collate": "Many tiny records are fetched and stacked one by one.",
    "data.per_sample_lookup": "A slow keyed or row look-up is made per sample, as in data frames.",
    "data.array_conversion": "Batches are built through Python lists or objects, element by element.",
    "data.full_copy_per_batch": "The whole source is copied or converted to take a small part of it.",
    "data.worker_startup": "Loader processes are started again and again, or are useless for data in memory.",
    "data.too_few_workers": "The loader waits while cores are idle.",
    "data.decode": "More is decompressed or decoded than is needed, or again each time.",
    "data.access_pattern": "Random reads meet a file layout that does not suit them.",
    "data.slow_storage": "The disk, a network drive, or many small files are slow to read.",
    "data.pipeline_serial": "Batches are prepared on one core, without overlap with training.",
    "data.pipeline_uncached": "Deterministic preparation in a pipeline is repeated every epoch.",
    "data.shuffle_buffer_fill": "A shuffle buffer is filled for long before the first batch.",
    "dispatch.small_ops": "Each operator has too little work for its fixed overhead.",
    "dispatch.eager_loop": "The step runs operator by operator where the framework would compile it.",
    "dispatch.python_loop": "A Python loop goes over elements instead of one batched operator.",
    "dispatch.high_level_api": "The fixed cost of a high-level call is paid for tiny amounts of work.",
    "compile.retrace": "The program is recompiled through new shapes, Python values or function objects.",
    "compile.warmup": "One-off compile time dominates a short run.",
    "compile.unrolled_loop": "A loop is unrolled into a huge program.",
    "threads.oversubscription": "More threads run than there are usable cores, in one or several processes.",
    "threads.overhead_small_ops": "Threading costs more than it saves on tiny operators.",
    "sync.item": "The host reads device values each step and loses the overlap.",
    "transfer.pageable": "Copies to the device come from memory that is not pinned.",
    "transfer.redundant": "The same data is moved to the device again.",
    "numerics.denormal": "Subnormal numbers slow the arithmetic down.",
    "numerics.float64": "Double precision is used, or values go to and fro between precisions.",
    "numerics.low_precision_emulated": "A low-precision type is used that this hardware must emulate.",
    "optimizer.unfused": "The optimizer loops over tensors one by one.",
    "optimizer.dense_embedding": "A whole table is updated for a few rows.",
    "optimizer.ema_every_step": "Weights are averaged at each step.",
    "compute.padding_waste": "Most of what is computed is padding.",
    "compute.redundant_work": "More passes are computed than intended.",
    "kernel.wrong_variant": "A module is used against its purpose, such as a sequence layer for single steps.",
    "kernel.fallback": "An option silently disables the fast kernel.",
    "kernel.autotune": "Algorithms are searched again for each new shape.",
    "graph.growth": "The graph or the autograd history grows with every step.",
    "state.growth": "State on the host grows with every step.",
    "eval.too_often": "Validation runs far more often than meant.",
    "metrics.every_step": "Costly metrics are computed in each step.",
    "io.logging": "Summaries are written at each step.",
    "io.progress_bar": "Printing or redrawing happens at each step.",
    "io.checkpoint": "Saving happens too often, or saves too much.",
    "host.gc": "The garbage collector walks a large heap.",
    "host.contention": "Another program has the cores.",
    "host.swap": "Memory is on disk.",
    "startup.slow_import": "Imports take long.",
    "startup.lazy_import": "An import happens inside the timed loop.",
    "startup.slow_device": "The first use of a device takes long.",
    "startup.slow_teardown": "Leaving takes long.",
    "comm.straggler": "All ranks wait for the slowest one.",
    "comm.slow_link": "The link between ranks is slow.",
    "comm.unsynchronised_accumulation": "Gradients are exchanged at every micro-batch.",
    "comm.dataparallel": "The model is replicated and the batch scattered at every step.",
    "memory.cache_flush": "The allocator's cache is emptied each step.",
    "debug.anomaly": "Anomaly detection was left on.",
    "debug.sanitizer": "A sanitizer was left on.",
    "compare.unequal_work": "The things compared do different work.",
    "timing.async_not_synced": "The measurement is wrong, not the program: work was still running when the clock was read.",
}


def page(cause: str) -> str | None:
    """The page about a cause (Markdown), or None where there is none: installed beside the code, in a checkout under ``docs``."""
    here = Path(__file__).resolve().parent
    for folder in (here / "pages", here.parent.parent / "docs" / "causes"):
        path = folder / f"{cause}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None
