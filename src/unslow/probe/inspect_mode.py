"""The dispatch mode of an inspected step: counts operators with their shapes and dtypes, and the storages they touch."""

from .recorder import clock

LARGE_BYTES = 1 << 26  # a tensor above this is not looked into for its values
VALUE_CHECKS = 64


def make_mode(torch: object, max_operators: int, max_ns: int):  # type: ignore[no-untyped-def]
    """An instance of the mode, its class made from the torch that the script imported."""
    from torch.utils._python_dispatch import TorchDispatchMode

    tensor = torch.Tensor  # type: ignore[attr-defined]

    class InspectedStep(TorchDispatchMode):
        # What one step asks of the processor, seen below autograd; computes the same with the same kernels.

        def __init__(self) -> None:
            super().__init__()
            self.counts: dict[object, int] = {}
            self.storages: dict[int, int] = {}
            self.dtypes: dict[str, int] = {}
            self.truncated = False
            self.off = False
            self.left = max_operators
            self.cost_ns = 0
            self.step = 0
            self.t0 = clock()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            result = func(*args, **(kwargs or {}))
            if self.off:
                return result
            started = clock()
            try:
                self.note(func, args, result)
            except Exception:
                self.off = self.truncated = True
            self.cost_ns += clock() - started
            if self.cost_ns > max_ns or self.left <= 0:
                self.off = self.truncated = True
            return result

        def note(self, func, args, result) -> None:  # type: ignore[no-untyped-def]
            self.left -= 1
            shapes = []
            dtype = ""
            for value in args:
                if isinstance(value, tensor):
                    shapes.append(tuple(value.shape))
                    dtype = dtype or str(value.dtype)
                    self.touch(value)
                elif isinstance(value, (list, tuple)) and value and isinstance(value[0], tensor):
                    shapes.append((len(value), sum(item.numel() for item in value)))
                    dtype = dtype or str(value[0].dtype)
                    for item in value:
                        self.touch(item)
                elif isinstance(value, (bool, int)):
                    shapes.append(value)
            for value in result if isinstance(result, (list, tuple)) else (result,):
                if isinstance(value, tensor):
                    dtype = dtype or str(value.dtype)
                    self.touch(value)
            key = (str(func), tuple(shapes), dtype)
            self.counts[key] = self.counts.get(key, 0) + 1

        def touch(self, value) -> None:  # type: ignore[no-untyped-def]
            if value.layout is not torch.strided:  # type: ignore[attr-defined]
                return
            storage = value.untyped_storage()
            self.storages[storage.data_ptr()] = max(self.storages.get(storage.data_ptr(), 0), value.numel() * value.element_size())

        def operators(self):  # type: ignore[no-untyped-def]
            rows = [[name, [list(shape) if isinstance(shape, tuple) else shape for shape in shapes], dtype, count]
                    for (name, shapes, dtype), count in self.counts.items()]  # fmt: skip
            rows.sort(key=lambda row: -row[3])
            return rows[:400]

        def distinct_bytes(self) -> int:
            return sum(self.storages.values())

        def seen(self):  # type: ignore[no-untyped-def]
            return {"operators": sum(self.counts.values()), "kinds": len(self.counts)}

    return InspectedStep()
