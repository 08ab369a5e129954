"""Optimisers beside PyTorch's: 20 steps on the same gradients, all options."""

import numpy as np
import pytest
import relay.train as train

import relay

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


def beside_pytorch(dtype):
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_twenty_steps_beside_pytorch(dtype, as_double):
    beside_pytorch(dtype)


def test_muon_beside_pytorch():
    rng = np.random.default_rng(0)
    cases = [
        ((6, 9), {}),
        ((9, 6), {"nesterov": False}),
        ((8, 8), {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.5}),
    ]
    params = {f"p{i}": [rng.standard_normal(shape).astype("float32")] for i, (shape, _) in enumerate(cases)}
    given = gradients(params, "float32", 5)
    loss, batch = linear_loss(params, "float32")
    groups = {f"p{i}.*": train.Muon(0.1, **options) for i, (_, options) in enumerate(cases)}
    step = train.Step(loss, params, batch, groups=groups, threads=1)
    for one in given:
        step(*one.values())
    wanted = by_torch(
        params, given, lambda name, tensors: [torch.optim.Muon(tensors, lr=0.1, **cases[int(name[1:])][1])]
    )
    for name, want in wanted.items():
        # Sums of bfloat16 in another order: a rounding, 2^-8, of updates of 0.1 and about 1 altogether.
        assert np.abs(step.arrays[name] - want).max() < 0.02


def lion(p, g, t, state, lr, b1, b2, decay):
    m = state.setdefault("m", np.zeros_like(p))
    new = p - lr * (np.sign(b1 * m + (1 - b1) * g) + decay * p)
    state["m"] = b2 * m + (1 - b2) * g
    return new


def lamb(p, g, t, state, lr, b1, b2, decay):
    m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
    v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
    u = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + 1e-6) + decay * p
    norms = np.linalg.norm(p), np.linalg.norm(u)
    return p - lr * (norms[0] / norms[1] if min(norms) > 0 else 1) * u


@pytest.mark.parametrize(("ours", "formula"), [(train.Lion, lion), (train.LAMB, lamb)])
def test_optimisers_of_papers_beside_their_formulas(ours, formula):
    rng = np.random.default_rng(0)
    params = {"w": rng.standard_normal((5, 6)), "zero": np.zeros(4)}
    given = gradients(params, "float64", 20)
    loss, batch = linear_loss(params, "float64")
    step = train.Step(loss, params, batch, ours(0.01, betas=(0.8, 0.95), weight_decay=0.1), threads=1)
    wanted, states = {name: value.copy() for name, value in params.items()}, {"w": {}, "zero": {}}
    for t, one in enumerate(given, 1):
        step(*one.values())
        wanted = {name: formula(p, one[name], t, states[name], 0.01, 0.8, 0.95, 0.1) for name, p in wanted.items()}
    for name, want in wanted.items():
        np.testing.assert_allclose(step.arrays[name], want, rtol=1e-12, atol=1e-14)


def test_gradients_of_zero_leave_finite_parameters():
    names = [name for name in train.optimisers.__all__ if name not in ("Optimiser", "Slot")]
    params = {name: np.full((3, 4), 2.0, "float32") for name in names}
    loss, batch = linear_loss(params, "float32")
    step = train.Step(loss, params, batch, groups={name: getattr(train, name)() for name in names}, threads=1)
    for _ in range(3):
        step(*(np.zeros((3, 4), "float32") for _ in names))
    for name in names:
        decay = getattr(getattr(train, name)(), "weight_decay", 0)
        assert np.isfinite(step.arrays[name]).all()
        assert np.array_equal(step.arrays[name], params[name]) == (not decay), name


@pytest.mark.parametrize("size", [1, 4096, 1_000_003])
def test_large_parameters_are_those_of_small_ones(size):
    """An element's update does not depend on its place in a vector, or on the tail of one."""
    rng = np.random.default_rng(0)
    whole, g = rng.standard_normal((2, size)).astype("float32")
    step = train.Step(lambda p, g: relay.sum(p["w"] * g), {"w": whole}, {"g": (size,)}, train.AdamW(0.1), threads=2)
    other = train.Step(lambda p, g: relay.sum(p["w"] * g), {"w": whole[-1:]}, {"g": (1,)}, train.AdamW(0.1), threads=1)
    for _ in range(3):
        step(g), other(g[-1:])
    assert step.arrays["w"][-1] == other.arrays["w"][0]
    assert set(step.copied) <= {"state/step"}
