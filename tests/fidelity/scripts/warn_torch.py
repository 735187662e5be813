"""Warnings with a stack level, raised inside what unslow hooks: the file and line named must be the user's."""

import warnings

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

warnings.simplefilter("always")


def warn(text, level):
    warnings.warn(text, stacklevel=level)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        for level in range(1, 6):
            warn(f"forward {level}", level)
        return self.layer(x)


class Data(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        for level in range(1, 6):
            warn(f"item {level}", level)
        return torch.ones(2)


class Mine(torch.optim.SGD):
    def step(self, closure=None):
        for level in range(1, 6):
            warn(f"step {level}", level)
        return super().step(closure)

    def zero_grad(self, set_to_none=True):
        for level in range(1, 5):
            warn(f"zero {level}", level)
        super().zero_grad(set_to_none)


class Log(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        warn("function forward", 2)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        warn("function backward", 1)
        return grad * 2


def collate(rows):
    for level in range(1, 5):
        warn(f"collate {level}", level)
    return torch.stack(rows)


model = Net()
optimizer = Mine(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
scheduler.step()  # before optimizer.step(): torch warns, naming the caller
for x in DataLoader(Data(), batch_size=2, collate_fn=collate):
    optimizer.zero_grad()
    Log.apply(model(x)).sum().backward()
    optimizer.step()
model.register_full_backward_hook(lambda *a: None)
torch.nn.functional.mse_loss(torch.ones(2, 1), torch.ones(1, 2))  # broadcasting: torch warns
torch.tensor(torch.ones(1))  # torch warns with a line of ours
# Warnings from C, which name the innermost Python frame whatever it is.
float(torch.ones(1, requires_grad=True))
bool(torch.ones(1, requires_grad=True) > 0)
torch.from_numpy(numpy.frombuffer(b"12345678", dtype="float32"))
torch.ones(2).view(torch.uint8).numpy().tolist()
torch.ones(2, dtype=torch.complex64).to(torch.float32)
torch.ones(3, 2).T.type(torch.float64).resize(6)
torch.ones(2).masked_fill(torch.ones(2, dtype=torch.uint8) > 0, 0.0)
torch.range(0, 2)
