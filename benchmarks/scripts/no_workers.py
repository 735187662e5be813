"""Tensors in memory, loaded in this process."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(5000, 32)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=25, shuffle=True)
model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
for epoch in range(10):
    total = 0.0
    for batch, target in loader:
        loss = nn.functional.mse_loss(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, "loss", total / len(loader))
