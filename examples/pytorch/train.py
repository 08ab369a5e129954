#!/usr/bin/env python3
"""Trains a small network with torch.compile(backend="relay"): which of two moons a point lies in.

.venv/bin/python examples/pytorch/train.py
"""

import relay.torch  # noqa: F401 - registers the backend in a checkout
import torch
from torch import nn


def moons(count):
    angle, second = torch.pi * torch.rand(count), torch.arange(count) % 2
    side = 1 - 2 * second
    points = torch.stack([second + side * angle.cos(), side * (angle.sin() - 0.25)], dim=1)
    return points + 0.1 * torch.randn(count, 2), second


def main():
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(2, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
    )
    fast = torch.compile(network, backend="relay", options={"fallback": "error"})
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(300):
        points, labels = moons(256)
        loss = nn.functional.cross_entropy(fast(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    network.eval()
    points, labels = moons(1000)
    with torch.no_grad():
        right = (fast(points).argmax(1) == labels).float().mean().item()
    print(f"{right:.0%} of new points are right")
    assert right > 0.95


if __name__ == "__main__":
    main()
