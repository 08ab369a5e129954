#!/usr/bin/env python3
"""A TreeLSTM (Tai et al., 2015) for binary trees in Python: written, run, examined, differentiated, trained, compiled.

.venv/bin/python examples/tree_lstm.py
"""

from dataclasses import dataclass

import numpy as np
import relay.train

import relay
from relay import nn


@dataclass
class Leaf:
    word: "Tensor[(1, 4), float32]"  # noqa: F821 - a type of Relay


@dataclass
class Node:
    left: "Tree"
    right: "Tree"


Tree = relay.data_type("Tree", Leaf | Node)


class TreeLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaf, self.node = nn.Linear(4, 16), nn.Linear(16, 40)

    @relay.script
    def forward(self, tree: Tree):
        match tree:
            case Leaf(word):
                c, o = relay.split(self.leaf(word), 2, axis=1)
                return relay.sigmoid(o) * np.tanh(c), c
            case Node(left, right):
                (lh, lc), (rh, rc) = self.forward(left), self.forward(right)
                i, fl, fr, o, u = relay.split(self.node(np.concatenate((lh, rh), axis=1)), 5, axis=1)
                c = relay.sigmoid(i) * np.tanh(u) + relay.sigmoid(fl) * lc + relay.sigmoid(fr) * rc
                return relay.sigmoid(o) * np.tanh(c), c


rng = np.random.default_rng(0)
net = TreeLSTM()


def random_tree(depth):
    if depth == 0:
        return Leaf(rng.standard_normal((1, 4), dtype="float32"))
    return Node(random_tree(depth - 1), random_tree(rng.integers(depth)))


def loss(net, tree, target):
    difference = net(tree)[0] - target
    return relay.mean(difference * difference)


trees = [random_tree(4) for _ in range(16)]
targets = [np.full((1, 8), rng.choice([-0.5, 0.5]), "float32") for _ in trees]

# Run: compiled at the first call. Examine: plain Python, where print() and breakpoints work.
print("same in plain Python:", np.allclose(net(trees[0])[0], net.forward.py(trees[0])[0], atol=1e-6))

# Differentiate: a program that returns the loss and the gradients by name.
program = nn.loss_module(net, loss, {"tree": Tree, "target": (1, 8)})
slope = relay.compile(relay.value_and_grad(program, ["leaf.weight", "node.bias"]))
value, (of_weight, of_bias) = slope(trees[0], targets[0], *net.state_dict().values())
print("gradients:", of_weight.shape, of_bias.shape)

# Train: a step is one program, which updates the parameters in place.
step = nn.step(net, loss, {"tree": Tree, "target": (1, 8)}, relay.train.Adam(1e-2))
for epoch in range(10):
    losses = [float(step(*one)) for one in zip(trees, targets, strict=True)]
    if epoch in (0, 9):
        print(f"epoch {epoch}: loss {np.mean(losses):.2f}")

# Compile: for a service, with the parameters as constants.
net.load_state_dict(step.params)
model = net.compile(Tree)
print("compiled:", np.allclose(model(trees[0])[0], net(trees[0])[0], atol=1e-6))
