"""Adapter for PyTorch: forward, losses, backward, optimizers, moving tensors, evaluation, compilation, saving."""

from __future__ import annotations

import os
import sys

from ..hooks import Patches, part_function, span_function
from ..recorder import Recorder
from ..torch_hooks.compiling import CompileHooks, skip_own_frames
from ..torch_hooks.modules import ModuleHooks
from ..torch_hooks.tensors import MOVES, TO_HOST, TO_HOST_IMPLICITLY, TensorHooks
from ..torch_hooks.training import TrainingHooks
from . import torch_data

TYPE_CHECKING = False  # as in typing, which would be one more import in the user's process
if TYPE_CHECKING:
    from typing import Any

MODULE = "torch"
VERSIONS = ((2, 4), (3, 0))
CAPABILITIES = (
    "forward",
    "loss",
    "backward",
    "optimizer",
    "zero_grad",
    "transfer",
    "evaluation",
    "compile",
    "checkpoint",
    "settings",
    "inspect",
)

LOSSES = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "ctc_loss", "poisson_nll_loss", "gaussian_nll_loss", "margin_ranking_loss",
    "hinge_embedding_loss", "multilabel_margin_loss", "soft_margin_loss", "multilabel_soft_margin_loss", "cosine_embedding_loss",
    "multi_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss", "linear_cross_entropy",
)  # fmt: skip
# Calls that change how everything after them runs: kept as facts with the user's line.
SETTINGS = (
    ("torch", "set_num_threads"), ("torch", "set_num_interop_threads"), ("torch", "set_flush_denormal"), ("torch", "set_default_dtype"),
    ("torch", "use_deterministic_algorithms"), ("torch", "set_float32_matmul_precision"),
)  # fmt: skip

_patches: Patches | None = None


class Torch(ModuleHooks, TrainingHooks, TensorHooks, CompileHooks):
    """The hooks of one process, with what they share."""


def install(recorder: Recorder, torch: Any) -> None:
    """Hook this torch; outside the known range nothing is hooked and the script runs as it is."""
    global _patches
    version = _version(torch)
    recorder.fact("framework", "torch")
    recorder.fact("torch", str(getattr(torch, "__version__", "?")))
    if not VERSIONS[0] <= version < VERSIONS[1]:
        recorder.not_measured(
            "torch",
            f"version {getattr(torch, '__version__', '?')} is outside {VERSIONS[0][0]}.{VERSIONS[0][1]} to {VERSIONS[1][0]}",
        )
        return
    patches = _patches = Patches(recorder)
    hooks = Torch(recorder, torch, patches)
    recorder.context["torch"] = hooks
    tensor, nn = torch.Tensor, torch.nn
    hooks.plain_item = tensor.item
    patches.replace(nn.Module, "__call__", hooks.module_call)
    patches.replace(nn.Module, "train", hooks.train_mode)
    patches.replace(nn.Module, "zero_grad", hooks.traced_function("zero_grad", "Module.zero_grad"))
    for name in LOSSES:
        if hasattr(nn.functional, name):
            patches.replace(nn.functional, name, hooks.loss_function(name))
    autograd = torch.autograd
    patches.replace(autograd, "backward", hooks.backward)
    patches.replace(autograd, "grad", hooks.traced_function("backward", "autograd.grad"))
    optimizer = torch.optim.Optimizer
    patches.replace(optimizer, "__init__", hooks.optimizer_init)
    patches.replace(optimizer, "zero_grad", hooks.traced_function("zero_grad", "zero_grad"))
    clip = torch.nn.utils
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        patches.replace(clip, name, hooks.traced_function("optimizer", name))
    scheduler = getattr(torch.optim.lr_scheduler, "LRScheduler", None)
    if scheduler is not None:
        patches.replace(scheduler, "step", hooks.traced_function("optimizer", "learning-rate schedule"))
    accelerator = accelerator_visible()
    for name in (*TO_HOST, *TO_HOST_IMPLICITLY) if accelerator else TO_HOST:
        patches.replace(tensor, name, hooks.to_host(name))
    for name in MOVES if accelerator else ():
        patches.replace(tensor, name, hooks.to_device(name))
    for cls, label in ((torch.no_grad, "no_grad"), (torch.inference_mode, "no_grad")):
        patches.replace(cls, "__enter__", hooks.region(f"{label}.enter"))
        patches.replace(cls, "__exit__", hooks.region(f"{label}.exit"))
    patches.replace(torch, "save", lambda original: span_function(recorder, original, recorder.define("span", "checkpoint", "torch.save")))
    reading = recorder.define("span", None, "read torch file", None, otherwise="data.fetch", setup=True)
    patches.replace(torch, "load", lambda original: part_function(recorder, original, reading, True))
    for name in ("trace", "trace_module"):
        patches.replace(torch.jit, name, hooks.traced_entry)
    for module_name, name in SETTINGS:
        module = sys.modules[module_name]
        if hasattr(module, name):
            patches.replace(module, name, hooks.setting(name))
    patches.replace(autograd.set_detect_anomaly, "__init__", hooks.setting("set_detect_anomaly"))
    patches.replace(autograd.detect_anomaly, "__init__", hooks.setting("detect_anomaly"))
    imports = recorder.context["imports"]
    imports.when("torch._dynamo.convert_frame", lambda module: patches.replace(module, "_compile", hooks.compile_frame))
    imports.when(
        "torch._dynamo.callback",
        lambda module: patches.replace(module.CompilationCallbackHandler, "install_callbacks", hooks.lazy_compile),
    )
    imports.when("torch._dynamo.eval_frame", lambda module: skip_own_frames(recorder, module))
    torch_data.install(recorder, torch.utils.data)
    recorder.at_finish.append(lambda: _last_facts(recorder, hooks))
    from ..inspect import Inspector

    hooks.inspector = Inspector(recorder, torch)


def accelerator_visible() -> bool:
    """Whether there is a device beside the processor; asks no driver, so that none is started."""
    if sys.platform == "darwin":
        return True
    try:
        devices = os.listdir("/dev")
    except OSError:
        return False
    return any(name == "kfd" or (name.startswith("nvidia") and name[6:].isdigit()) or name == "dxg" for name in devices)


def uninstall() -> None:
    """Put everything back."""
    torch_data.uninstall()
    if _patches is not None:
        _patches.undo()


def _last_facts(recorder: Recorder, hooks: Torch) -> None:
    """What is known only at the end."""
    if hooks.fingerprints.open:
        hooks.fingerprints.close()
    recorder.fact("forward_backward", {"backwards": hooks.losses, "steps": hooks.steps})
    if hooks.losses and hooks.first_loss is not None:
        recorder.fact("loss_first", hooks.first_loss)
        recorder.fact("loss_last", hooks.last_loss)


def _version(torch: Any) -> tuple[int, int]:
    numbers = str(getattr(torch, "__version__", "0.0")).split(".")
    try:
        return int(numbers[0]), int(numbers[1])
    except (ValueError, IndexError):
        return 0, 0
