"""Validation after each epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(8000, 20)
data = TensorDataset(x, (x.sum(1) > 0).float())
training, validation = torch.utils.data.random_split(data, [6000, 2000])
model, criterion = nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 1), nn.Flatten(0)), nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    model.train()
    for batch, target in DataLoader(training, batch_size=30, shuffle=True):
        optimizer.zero_grad()
        criterion(model(batch), target).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum(((model(batch) > 0) == (target > 0)).sum().item() for batch, target in DataLoader(validation, batch_size=200))
    print("epoch", epoch, "accuracy", right / len(validation))
