"""Two loader processes."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        return torch.full((64,), index / 4000).sin(), index % 10


if __name__ == "__main__":
    model, criterion = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(5):
        for x, y in DataLoader(Digits(), batch_size=50, shuffle=True, num_workers=2):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())
