"""Two networks against each other, each with its optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
judge = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
make, judging = torch.optim.Adam(maker.parameters(), lr=2e-4), torch.optim.Adam(judge.parameters(), lr=2e-4)
criterion = nn.BCEWithLogitsLoss()
one, zero = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(2000):
    real, fake = torch.randn(64, 2) * 0.5 + 1, maker(torch.randn(64, 8))
    judging.zero_grad()
    loss_judge = criterion(judge(real), one) + criterion(judge(fake.detach()), zero)
    loss_judge.backward()
    judging.step()
    make.zero_grad()
    loss_make = criterion(judge(fake), one)
    loss_make.backward()
    make.step()
    if step % 200 == 0:
        print("step", step, "loss", loss_judge.item(), loss_make.item())
