"""Train a small network on MNIST, the way it is often written: ToTensor per image, two workers, five epochs."""

import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

from find_mnist import find_mnist


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(28 * 28, 8)
        self.fc2 = nn.Linear(8, 8)
        self.fc3 = nn.Linear(8, 10)

    def forward(self, x):
        x = x.view(x.size(0), -1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.log_softmax(self.fc3(x), dim=1)


def train(model, device, loader, optimizer):
    model.train()
    total = 0.0
    for data, target in loader:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def test(model, device, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            loss += F.nll_loss(output, target, reduction="sum").item()
            correct += (output.argmax(dim=1) == target).sum().item()
    return loss / len(loader.dataset), correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="~/data", help="folder that holds MNIST/raw (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    if args.seed is not None:
        torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    root = find_mnist(args.data)
    transform = transforms.Compose([transforms.ToTensor()])
    train_set = datasets.MNIST(root, train=True, transform=transform)
    test_set = datasets.MNIST(root, train=False, transform=transform)
    train_loader = DataLoader(train_set, batch_size=30000, shuffle=True, num_workers=2, pin_memory=True)
    test_loader = DataLoader(test_set, batch_size=1000)

    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    start = time.time()
    for epoch in range(1, args.epochs + 1):
        loss = train(model, device, train_loader, optimizer)
        print(f"epoch {epoch} loss {loss:.6f}")
    print(f"elapsed {time.time() - start:.2f} s")

    loss, accuracy = test(model, device, test_loader)
    print(f"test loss {loss:.4f} accuracy {100 * accuracy:.2f} %")


if __name__ == "__main__":
    main()
