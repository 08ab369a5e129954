"""Optimisers beside PyTorch's: 20 steps on the same gradients, all options."""

import numpy as np
import pytest
import relay.train as train

torch = pytest.importorskip("torch")
from training import BOTH, by_torch, gradients, linear_loss, start  # noqa: E402

# Relative to the greatest element: a few roundings a step, of 20 steps.
TOLERANCE = {"float32": 1e-6, "float64": 1e-13}


@pytest.fixture
def as_double():
    """PyTorch keeps counters and products of its optimisers in the default type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_twenty_steps_beside_pytorch(dtype, as_double):
    params = start(dtype)
    given = gradients(params, dtype, 20)
    loss, batch = linear_loss(params, dtype)
    groups = {f"p{i}.*": getattr(train, name)(**options) for i, (name, options) in enumerate(BOTH)}
    step = train.Step(loss, params, batch, groups=groups, threads=1)

    def make(name, tensors):
        kind, options = BOTH[int(name[1:])]
        return [getattr(torch.optim, kind)(tensors, foreach=False, **options)]

    for one in given:
        step(*one.values())
    wanted = by_torch(params, given, make)
    errors = {name: np.abs(step.arrays[name] - want).max() / np.abs(want).max() for name, want in wanted.items()}
    wrong = [(name, BOTH[int(name.partition(".")[0][1:])], error) for name, error in errors.items()]
    assert not [one for one in wrong if not one[-1] < TOLERANCE[dtype]]
