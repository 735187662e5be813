"""Fit z = 4x + 3y + 10 with a tiny network and many small steps: 1000 epochs of 12 batches."""

import argparse
import time

import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler
from torch.utils.data import DataLoader, SubsetRandomSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 20)
        self.output = nn.Linear(20, 1)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return torch.relu(self.output(x))


def make_rows():
    xy = np.random.randint(10, 1001, size=(1000, 2))
    z = 4 * xy[:, 0] + 3 * xy[:, 1] + 10
    return MinMaxScaler().fit_transform(np.column_stack([xy, z]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="~/data", help="not used here: the rows are made up")
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    start = time.time()
    if args.seed is not None:
        np.random.seed(args.seed)
        torch.manual_seed(args.seed)

    rows = torch.tensor(make_rows(), dtype=torch.float32)
    train_rows, test_rows = train_test_split(np.arange(len(rows)), test_size=0.25)
    train_loader = DataLoader(rows, batch_size=64, sampler=SubsetRandomSampler(train_rows))
    test_loader = DataLoader(rows, batch_size=64, sampler=SubsetRandomSampler(test_rows))

    device = torch.device(args.device)
    model = Net().to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for batch in train_loader:
            batch = batch.to(device)
            optimizer.zero_grad()
            loss = criterion(model(batch[:, :2]), batch[:, 2:])
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 10 == 0:
            print(f"epoch {epoch} loss {total / len(train_loader):.6f}")

    model.eval()
    with torch.no_grad():
        batch = next(iter(test_loader)).to(device)
        predicted = model(batch[:, :2])
    for wanted, got in zip(batch[:5, 2].tolist(), predicted[:5, 0].tolist(), strict=True):
        print(f"wanted {wanted:.3f} got {got:.3f}")
    print(f"elapsed {time.time() - start:.2f} s")


if __name__ == "__main__":
    main()
