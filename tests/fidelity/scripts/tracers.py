"""What tracers make of ordinary modules, losses and optimizers: the same graphs, the same breaks, the same numbers."""

import re
import sys

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return torch.log_softmax(self.norm(self.body(x)), dim=1)


def plain(text):
    return re.sub(r"0x[0-9a-f]+|/[^' ]*/site-packages", "", str(text))


def show(label, value):
    print("#", label)
    print(plain(value))


def jit():
    model = Net()
    traced = torch.jit.trace(model, torch.ones(2, 3))
    show("trace", traced.graph)
    show("script", torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).code)
    show("loss", torch.jit.trace(nn.MSELoss(), (torch.ones(2), torch.zeros(2))).graph)


def fx():
    show("fx", torch.fx.symbolic_trace(Net()).graph)


def export():
    program = torch.export.export(Net(), (torch.ones(2, 3),))
    show("export", program.graph)
    show("signature", sorted(program.state_dict))


def functorch():
    model = Net()
    parameters = dict(model.named_parameters())
    x, y = torch.ones(5, 3), torch.tensor([0, 1, 2, 3, 0])

    def loss(parameters, x, y):
        return nn.functional.nll_loss(torch.func.functional_call(model, parameters, (x,)), y)

    gradients = torch.func.grad(loss)(parameters, x, y)
    show("grad", [g.sum().item().hex() for g in gradients.values()])
    each = torch.func.vmap(torch.func.grad(lambda p, a, b: loss(p, a[None], b[None])), in_dims=(None, 0, 0))(parameters, x, y)
    show("vmap", [list(g.shape) for g in each.values()])
    show("jacrev", torch.func.jacrev(lambda v: (v**2).sum())(torch.arange(3.0)))
    show("criterion", torch.func.grad(lambda v: nn.MSELoss()(v, torch.zeros(3)))(torch.ones(3)))


def explain():
    # The graphs that dynamo cuts, without a compiler behind them.
    import torch._dynamo as dynamo

    model, criterion = Net(), nn.NLLLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.ones(4, 3), torch.tensor([0, 1, 2, 3])

    def step(x, y):
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    for label, function, arguments in [
        ("model", model, (x,)),
        ("loss", lambda x, y: criterion(model(x), y), (x, y)),
        ("step", step, (x, y)),
    ]:
        dynamo.reset()
        found = dynamo.explain(function)(*arguments)
        show(label, (found.graph_count, found.graph_break_count, found.op_count, [str(r.reason) for r in found.break_reasons]))
    dynamo.reset()
    whole = torch.compile(model, fullgraph=True, backend="eager")
    show("fullgraph model", whole(x).sum().item().hex())
    show("fullgraph loss", torch.compile(lambda x, y: criterion(model(x), y), fullgraph=True, backend="eager")(x, y).item().hex())
    torch.compile(optimizer.step, backend="eager")()
    adam = torch.optim.Adam(model.parameters())
    whole(x).sum().backward()
    torch.compile(adam.step, fullgraph=False, backend="eager")()

    show(
        "counters",
        # How many breaks, not their wording: that names the function which dynamo met first.
        [
            (k, sum(v.values()), len(v))
            for k, v in sorted(dynamo.utils.counters.items())
            if k in ("frames", "graph_break", "unimplemented", "stats")
        ],
    )


def clocks():
    # A clock read and a print inside a compiled function: each is a break, at the same place for the same reason.
    import torch._dynamo as dynamo

    def prints(x):
        import time

        begin = time.perf_counter()
        print("inside")
        return x + (time.perf_counter() - begin > 99)

    show("clock and print", torch.compile(prints, backend="eager")(torch.ones(2)))
    found = dynamo.explain(prints)(torch.ones(2))
    show("breaks", (found.graph_count, found.graph_break_count, found.op_count))
    show("counters", {k: dict(v) for k, v in sorted(dynamo.utils.counters.items()) if k == "frames"})


def compiled():
    torch.manual_seed(1)
    model = torch.compile(Net(), fullgraph=True)
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(16, 3), torch.randint(4, (16,))
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item().hex())
    show("counters", {k: dict(v) for k, v in sorted(torch._dynamo.utils.counters.items()) if k in ("frames", "graph_break", "stats")})


torch.manual_seed(0)
for name in sys.argv[1:]:
    globals()[name]()
