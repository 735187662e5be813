"""However a script ends — an exception, an exit code, a syntax error — it ends as under plain Python: same text, same code."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import Run, assert_same, assert_sums, plain, under

Both = Callable[..., tuple[Run, Run]]

PLAIN = {
    "raises": "def f(n):\n    return 1 / n\nprint('before')\nf(0)\n",
    "raises_from": "try:\n    {}['a']\nexcept KeyError as e:\n    raise RuntimeError('b') from e\n",
    "raises_group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\n",
    "raises_in_import": "import broken_module\n",
    "missing_module": "import no_such_module_at_all\n",
    "missing_name": "from json import no_such_name\n",
    "missing_attribute": "import json\njson.dump_all()\n",
    "similar_name": "import time\ntime.tiem()\n",
    "syntax_error": "print('never')\nx = = 1\n",
    "indentation": "if 1:\nprint(1)\n",
    "null_byte": "x = 'a\0b'\n",
    "not_utf8": "x = '\udcff'\n",
    "exit_3": "import sys\nprint('out')\nsys.exit(3)\n",
    "exit_text": "import sys\nsys.exit('some text')\n",
    "exit_none": "import sys\nsys.exit()\n",
    "exit_big": "import sys\nsys.exit(300)\n",
    "exit_minus": "import sys\nsys.exit(-1)\n",
    "exit_object": "import sys\nsys.exit([1, 2])\n",
    "system_exit_in_import": "import exits_module\n",
    "os_exit": "import os\nprint('lost?', flush=True)\nos._exit(5)\n",
    "abort": "import os\nimport resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nos.abort()\n",
    "keyboard": "raise KeyboardInterrupt\n",
    "recursion": "def f(): return f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)\n",
    "print_recursion": "import sys\nclass W:\n    def write(self, t):\n        print(t, file=self)\ntry:\n    print('x', file=W())\nexcept RecursionError as e:\n    print(type(e))\n",
    "print_raises": "class W:\n    def write(self, text):\n        raise ValueError('no')\ndef f():\n    print('x', file=W())\nf()\n",
    "sleep_raises": "import time\ntime.sleep('x')\n",
    "open_raises": "open('nowhere/file')\n",
    "pickle_raises": "import pickle\nclass A:\n    def __reduce__(self):\n        raise OSError('bad')\npickle.dumps([A()])\n",
    "unpickle_raises": "import pickle, io\npickle.load(io.BytesIO(b'nonsense'))\n",
    "json_raises": "import json\njson.loads('{')\n",
    "atexit_raises": "import atexit\natexit.register(lambda: 1 / 0)\nprint('end')\n",
    "atexit_order": "import atexit\natexit.register(print, 'first in')\natexit.register(print, 'last in')\n",
    "atexit_exit": "import atexit, sys\natexit.register(sys.exit, 4)\n",
    "excepthook": "import sys\nsys.excepthook = lambda *a: print('mine', a[0].__name__, a[2].tb_next)\n1 / 0\n",
    "excepthook_frames": (
        "import sys, time\ndef hook(kind, error, trace):\n    while trace:\n        print(trace.tb_frame.f_code.co_name, trace.tb_lineno)\n"
        "        trace = trace.tb_next\nsys.excepthook = hook\ndef f():\n    time.sleep('x')\nf()\n"
    ),
    "traceback_module": "import time, traceback\ntry:\n    time.sleep('x')\nexcept TypeError:\n    print(traceback.format_exc())\n",
    "suppressed_context": "import json\ntry:\n    json.loads('[')\nexcept ValueError as e:\n    print(e.__context__, e.__traceback__.tb_next.tb_frame.f_code.co_name)\n",
    "unraisable": "class A:\n    def __del__(self):\n        1 / 0\nA()\nprint('after')\n",
    "thread_raises": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='T')\nt.start()\nt.join()\nprint('after')\n",
    "gc_callback_raises": "import gc\ngc.callbacks.append(lambda *a: 1 / 0)\ngc.collect()\nprint('after')\n",
    "closed_stdout": "import sys\nsys.stdout.close()\n",
    "stdout_detached": "import sys\nprint('x', end='')\nsys.stdout.detach()\n",
    "generator_exit": "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g()\nnext(x)\n",
    "logging_error": "import logging\nlogging.basicConfig()\nlogging.error('%d', 'x')\n",
    "logging_exception": "import logging\nlogging.basicConfig()\ndef f():\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        logging.exception('oops', stack_info=True)\nf()\n",
    "warning_error": "import warnings\nwarnings.simplefilter('error')\ndef f():\n    warnings.warn('bad', stacklevel=2)\nf()\n",
    "faulthandler": "import faulthandler\nfaulthandler.dump_traceback(all_threads=False)\n",
    "subprocess_fails": "import subprocess\nsubprocess.run(['false'], check=True)\n",
    "subprocess_missing": "import subprocess\nsubprocess.run(['no-such-program-here'])\n",
    "stopiteration": "next(iter([]))\n",
    "assertion": "x = 3\nassert x == 4, 'x is three'\n",
    "await_raises": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise ValueError('in a task')\nasyncio.run(f())\n",
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_ends_the_same(name: str, work: Path, both: Both, tmp_path: Path) -> None:
    """Standard output, standard error and exit code are equal, and every second of it is accounted for."""
    (work / "train.py").write_bytes(PLAIN[name].encode("utf-8", "surrogateescape"))
    (work / "broken_module.py").write_text("def g():\n    raise RuntimeError('while importing')\ng()\n")
    (work / "exits_module.py").write_text("import sys\nprint('leaving')\nsys.exit(7)\n")
    _, run = both("train.py")
    assert_sums(run.account())
    assert run.account()["exit_code"] == run.exit_code


HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, Dataset\n"
TORCH = {
    "forward": "class Net(nn.Module):\n    def forward(self, x):\n        return x + missing\nnn.Sequential(nn.Identity(), Net())(torch.ones(2))\n",
    "forward_shape": "model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())\nmodel(torch.ones(1, 4))\n",
    "loss": "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([5, 0]))\n",
    "functional_loss": "nn.functional.nll_loss(torch.ones(2, 3), torch.tensor([5, 0]))\n",
    "item": "torch.ones(3).item()\n",
    "numpy": "torch.ones(3, requires_grad=True).numpy()\n",
    "to": "torch.ones(3).to('nonsense')\n",
    "backward": "torch.ones(3, requires_grad=True).backward()\n",
    "backward_twice": "x = torch.ones(1, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()\n",
    "backward_python": (
        "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.clone()\n    @staticmethod\n"
        "    def backward(ctx, g):\n        raise ValueError('in backward')\nF.apply(torch.ones(1, requires_grad=True)).backward()\n"
    ),
    "autograd_grad": "torch.autograd.grad(torch.ones(1), torch.ones(1))\n",
    "optimizer": (
        "class Mine(torch.optim.Optimizer):\n    def __init__(self, p):\n        super().__init__(p, {})\n    def step(self, closure=None):\n"
        "        raise ValueError('custom step')\nMine([torch.ones(1, requires_grad=True)]).step()\n"
    ),
    "optimizer_closure": "o = torch.optim.LBFGS([torch.ones(1, requires_grad=True)])\ndef closure():\n    raise ValueError('closure')\no.step(closure)\n",
    "optimizer_empty": "torch.optim.SGD([], lr=0.1)\n",
    "optimizer_negative": "torch.optim.Adam([torch.ones(1, requires_grad=True)], lr=-1)\n",
    "scheduler": "torch.optim.lr_scheduler.StepLR(None, 1)\n",
    "item_of_dataset": (
        "class D(Dataset):\n    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n        return self.rows[i]\n"
        "for x in DataLoader(D(), batch_size=2):\n    pass\n"
    ),
    "item_in_worker": (
        "class D(Dataset):\n    def __len__(self):\n        return 4\n    def __getitem__(self, i):\n        return self.rows[i]\n"
        "for x in DataLoader(D(), batch_size=2, num_workers=1):\n    pass\n"
    ),
    "collate": "def collate(rows):\n    raise ValueError(len(rows))\nfor x in DataLoader(range(4), batch_size=2, collate_fn=collate):\n    pass\n",
    "collate_sizes": "for x in DataLoader([torch.ones(1), torch.ones(2)], batch_size=2):\n    pass\n",
    "iterable": (
        "class D(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        yield 1\n        raise OSError('stream')\n"
        "for x in DataLoader(D()):\n    print(x)\n"
    ),
    "sampler": "class S(torch.utils.data.Sampler):\n    def __iter__(self):\n        yield 0\n        raise OSError('s')\nfor x in DataLoader(range(3), sampler=S()):\n    print(x)\n",
    "load": "torch.load('nowhere.pt')\n",
    "load_bad": "open('bad.pt', 'wb').write(b'nonsense')\ntorch.load('bad.pt')\n",
    "save": "class A:\n    def __reduce__(self):\n        raise OSError('unwilling')\ntorch.save({'a': A()}, 'file.pt')\n",
    "forward_hook": "m = nn.Linear(1, 1)\ndef hook(*a):\n    raise ValueError('hook')\nm.register_forward_hook(hook)\nm(torch.ones(1, 1))\n",
    "exit_in_forward": "import sys\nclass N(nn.Module):\n    def forward(self, x):\n        sys.exit(9)\nN()(1)\n",
    "interrupt_in_item": (
        "class D(Dataset):\n    def __len__(self):\n        return 2\n    def __getitem__(self, i):\n        raise KeyboardInterrupt\n"
        "for x in DataLoader(D()):\n    pass\n"
    ),
    "no_grad": "with torch.no_grad():\n    raise ValueError('inside')\n",
    "no_grad_function": "@torch.no_grad()\ndef f():\n    raise ValueError('inside')\nf()\n",
    "module_attribute": "nn.Linear(1, 1).wieght\n",
    "missing_forward": "class N(nn.Module):\n    pass\nN()(1)\n",
    "transform": (
        "from torchvision import transforms\nfrom torchvision.datasets import FakeData\ndef bad(x):\n    raise ValueError('transform')\n"
        "d = FakeData(2, (3, 4, 4), transform=transforms.Compose([transforms.ToTensor(), bad]))\nfor x in DataLoader(d):\n    pass\n"
    ),
    "transform_v2": (
        "from torchvision.transforms import v2\nclass Bad(nn.Module):\n    def forward(self, x):\n        raise ValueError('v2')\n"
        "v2.Compose([v2.Identity(), Bad()])(torch.ones(3, 4, 4))\n"
    ),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", TORCH)
def test_torch_raises_the_same(name: str, work: Path, both: Both) -> None:
    """An exception that leaves a hooked part of torch has the traceback that it has without hooks, alone in its process."""
    (work / "train.py").write_text(HEAD + TORCH[name])
    both("train.py")


@pytest.mark.torch
def test_tracebacks_in_one_process(work: Path, both: Both) -> None:
    """All of them in one process (torch is imported once): ``traceback.format_exc()`` is equal for each."""
    for name, source in TORCH.items():
        ast.parse(source)
        (work / f"case_{name}.py").write_text(HEAD + source)
    (work / "train.py").write_text(
        "import io, re, runpy, sys, traceback, torch\n"
        f"for name in {list(TORCH)!r}:\n"
        "    print('#', name)\n"
        "    try:\n        runpy.run_path(f'case_{name}.py', run_name='case')\n"
        "    except BaseException:\n        print(re.sub(r'0x[0-9a-f]+', '0x', traceback.format_exc()))\n"
    )
    run, _ = both("train.py")
    for name in TORCH:
        assert f"# {name}\n" in run.stdout
    assert run.stdout.count("Traceback (most recent call last)") >= len(TORCH)


@pytest.mark.torch
def test_uncaught_in_forward(work: Path, both: Both) -> None:
    """The interpreter's own print of an uncaught exception from a module shows no frame of ours."""
    (work / "train.py").write_text(HEAD + TORCH["forward"])
    run, _ = both("train.py")
    assert run.exit_code == 1 and "NameError" in run.stderr


@pytest.mark.torch
def test_worker_that_dies(work: Path, tmp_path: Path) -> None:
    """A worker killed from outside: torch's own message and exit code, and an account of what there was."""
    (work / "train.py").write_text(
        HEAD + "import os, signal, time\nclass D(Dataset):\n    def __len__(self):\n        return 8\n    def __getitem__(self, i):\n"
        "        if i == 5:\n            time.sleep(0.5)\n            os.kill(os.getpid(), signal.SIGKILL)\n        return i\n"
        "for x in DataLoader(D(), batch_size=2, num_workers=1):\n    print(x)\n"
    )
    without = plain(["train.py"], work)
    run = under(["train.py"], work, tmp_path / "run")

    # Where in the loop the news of the death arrives is chance, so only the end of the traceback is compared.
    def last_line(run: Run) -> str:
        return [line.split("(pid")[0] for line in run.stderr.splitlines() if line.startswith("RuntimeError")][-1]

    assert last_line(run) == last_line(without)
    assert (run.stdout, run.exit_code) == (without.stdout, without.exit_code)
    assert "killed by signal" in run.stderr
    account = run.account()
    assert_sums(account)
    assert any("abrupt" in item["why"] or "abrupt" in item["what"] for item in account["not_measured"]), account["not_measured"]


def test_torch_that_fails_to_import(work: Path, both: Both) -> None:
    """A broken torch is the script's matter: same traceback, and the next attempts see the same world."""
    package = work / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("from torch import missing_part\n")
    (work / "train.py").write_text(
        "import sys\nfor attempt in range(2):\n    try:\n        import torch\n    except ImportError as e:\n"
        "        print(e, 'torch' in sys.modules)\nimport torch\n"
    )
    run, _ = both("train.py")
    assert "ImportError" in run.stderr and run.exit_code == 1


def test_torch_that_is_something_else(work: Path, both: Both) -> None:
    """A module that only happens to be called torch is left alone."""
    (work / "torch.py").write_text("__version__ = 'a flame'\nlight = 5\nnn = None\n")
    (work / "train.py").write_text("import torch\nprint(torch.light, sorted(n for n in vars(torch) if not n.startswith('__')))\n")
    run, _ = both("train.py")
    assert run.stdout == "5 ['light', 'nn']\n"


def test_old_torch(work: Path, tmp_path: Path, both: Both) -> None:
    """Outside the tested versions the script still runs, and the account says what it could not measure."""
    (work / "torch").mkdir()
    (work / "torch" / "__init__.py").write_text("__version__ = '1.4.0'\nfrom torch import nn\n")
    (work / "torch" / "nn.py").write_text("class Module:\n    def __call__(self):\n        return 5\n")
    (work / "train.py").write_text("import torch\nprint(torch.nn.Module()())\n")
    _, run = both("train.py")
    assert any("torch" in item["what"] + item["why"] for item in run.account()["not_measured"])


def test_traceback_has_no_frame_of_ours(work: Path, tmp_path: Path) -> None:
    """No line that names our files ever reaches the script's standard error."""
    (work / "train.py").write_text("import time\ntime.sleep('x')\n")
    run = under(["train.py"], work, tmp_path / "run")
    assert "unslow" not in run.stderr.replace(str(tmp_path), "")


def test_same_twice(work: Path, tmp_path: Path) -> None:
    """The comparison itself can fail: a script that tells the difference is caught."""
    (work / "train.py").write_text("import os\nprint('UNSLOW_RUN' in os.environ)\n")
    with pytest.raises(AssertionError):
        assert_same(plain(["train.py"], work), under(["train.py"], work, tmp_path / "run"))
