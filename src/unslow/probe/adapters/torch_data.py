"""Adapter for ``torch.utils.data``: loaders in this process and with workers, samplers, transforms and collate, batch by batch."""

from __future__ import annotations

import sys
from _thread import get_ident
from _weakref import ref
from types import FunctionType

from .. import files
from ..hooks import Patches, hidden, leave, like, span_function
from ..recorder import Recorder, clock
from ..torch_hooks.samples import CHEAP_SAMPLE_NS, LOOK_EVERY, fetching, samples

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

MODULE = "torch.utils.data"
VERSIONS = ((2, 4), (3, 0))
CAPABILITIES = ("loader", "workers", "sampler", "transforms", "collate")


_patches: Patches | None = None


def install(recorder: Recorder, data: Any) -> None:
    """Hook the loader's classes; each name that is missing turns one capability off."""
    global _patches
    patches = _patches = Patches(recorder)
    loader_module = sys.modules.get("torch.utils.data.dataloader")
    fetch_module = sys.modules.get("torch.utils.data._utils.fetch")
    worker_module = sys.modules.get("torch.utils.data._utils.worker")
    loaders = Loaders(recorder, patches)
    samples.start(recorder)
    base = getattr(loader_module, "_BaseDataLoaderIter", None)
    multi = getattr(loader_module, "_MultiProcessingDataLoaderIter", None)
    patches.replace(getattr(data, "DataLoader", None), "__iter__", loaders.iter_hook)
    patches.replace(base, "__next__", loaders.next_hook)
    patches.replace(base, "_next_index", loaders.index_hook)
    patches.replace(multi, "_shutdown_workers", loaders.shutdown_hook)
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        patches.replace(getattr(fetch_module, name, None), "fetch", loaders.fetch_hook)
    patches.replace(getattr(fetch_module, "_BaseDatasetFetcher", None), "__init__", loaders.fetcher_init_hook)
    patches.replace(worker_module, "_worker_loop", loaders.worker_hook)


def uninstall() -> None:
    """Put everything back."""
    if _patches is not None:
        _patches.undo()


class Loaders:
    """The hooks of ``torch.utils.data`` and what they need to know about each loader."""

    def __init__(self, recorder: Recorder, patches: Patches) -> None:
        self.recorder = recorder
        self.patches = patches
        self.numbers: dict[int, tuple[ref[Any], int]] = {}
        self.count = 0
        self.transform_classes: set[int] = set()
        self.stop_code = recorder.define("span", "data.workers", "stop workers")
        self.sample_code = recorder.define("span", "data.sample", "sampler")

    # The loader and its iterator --------------------------------------------------------------------------------------------

    def number(self, loader: Any) -> int:
        """A small number for a loader, kept for its life; its facts are written the first time."""
        entry = self.numbers.get(id(loader))
        if entry is not None and entry[0]() is loader:
            return entry[1]
        self.count += 1
        self.numbers[id(loader)] = (ref(loader), self.count)
        try:
            self._facts(loader, self.count)
            self.find_transforms(getattr(loader, "dataset", None))
        except Exception as problem:
            self.recorder.warn("loader facts", problem)
        return self.count

    def _facts(self, loader: Any, number: int) -> None:
        dataset: Any = getattr(loader, "dataset", None)
        sampler = getattr(loader, "sampler", None)
        length = None
        if hasattr(type(dataset), "__len__"):
            length = len(dataset)
        collate = getattr(loader, "collate_fn", None)
        self.recorder.fact(
            f"loader {number}",
            {
                "dataset": type(dataset).__name__, "samples": length, "batch_size": getattr(loader, "batch_size", None),
                "num_workers": getattr(loader, "num_workers", 0), "sampler": type(sampler).__name__,
                "batch_sampler": type(getattr(loader, "batch_sampler", None)).__name__,
                "shuffle": "Random" in type(sampler).__name__, "pin_memory": getattr(loader, "pin_memory", False),
                "persistent_workers": getattr(loader, "persistent_workers", False), "drop_last": getattr(loader, "drop_last", False),
                "prefetch_factor": getattr(loader, "prefetch_factor", None),
                "collate": getattr(collate, "__name__", type(collate).__name__),
                "getitems": hasattr(dataset, "__getitems__"), "site": files.site(3),
                "dataset_file": _source(type(dataset)), "automatic_batching": getattr(loader, "batch_sampler", None) is not None,
            },
        )  # fmt: skip

    def iter_hook(self, original: Any) -> Any:
        recorder, number = self.recorder, self.number
        begin, end = recorder.begin, recorder.end

        def __iter__(self: Any) -> Any:
            loader = number(self)
            where = files.site(1)
            workers = getattr(self, "num_workers", 0)
            recorder.mark(recorder.define("mark", None, f"loader {loader}", where, event="loader.begin", loader=loader))
            if workers:
                code = recorder.define("span", "data.workers", "start workers", where, loader=loader)
                following = (recorder.define("span", "data.wait", "wait for a worker", where, loader=loader), False)
            else:
                code = recorder.define("span", "data.sample", "new iterator", where, loader=loader)
                following = (recorder.define("span", "data.fetch", "loader", where, loader=loader), True)
            recorder.child_role = "worker" if workers else None
            begin(code)
            try:
                iterator = original(self)
            except BaseException as error:
                leave(error)
                raise
            finally:
                recorder.child_role = None
                end(code)
            try:
                iterator.__dict__["_unslow_code"] = following
            except AttributeError:
                pass
            return iterator

        return like(hidden(__iter__), original)

    def next_hook(self, original: Any) -> Any:
        """``__next__``: a batch fetched in this process, or a wait for another one."""
        recorder = self.recorder
        begin, end, ident = recorder.begin, recorder.end, get_ident
        fallback = (recorder.define("span", "data.fetch", "loader"), False)

        def __next__(self: Any) -> Any:
            code, here = self.__dict__.get("_unslow_code", fallback)
            begin(code)
            if here and not fetching.thread:
                fetching.thread = ident()
                recorder.quiet = True
            else:
                here = False
            try:
                return original(self)
            except BaseException as error:
                leave(error)
                raise
            finally:
                if here:
                    fetching.thread = 0
                    recorder.quiet = fetching.inside = False
                    if fetching.shares:
                        settle(recorder)
                end(code)

        return like(hidden(__next__), original)

    def index_hook(self, original: Any) -> Any:
        return span_function(self.recorder, original, self.sample_code)

    def shutdown_hook(self, original: Any) -> Any:
        return span_function(self.recorder, original, self.stop_code)

    # Fetching a batch, here or in a worker ----------------------------------------------------------------------------------

    def fetch_hook(self, original: Any) -> Any:
        """``fetch`` of a batch: in a worker a span of its own, in this process inside that of ``__next__``."""
        recorder = self.recorder
        begin, end = recorder.begin, recorder.end
        code = recorder.define("span", "data.fetch", "fetch a batch")

        def fetch(self: Any, possibly_batched_index: Any) -> Any:
            fetching.batches += 1
            samples.index = possibly_batched_index
            look = fetching.look = fetching.per_sample_ns >= CHEAP_SAMPLE_NS or fetching.batches % LOOK_EVERY == 0
            if not look and not fetching.shares and fetching.thread:
                try:  # the cheap case: nothing to look into, nothing to share out
                    return original(self, possibly_batched_index)
                except BaseException as error:
                    leave(error)
                    raise
            outermost = not fetching.thread
            if outermost:
                fetching.thread = get_ident()
                recorder.quiet = True
                begin(code)
            if look:
                fetching.shares.clear()
            started = clock()
            try:
                return original(self, possibly_batched_index)
            except BaseException as error:
                leave(error)
                raise
            finally:
                fetching.took = clock() - started
                if look:
                    fetching.per_sample_ns = fetching.took // max(_length(possibly_batched_index), 1)
                if outermost:
                    fetching.thread = 0
                    recorder.quiet = fetching.inside = False
                    if fetching.shares:
                        settle(recorder)
                    end(code)

        return like(hidden(fetch), original)

    def fetcher_init_hook(self, original: Any) -> Any:
        recorder = self.recorder
        begin, end = recorder.begin, recorder.end

        def __init__(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                original(self, *args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            collate_fn = getattr(self, "collate_fn", None)
            if collate_fn is None:
                return
            name = getattr(collate_fn, "__name__", type(collate_fn).__name__)
            code = recorder.define("span", "data.collate", name, _source(collate_fn))
            size = _size(getattr(self, "dataset", None))

            def collate(data: Any) -> Any:
                if samples.open:
                    samples.note(data, size)
                begin(code)
                try:
                    return collate_fn(data)
                except BaseException as error:
                    leave(error)
                    raise
                finally:
                    end(code)

            self.collate_fn = like(hidden(collate), collate_fn)

        return like(hidden(__init__), original)

    def worker_hook(self, original: Any) -> Any:
        recorder, loaders = self.recorder, self

        def _worker_loop(*args: Any, **kwargs: Any) -> Any:
            loaders.worker_begins(args, kwargs)
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                leave(error)
                raise
            finally:
                recorder.mark(recorder.define("mark", None, "worker ends", event="worker.end"))
                recorder.finish()

        return like(hidden(_worker_loop), original)

    def worker_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """In the worker: say who we are, and see its queues (waiting for indices, handing batches over)."""
        recorder = self.recorder
        try:
            worker = kwargs.get("worker_id", args[10] if len(args) > 10 else None)
            recorder.role = "worker"
            recorder.worker = worker if isinstance(worker, int) else None
            recorder.mark(recorder.define("mark", None, "worker begins", event="worker.begin", worker=recorder.worker))
            fetching.thread = 0
            recorder.quiet = False
            fetching.inside = False
            dataset = args[1] if len(args) > 1 else None
            if isinstance(dataset, list) and dataset:
                self.find_transforms(dataset[0])
            queues = sys.modules.get("multiprocessing.queues")
            queue = getattr(queues, "Queue", None)
            idle = recorder.define("span", "data.wait", "index queue", role="idle")
            over = recorder.define("span", "data.wait", "batch to the main process", role="hand-over")
            self.patches.replace(queue, "get", lambda original: span_function(recorder, original, idle))
            self.patches.replace(queue, "put", lambda original: span_function(recorder, original, over))
            pickler = getattr(queues, "_ForkingPickler", None)
            self.patches.replace(pickler, "dumps", lambda original: _class_method(recorder, original, over))
        except Exception as problem:
            recorder.warn("worker", problem)

    # Transforms -------------------------------------------------------------------------------------------------------------

    def find_transforms(self, dataset: Any, depth: int = 0) -> None:
        """Time the callables that a dataset keeps as attributes: what it applies to each sample, by the class of each."""
        if dataset is None or depth > 6:
            return
        for value in list(getattr(dataset, "__dict__", {}).values()):
            if _holds_samples(value):
                self.find_transforms(value, depth + 1)
            elif isinstance(value, (list, tuple)) and 0 < len(value) <= 64 and all(_holds_samples(item) for item in value):
                for item in value:
                    self.find_transforms(item, depth + 1)
            elif callable(value):
                self.time_transform(value, 0)

    def time_transform(self, value: Any, depth: int) -> None:
        """Hook ``__call__`` of the class of a transform; of a composition, of what it holds."""
        if depth > 6 or isinstance(value, (type, FunctionType)) or not callable(value):
            return
        held = [item for item in _held(value) if callable(item)]
        if held:
            for item in held:
                self.time_transform(item, depth + 1)
            return
        cls = type(value)
        torch = sys.modules["torch"]
        if isinstance(value, torch.nn.Module) or id(cls) in self.transform_classes:
            return
        call = vars(cls).get("__call__")
        if not isinstance(call, FunctionType):
            return
        self.transform_classes.add(id(cls))
        code = self.recorder.define("part", "data.transform", cls.__name__)
        span = self.recorder.define("span", "data.transform", cls.__name__)
        self.patches.replace(cls, "__call__", lambda original: transform_method(self.recorder, original, code, span))


def settle(recorder: Recorder) -> None:
    """After a batch: keep the share of each transform, or take the shares of the last batch looked into."""
    try:
        took = fetching.took
        for code, entry in fetching.shares.items():
            if fetching.look:
                entry[0] = entry[1] / max(took, 1)
            else:
                recorder.add_many(code, int(entry[0] * took), int(entry[2]))
        recorder.flush_parts()
    except Exception as problem:
        recorder.warn("shares of a batch", problem)


def _size(dataset: Any) -> int:
    """How many samples a data set has, 0 where it does not say."""
    try:
        return len(dataset) if hasattr(type(dataset), "__len__") else 0
    except Exception:
        return 0


def _length(index: Any) -> int:
    return len(index) if isinstance(index, (list, tuple)) else 1


def note_part(recorder: Recorder, code: int, started: int, inner: int) -> None:
    """One transform of one sample, ended now: into the batch's parts and its shares.

    ``inner``: what ``recorder.inner_ns`` was at the start; spans inside the transform (a lazy decode) have their own time.
    """
    duration = clock() - started - (recorder.inner_ns - inner)
    recorder.add(code, duration)
    entry = fetching.shares.get(code)
    if entry is None:
        fetching.shares[code] = [0.0, duration, 1]
    else:
        entry[1] += duration
        entry[2] += 1


def transform_method(recorder: Recorder, original: Any, code: int, span: int) -> Any:
    """``__call__`` of a transform: a part of the batch while one is fetched, else a span of its own."""
    begin, end = recorder.begin, recorder.end

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if fetching.thread:
                if fetching.inside or not fetching.look or fetching.thread != get_ident():
                    return original(self, *args, **kwargs)
                fetching.inside = True
                started, inner = clock(), recorder.inner_ns
                try:
                    return original(self, *args, **kwargs)
                finally:
                    note_part(recorder, code, started, inner)
                    fetching.inside = False
            begin(span)
            try:
                return original(self, *args, **kwargs)
            finally:
                end(span)
        except BaseException as error:
            leave(error)
            raise

    return like(hidden(__call__), original)


def holds_others(module: Any) -> bool:
    """Whether a module among the transforms only passes its input through a list of others: those are told apart then."""
    held = module.__dict__.get("transforms")
    if isinstance(held, (list, tuple)):
        return bool(held) and all(callable(item) for item in held)
    return bool(module.__dict__.get("_modules"))


def _class_method(recorder: Recorder, original: Any, code: int) -> Any:
    return classmethod(span_function(recorder, original.__func__, code))


def _holds_samples(value: Any) -> bool:
    return hasattr(type(value), "__getitem__") and hasattr(type(value), "__add__") and hasattr(value, "__dict__") and not callable(value)


def _held(value: Any) -> list[Any]:
    """What a composition of transforms holds: callables kept in a list or as attributes beside it."""
    found: list[Any] = []
    for item in list(getattr(value, "__dict__", {}).values()):
        if isinstance(item, (list, tuple)):
            found.extend(item)
        elif callable(item) and not isinstance(item, (type, FunctionType)) and type(item).__module__ != "builtins":
            found.append(item)
    return found


def _source(thing: Any) -> tuple[str, int, str] | None:
    """File, first line and name of a function, or of the class's ``__getitem__``, where they are the user's."""
    function = thing if isinstance(thing, FunctionType) else getattr(thing, "__getitem__", None) or getattr(thing, "__iter__", None)
    code = getattr(function, "__code__", None)
    if code is None or not files.is_user(code.co_filename):
        return None
    return files.absolute(code.co_filename), code.co_firstlineno, code.co_name
