"""Prints what torch and numpy look like after an import and a few steps."""

import gc, hashlib, random, sys, threading, warnings

import numpy as np
import torch


def digest(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def show(label):
    print(label, "threads", torch.get_num_threads(), torch.get_num_interop_threads())
    print(label, "dtype", torch.get_default_dtype(), "device", torch.get_default_device())
    print(label, "grad", torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled())
    print(label, "deterministic", torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark)
    print(label, "matmul", torch.get_float32_matmul_precision(), "denormal", torch.set_flush_denormal(False))
    print(label, "random", digest(random.getstate()), digest(np.random.get_state()), digest(torch.get_rng_state().tolist()))
    print(label, "filters", len(warnings.filters), digest([str(f) for f in warnings.filters]))
    print(label, "gc", gc.isenabled(), gc.get_threshold())
    print(label, "python threads", [t.name for t in threading.enumerate()])
    print(label, "hooks", len(torch.nn.modules.module._global_forward_hooks), len(torch.nn.modules.module._global_forward_pre_hooks))
    print(label, "cuda", torch.cuda.is_initialized())
    print(label, "dispatch mode", torch.utils._python_dispatch._len_torch_dispatch_stack())
    print(label, "default pickle", torch.serialization.DEFAULT_PROTOCOL)


random.seed(1), np.random.seed(2), torch.manual_seed(3)
show("before")
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
for epoch in range(3):
    for x, y in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print("loss", loss.item().hex(), random.random(), np.random.rand())
show("after")
print("parameters", digest([p.tolist() for p in model.parameters()]))
print("forward hooks", [len(m._forward_hooks) for m in model.modules()], "optimizer hooks", len(optimizer._optimizer_step_pre_hooks))
print("state", sorted(optimizer.state_dict()["param_groups"][0]))
print("attributes", sorted(vars(model)), sorted(k for k in vars(optimizer) if not k.startswith("_")), sorted(vars(data)))
print("frameworks", sorted({n.partition(".")[0] for n in sys.modules} & {"tensorflow", "keras", "jax", "pandas", "sklearn", "torchvision"}))
