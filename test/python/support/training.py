"""Optimisers of relay.train and of PyTorch on the same gradients."""

import numpy as np
import relay.train as train
import torch

import relay

SHAPES = [(7,), (5, 6), ()]

# (ours, PyTorch's name, options of both). Muon and Adafactor take matrices apart.
BOTH = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"betas": (0.8, 0.95), "eps": 1e-5, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("AdamW", {"amsgrad": True, "weight_decay": 0.3, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "alpha": 0.9}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"weight_decay": 0.1, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"betas": (0.9, 0.9), "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"weight_decay": 0.1, "maximize": True, "d": 2.0}),
]


def start(dtype, seed=0):
    """Parameters by name: p0, p1, .. for each entry of BOTH, each a list of arrays."""
    rng = np.random.default_rng(seed)
    return {f"p{i}": [np.array(rng.standard_normal(shape), dtype) for shape in SHAPES] for i in range(len(BOTH))}


def gradients(params, dtype, steps, seed=1):
    """Gradients by step and parameter. Those of the last parameter are 0 at every third step."""
    rng = np.random.default_rng(seed)
    names = train.parameters.flatten(params)
    return [
        {name: np.array(rng.standard_normal(value.shape) * (step % 3 != 2 or i % 3 != 2), dtype)
         for i, (name, value) in enumerate(names.items())}
        for step in range(steps)
    ]  # fmt: skip


def linear_loss(params, dtype):
    """A loss whose gradients are the batch: the sum of all products of a parameter and its part of the batch."""
    flat = train.parameters.flatten(params)

    def loss(nested, *batch):
        products = [relay.sum(p * g) for p, g in zip(train.parameters.flatten(nested).values(), batch, strict=True)]
        return train.formulas.tree_sum(products)

    return loss, {f"g/{name}": (value.shape, dtype) for name, value in flat.items()}


def by_torch(params, given, make):
    """The parameters after steps of PyTorch's optimisers: make(name, tensors) returns those of a top-level name."""
    learnt = {
        name: [torch.from_numpy(one.copy()).requires_grad_() for one in values] for name, values in params.items()
    }
    optimisers = {name: make(name, tensors) for name, tensors in learnt.items()}
    for step in given:
        for name, tensors in learnt.items():
            for i, tensor in enumerate(tensors):
                tensor.grad = torch.from_numpy(step[f"{name}.{i}"].copy())
            for one in optimisers[name]:
                one.step()
    return {f"{name}.{i}": t.detach().numpy() for name, tensors in learnt.items() for i, t in enumerate(tensors)}
