#!/usr/bin/env python3
"""A child-sum TreeLSTM (Tai et al., 2015) as a module of PyTorch, and as the program examples/tree_lstm.relay.

    .venv/bin/python examples/pytorch/tree_lstm.py [NODES]

The module goes through a tree in Python; the program is compiled as a whole, with its recursion. Both compute the same.
"""

import pathlib
import random
import sys
import time

import numpy as np
import torch
from torch import nn

import relay
from relay import Data

PROGRAM = pathlib.Path(__file__).parents[1] / "tree_lstm.relay"


class TreeLSTM(nn.Module):
    """Gates i, o, u and f of the input; i, o, u of the sum of the children's states; f of each child's."""

    def __init__(self):
        super().__init__()
        self.of_input, self.of_sum = nn.Linear(300, 600), nn.Linear(150, 450, bias=False)
        self.of_child = nn.Linear(150, 150, bias=False)

    def forward(self, tree):
        x, children = tree
        i, o, u, f = self.of_input(x).split(150, dim=1)
        h = below = torch.zeros(1, 150)
        if children:
            states, cells = map(torch.cat, zip(*map(self, children), strict=True))
            h = states.sum(0, keepdim=True)
            below = (torch.sigmoid(f + self.of_child(states)) * cells).sum(0, keepdim=True)
        from_i, from_o, from_u = self.of_sum(h).split(150, dim=1)
        c = torch.sigmoid(i + from_i) * torch.tanh(u + from_u) + below
        return torch.sigmoid(o + from_o) * torch.tanh(c), c


def random_tree(nodes):
    """Each node but the root is the child of a random earlier one."""
    trees = [(torch.randn(1, 300), []) for _ in range(nodes)]
    for place in range(1, nodes):
        trees[random.randrange(place)][1].append(trees[place])
    return trees[0]


def as_data(tree):
    return Data("Rose", tree[0].numpy(), [as_data(child) for child in tree[1]])


def milliseconds(function, times=10):
    begin = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - begin) / times * 1e3


def main():
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    network = TreeLSTM()
    parameters = (network.of_input.weight, network.of_sum.weight, network.of_child.weight, network.of_input.bias)
    module = relay.load(PROGRAM)
    main_ = module["main"]
    weights = [relay.const(one.detach().numpy()) for one in parameters]
    module["main"] = relay.bind(main_, dict(zip(main_.params[-len(weights) :], weights, strict=True)))
    model = relay.compile(module, threads=1)
    tree = random_tree(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    data = as_data(tree)
    with torch.no_grad():
        for got, wanted in zip(model(data), network(tree), strict=True):
            np.testing.assert_allclose(np.asarray(got), wanted.numpy(), rtol=1e-4, atol=1e-5)
        print(f"PyTorch {milliseconds(lambda: network(tree)):.2f} ms, Relay {milliseconds(lambda: model(data)):.2f} ms")


if __name__ == "__main__":
    main()
