"""Layers of relay.nn beside those of PyTorch: the same weights, results and gradients."""

import numpy as np
import torch
from relay.nn.trace import trace

import relay

# Relative to the largest element: sums of float32 in another order.
TOLERANCE = 1e-5


def assert_close(ours, theirs, what):
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape, f"{what}: {ours.shape} and {theirs.shape}"
    if not theirs.size:
        return
    scale = max(float(np.abs(theirs).max()), 1e-3)
    worst = float(np.abs(ours.astype(np.float64) - theirs).max()) / scale
    assert worst <= TOLERANCE, f"{what} differs by {worst:.2e} of the largest element"


def leaves(value):
    """The arrays of a result, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for one in value for leaf in leaves(one)]
    return [value.detach().numpy() if isinstance(value, torch.Tensor) else value]


def torch_result(net, inputs):
    made = net(*[torch.from_numpy(one.copy()).requires_grad_(one.dtype == np.float32) for one in inputs])
    return made


def check(ours, theirs, inputs, *, call=None, training=True):
    """Compares the results and the gradients of all parameters and float inputs, for a random weighted sum of the
    results. call(net, *inputs) of the PyTorch layer."""
    ours.infer(*inputs)
    ours.load_state_dict(theirs.state_dict())
    for one in (ours, theirs):
        one.train(training)
    tensors = [torch.from_numpy(one.copy()) for one in inputs]
    for one in tensors:
        one.requires_grad_(one.dtype == torch.float32)
    results = call(theirs, *tensors) if call else theirs(*tensors)
    flat = list(results) if isinstance(results, (tuple, list)) else [results]
    flat = [leaf for one in flat for leaf in (one if isinstance(one, (tuple, list)) else [one])]
    rng = np.random.default_rng(5)
    seeds = [rng.standard_normal(one.shape).astype("float32") for one in flat]
    sum((one * torch.from_numpy(seed)).sum() for one, seed in zip(flat, seeds, strict=True)).backward()

    made = leaves(ours(*inputs))  # updates the state, as PyTorch's call does
    assert len(made) == len(flat)
    for at, (a, b) in enumerate(zip(made, flat, strict=True)):
        assert_close(a, b.detach().numpy(), f"result {at}")
    for name, value in theirs.state_dict().items():
        assert_close(ours.state_dict()[name], value.numpy(), f"state {name}")
    compare_gradients(ours, theirs, inputs, tensors, seeds, training)


def compare_gradients(ours, theirs, inputs, tensors, seeds, training):
    program = trace(ours, tuple(inputs))
    module = program.module
    main = module["main"]
    backward = relay.vjp(module, mode="training" if training else "inference")
    arguments = [*inputs, *(one.data for one in program.parameters)]
    nested = iter(seeds)

    def like(type_):
        return tuple(map(like, type_.fields)) if isinstance(type_, relay.TupleType) else next(nested)

    _, gradients = relay.compile(backward)(*arguments, like(main.ret_type or main.body.checked_type))
    by_name = dict(zip([one.name_hint for one in main.params], gradients, strict=True))
    wanted = {name: one.grad for name, one in theirs.named_parameters()}
    for name, one in zip([one.name_hint for one in main.params[: len(inputs)]], tensors, strict=True):
        if one.requires_grad:
            wanted[name] = one.grad
    assert wanted
    for name, gradient in wanted.items():
        assert_close(by_name[name], gradient.numpy(), f"gradient of {name}")
