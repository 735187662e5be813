"""A small training with shuffled loaders: every loss to the bit. Arguments: number of workers."""

import random
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self):
        self.x = torch.randn(120, 6)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        # Random draws per sample: in the workers they come from the seeds that the loader hands out.
        return self.x[index] + torch.rand(6) + random.random() + np.random.rand(), self.x[index].sum()


def seed_worker(number):
    random.seed(torch.initial_seed() % 2**32)
    np.random.seed(torch.initial_seed() % 2**32)


def main():
    workers = int(sys.argv[1])
    random.seed(1), np.random.seed(2), torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
    optimizers = [torch.optim.SGD(model[0].parameters(), lr=0.01, momentum=0.9), torch.optim.AdamW(model[3].parameters(), lr=0.01)]
    scheduler = torch.optim.lr_scheduler.StepLR(optimizers[0], 1)
    loader = DataLoader(
        Noisy(), batch_size=20, shuffle=True, num_workers=workers, worker_init_fn=seed_worker, persistent_workers=workers > 1
    )
    for epoch in range(2):
        model.train()
        for step, (x, y) in enumerate(loader):
            loss = torch.nn.functional.smooth_l1_loss(model(x.float()).squeeze(1), y)
            (loss / 2).backward()
            if step % 2:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                for optimizer in optimizers:
                    optimizer.step()
                    optimizer.zero_grad()
            print(epoch, step, loss.item().hex())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            print("eval", model(torch.ones(3, 6)).sum().item().hex())
    print(random.random(), np.random.rand(), torch.rand(1).item().hex())
    print([p.sum().item().hex() for p in model.parameters()])


if __name__ == "__main__":
    main()
