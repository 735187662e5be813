"""The dispatch mode of an inspected step: operators with shapes, dtypes and seconds, the storages they touch, and odd values."""

from __future__ import annotations

from .recorder import clock

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

PROBED_VALUES = 4096  # of one tensor; enough to see a share of some per cent
MAX_PROBES = 48  # tensors whose values are looked at in one step
MAX_ROWS = 400
MAX_NODES = 30_000  # of an autograd graph; walking takes about a microsecond each


def make_mode(torch: Any, max_operators: int, max_ns: int, phase: Any) -> Any:
    """An instance of the mode, its class made from the torch that the script imported. ``phase()`` names the part of the step."""
    from torch.utils._python_dispatch import TorchDispatchMode

    tensor = torch.Tensor
    strided = torch.strided
    wide = (torch.float32, torch.float64, torch.bfloat16)  # float16 is computed in float32, where its small numbers are ordinary
    item = vars(tensor).get("item")
    read = getattr(item, "__wrapped__", item) or tensor.item

    class InspectedStep(TorchDispatchMode):  # type: ignore[no-untyped-call]
        # What one step asks of the processor, seen below autograd; computes the same with the same kernels.

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # The base class would wrap what follows so that its first call imports torch._dynamo: seconds that the script never asked for.
            return False

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.counts: dict[Any, list[int]] = {}
            self.storages: dict[int, int] = {}
            self.subnormal: dict[str, list[int]] = {}
            self.embeddings: list[dict[str, Any]] = []
            self.modules: dict[Any, list[Any]] = {}
            self.filled: list[list[Any]] = []
            self.nodes = 0
            self.truncated = False
            self.off = False
            self.left = max_operators
            self.probes = 0
            self.cost_ns = 0
            self.operator_ns = 0
            self.step = 0
            self.t0 = clock()

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            before = clock()
            try:
                result = func(*args, **(kwargs or {}))
            except BaseException as error:
                error.__traceback__ = None  # under plain python no frame stands between the user's line and the operator
                raise
            if self.off:
                return result
            after = clock()
            try:
                self.note(func, args, result, after - before)
            except Exception:
                self.off = self.truncated = True
            self.operator_ns += after - before
            self.cost_ns += clock() - after
            if self.cost_ns > max_ns or self.left <= 0:
                self.off = self.truncated = True
            return result

        def note(self, func: Any, args: Any, result: Any, took: Any) -> None:
            self.left -= 1
            shapes: list[Any] = []
            dtype = ""
            where = phase()
            for value in args:
                if isinstance(value, tensor):
                    shapes.append(tuple(value.shape))
                    dtype = dtype or str(value.dtype)
                    self.touch(value, where)
                elif isinstance(value, (list, tuple)) and value and isinstance(value[0], tensor):
                    shapes.append((len(value), sum(one.numel() for one in value)))
                    dtype = dtype or str(value[0].dtype)
                    for one in value:
                        self.touch(one, where)
                elif isinstance(value, (bool, int)):
                    shapes.append(value)
            for value in result if isinstance(result, (list, tuple)) else (result,):
                if isinstance(value, tensor):
                    dtype = dtype or str(value.dtype)
                    self.touch(value, where)
            name = str(func)
            if "embedding" in name and len(self.embeddings) < 8 and where != "backward":
                self.note_embedding(args)
            key = (name, tuple(shapes), dtype, where)
            entry = self.counts.get(key)
            if entry is None:
                self.counts[key] = [1, took]
            else:
                entry[0] += 1
                entry[1] += took

        def touch(self, value: Any, where: Any) -> None:
            if value.layout is not strided:
                return
            storage = value.untyped_storage()
            address, size = storage.data_ptr(), value.numel() * value.element_size()
            fresh = address not in self.storages
            self.storages[address] = max(self.storages.get(address, 0), size)
            if fresh and self.probes < MAX_PROBES and value.is_cpu and value.dtype in wide and value.numel() >= 64:
                self.probes += 1
                self.probe(value, where)

        def probe(self, value: Any, where: Any) -> None:
            """Count subnormal numbers among some values, spread over the tensor."""
            flat = value.detach().reshape(-1) if value.is_contiguous() else value.detach().flatten()
            stride = max(flat.numel() // PROBED_VALUES, 1)
            some = flat[::stride][:PROBED_VALUES].abs()
            tiny = torch.finfo(value.dtype).tiny
            count = int(read(((some > 0) & (some < tiny)).sum()))
            entry = self.subnormal.setdefault(where, [0, 0, 0])
            entry[0] += count * stride
            entry[1] += some.numel() * stride
            entry[2] += 1 if count else 0

        def note_embedding(self, args: Any) -> None:
            """How many rows of a table one step asks for, and how many of the indices are one and the same (padding)."""
            if len(args) < 2 or not isinstance(args[1], tensor) or args[1].dtype.is_floating_point:
                return
            indices = args[1]
            if indices.numel() == 0 or indices.numel() > 1 << 20:
                return
            distinct, counts = torch.unique(indices, return_counts=True)
            most = int(read(counts.max()))
            rows = indices.reshape(-1, indices.shape[-1]) if indices.dim() else indices.reshape(1, 1)
            filler = int(read(distinct[int(read(counts.argmax()))]))
            same = rows == filler
            ends = [(same.flip(1) if at_end else same).long().cumprod(1).sum(1) for at_end in (True, False)]
            last = rows[:, -1]
            self.embeddings.append(
                {
                    "rows": int(args[0].shape[0]), "width": int(args[0].shape[-1]),
                    "indices": indices.numel(), "distinct": distinct.numel(),
                    "most_common": most, "most_common_value": filler, "at_end": float(read((last == filler).float().mean())),
                    "shape": list(indices.shape), "trailing": int(read(ends[0].sum())), "leading": int(read(ends[1].sum())),
                    "trailing_least": int(read(ends[0].min())), "leading_least": int(read(ends[1].min())),
                }
            )  # fmt: skip

        def note_module(self, module: Any, args: Any, outermost: bool) -> None:
            """Count the calls of each class of modules by the shape of what it is given; of sequences, how much is filler."""
            before = clock()
            first = next((value for value in args if isinstance(value, tensor)), None)
            shape = tuple(first.shape) if first is not None else ()
            cls = type(module)
            recurrent = isinstance(module, torch.nn.RNNBase)
            steps = None
            if recurrent and len(shape) in (2, 3):
                steps = shape[1] if len(shape) == 3 and module.batch_first else shape[0]
            entry = self.modules.setdefault((cls.__name__, shape), [0, set(), recurrent, steps, cls.__module__.startswith("torch.")])
            entry[0] += 1
            if len(entry[1]) < 1000:
                entry[1].add(id(module))
            if outermost and len(self.filled) < 4 and first is not None and len(shape) == 3 and not self.off:
                self.note_filler(first)
            self.cost_ns += clock() - before

        def note_filler(self, value: Any) -> None:
            """Of sequences of features, how many positions at the end of a row hold nothing but zeros."""
            if value.is_cpu and value.dtype.is_floating_point and 0 < value.numel() <= 1 << 22:
                self.off = True  # what follows is ours
                try:
                    empty = (value.detach() == 0).all(-1)
                    along = empty.flip(1).long().cumprod(1).sum(1)
                    self.filled.append([list(value.shape), int(read(along.sum())), int(read(along.min()))])
                finally:
                    self.off = False

        def note_graph(self, tensors: Any) -> None:
            """Count the nodes that a backward will pass through."""
            before = clock()
            try:
                roots = tensors if isinstance(tensors, (tuple, list)) else (tensors,)
                waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
                seen = set(waiting)
                while waiting and len(seen) < MAX_NODES:
                    for node, _ in waiting.pop().next_functions:
                        if node is not None and node not in seen:
                            seen.add(node)
                            waiting.append(node)
                self.nodes += len(seen)
            except Exception:
                self.nodes = 0
            self.cost_ns += clock() - before

        def operators(self) -> Any:
            rows = [[name, [list(shape) if isinstance(shape, tuple) else shape for shape in shapes], dtype, entry[0], entry[1], where]
                    for (name, shapes, dtype, where), entry in self.counts.items()]  # fmt: skip
            rows.sort(key=lambda row: -row[4])
            return rows[:MAX_ROWS]

        def distinct_bytes(self) -> int:
            return sum(self.storages.values())

        def seen(self) -> Any:
            by_phase: dict[str, list[int]] = {}
            for (_name, _shapes, _dtype, where), entry in self.counts.items():
                total = by_phase.setdefault(where, [0, 0])
                total[0] += entry[0]
                total[1] += entry[1]
            return {
                "operators": sum(entry[0] for entry in self.counts.values()), "kinds": len(self.counts), "operator_ns": self.operator_ns,
                "phases": by_phase, "subnormal": self.subnormal, "embeddings": self.embeddings,
                "nodes": self.nodes, "filled": self.filled,
                "modules": [
                    [name, list(shape), entry[0], len(entry[1]), entry[2], entry[3], entry[4]]
                    for (name, shape), entry in sorted(self.modules.items(), key=lambda item: -item[1][0])[:60]
                ],
            }  # fmt: skip

    return InspectedStep()
