"""One update after each four batches."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(6000, 40)
loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Dropout(0.1), nn.Linear(80, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(6):
    for number, (batch, target) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(batch), target) / 4
        loss.backward()
        if number % 4 == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    print("epoch", epoch, "loss", 4 * loss.item())
