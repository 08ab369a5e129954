"""The scale of the loss beside torch.amp.GradScaler, on gradients that overflow now and then."""

import numpy as np
import pytest
import relay.train as train

import relay

torch = pytest.importorskip("torch")


def overflowing(steps, seed):
    """Gradients of 8 elements. One in thirty is so large that it overflows at scales above some power of two."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        gradient = rng.standard_normal(8).astype("float32")
        if rng.random() < 1 / 30:
            gradient[rng.integers(8)] = np.float32(2.0 ** rng.integers(108, 128))
        yield gradient


def compared(steps, interval, **options):
    """The scales, counts and parameters after each step of both, on the same gradients."""
    start = np.zeros(8, "float32")
    w = torch.tensor(start.copy(), requires_grad=True)
    optimiser = torch.optim.Adam([w], lr=1e-3)
    theirs = torch.amp.GradScaler("cpu", growth_interval=interval, **options)
    step = train.Step(
        lambda p, g: relay.sum(p["w"] * g),
        {"w": start},
        {"g": (8,)},
        train.Adam(1e-3),
        threads=1,
        scaler=train.LossScaler(interval=interval, start=options.get("init_scale", 2.0**16)),
    )
    ours, wanted = [], []
    for gradient in overflowing(steps, seed=5):
        step(gradient)
        ours.append((step.scale, int(step.arrays["state/good_steps"])))
        optimiser.zero_grad()
        theirs.scale((w * torch.from_numpy(gradient)).sum()).backward()
        theirs.step(optimiser)
        theirs.update()
        wanted.append((theirs.get_scale(), theirs._get_growth_tracker()))
    return ours, wanted, step, w, optimiser


@pytest.mark.parametrize("steps", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_sequence_is_pytorchs(steps):
    ours, wanted, step, w, optimiser = compared(steps, interval=20)
    assert ours == wanted
    taken = int(optimiser.state[w]["step"])
    assert step.count == taken < steps  # a skipped step does not count
    assert len({scale for scale, _ in ours}) > 4
    np.testing.assert_allclose(step.arrays["w"], w.detach(), rtol=1e-5)


def test_a_scale_never_becomes_infinite():
    ours, wanted, *_ = compared(40, interval=1, init_scale=2.0**120)
    assert ours == wanted and max(scale for scale, _ in ours) == 2.0**127


def test_a_scale_that_sinks_names_the_gradient():
    step = train.Step(
        lambda p, g: relay.sum(p["good"] * p["good"]) + relay.sum(p["bad"] * g),
        {"good": np.ones(3, "float32"), "bad": np.ones(3, "float32")},
        {"g": (3,)},
        train.SGD(0.1),
        scaler=train.LossScaler(start=4.0),
        threads=1,
    )
    before = {name: value.copy() for name, value in step.arrays.items()}
    infinite = np.full(3, np.inf, "float32")
    step(infinite), step(infinite)
    with pytest.raises(relay.InputError, match="the scale of the loss fell to 0.5, below 1.0: the gradient of `bad`"):
        step(infinite)
    assert all(np.array_equal(step.arrays[name], before[name]) for name in ("good", "bad", "state/step"))
