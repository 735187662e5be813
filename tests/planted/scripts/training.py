"""A training that is slow in one known place. Arguments: the place, and how it is slow (sleep or spin). Prints the planted seconds."""

import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

PART, WAY = sys.argv[1], sys.argv[2]
EACH, TIMES = 0.03, 10  # seconds, and how often at most
done = {"seconds": 0.0, "times": 0}


def plant(part):
    if part != PART or done["times"] == TIMES:
        return
    done["times"] += 1
    start = time.perf_counter()
    if WAY == "sleep":
        time.sleep(EACH)
    else:
        while time.perf_counter_ns() - start * 1e9 < EACH * 1e9:
            sum(range(2000))
    done["seconds"] += time.perf_counter() - start


class Data(Dataset):
    def __init__(self):
        self.x = torch.linspace(0, 1, 80).reshape(20, 4)
        self.transform = make_transform()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        plant("fetch")
        if PART == "worker":
            in_worker(index)
        x = self.x[index]
        return self.transform(x) if self.transform else x


def in_worker(index):
    start = time.perf_counter()
    time.sleep(0.015)
    with open(f"worker-{os.getpid()}", "a") as file:
        file.write(f"{time.perf_counter() - start}\n")


def make_transform():
    if PART == "compose":
        from torchvision import transforms

        return transforms.Compose([transforms.Lambda(double)])
    if PART == "v2":
        from torchvision.transforms import v2

        return v2.Compose([Slow(), v2.Identity()])
    return None


def double(x):
    plant("compose")
    return x * 2


class Slow(nn.Module):
    def forward(self, x):
        plant("v2")
        return x * 2


class Order(Sampler):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        for index in range(self.count):
            plant("sampler")
            yield index


def collate(rows):
    plant("collate")
    return torch.stack(rows)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        if self.training:
            plant("forward")
        return Backward.apply(self.layer(x))


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        plant("backward")
        return gradient


class Loss(nn.Module):
    def forward(self, output):
        plant("loss")
        return (output**2).mean()


class Slower(torch.optim.SGD):
    def step(self, closure=None):
        plant("optimizer")
        return super().step(closure)


class Checkpoint:
    def __reduce__(self):
        plant("checkpoint")
        return str, ("state",)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = Data()
    workers = 1 if PART == "worker" else 0
    loader = DataLoader(data, batch_size=2, sampler=Order(len(data)), collate_fn=collate, num_workers=workers)
    model, criterion = Net(), Loss()
    optimizer = Slower(model.parameters(), lr=0.01)
    for _ in range(TIMES):
        plant("setup")
    begin = time.time()
    for _epoch in range(2):
        model.train()
        for x in loader:
            optimizer.zero_grad()
            loss = criterion(model(x))
            loss.backward()
            optimizer.step()
            plant("script")
        model.eval()
        with torch.no_grad():
            for x in torch.ones(5, 1, 4):
                plant("evaluate")
                model(x)
    print("elapsed", time.time() - begin)
    for _ in range(TIMES):
        torch.save({"state": Checkpoint()}, "checkpoint.pt")
    print("planted", done["seconds"])


if __name__ == "__main__":
    main()
