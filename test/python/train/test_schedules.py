"""Schedules of the learning rate beside PyTorch's, in one program."""

import numpy as np
import pytest
from relay.train import schedules as s

import relay

torch = pytest.importorskip("torch")
lr = torch.optim.lr_scheduler

# Relative to the greatest rate: PyTorch's recursions add a rounding a step.
TOLERANCE = 1e-13
COUNTS = 60


def by_torch(make, base):
    """The rates of the first updates."""
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
    scheduler, rates = make(optimiser), []
    for _ in range(COUNTS):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        scheduler.step()
    return np.array(rates)


def warm(optimiser):
    first = lr.LinearLR(optimiser, start_factor=0.1, end_factor=1.0, total_iters=10)
    return lr.SequentialLR(optimiser, [first, lr.ExponentialLR(optimiser, 0.9)], [10])


def three(optimiser):
    parts = [
        lr.ConstantLR(optimiser, factor=0.5, total_iters=99),
        lr.StepLR(optimiser, 7),
        lr.ExponentialLR(optimiser, 0.8),
    ]
    return lr.SequentialLR(optimiser, parts, [9, 30])


CASES = [
    (s.Constant(0.3), lambda o: lr.LambdaLR(o, lambda _: 1.0), 0.3),
    (s.Step(0.3, 7, 0.5), lambda o: lr.StepLR(o, 7, 0.5), 0.3),
    (s.MultiStep(0.3, (5, 11, 40)), lambda o: lr.MultiStepLR(o, [5, 11, 40]), 0.3),
    (s.Exponential(0.3, 0.9), lambda o: lr.ExponentialLR(o, 0.9), 0.3),
    (s.Polynomial(0.3, 50, 2.0), lambda o: lr.PolynomialLR(o, 50, 2.0), 0.3),
    (s.Linear(0.3), lambda o: lr.LinearLR(o), 0.3),
    (s.Linear(0.3, 20, 1.0, 0.2), lambda o: lr.LinearLR(o, 1.0, 0.2, 20), 0.3),
    (s.Cosine(0.3, COUNTS, 0.01), lambda o: lr.CosineAnnealingLR(o, COUNTS, 0.01), 0.3),
    (s.CosineRestarts(0.3, 8), lambda o: lr.CosineAnnealingWarmRestarts(o, 8), 0.3),
    (s.CosineRestarts(0.3, 5, 2, 0.02), lambda o: lr.CosineAnnealingWarmRestarts(o, 5, 2, 0.02), 0.3),
    (s.OneCycle(0.3, COUNTS), lambda o: lr.OneCycleLR(o, 0.3, COUNTS + 1 - 1, cycle_momentum=False), 0.3),
    (
        s.OneCycle(0.3, COUNTS, 0.2, 10.0, 100.0, "linear"),
        lambda o: lr.OneCycleLR(
            o,
            0.3,
            COUNTS,
            pct_start=0.2,
            anneal_strategy="linear",
            div_factor=10.0,
            final_div_factor=100.0,
            cycle_momentum=False,
        ),
        0.3,
    ),
    (
        s.OneCycle(0.3, COUNTS, three_phase=True),
        lambda o: lr.OneCycleLR(o, 0.3, COUNTS, three_phase=True, cycle_momentum=False),
        0.3,
    ),
    (s.Warmup(s.Exponential(0.3, 0.9), 10, 0.1), warm, 0.3),
    (s.Chain((s.Constant(0.15), s.Step(0.3, 7), s.Exponential(0.3, 0.8)), (9, 30)), three, 0.3),
]


def test_all_rates_beside_pytorch():
    count = relay.var("count", shape=(), dtype="float64")
    module = relay.IRModule({"main": relay.Function([count], relay.Tuple([one.at(count) for one, _, _ in CASES]))})
    program = relay.compile(module, threads=1)
    ours = np.array([program(np.float64(i)) for i in range(COUNTS)])
    for rates, (schedule, make, base) in zip(ours.T, CASES, strict=True):
        wanted = by_torch(make, base)
        assert np.abs(rates - wanted).max() <= TOLERANCE * wanted.max(), schedule


def test_a_schedule_is_a_function_of_the_count():
    assert s.Step(1.0, 10)(25) == pytest.approx(0.01, rel=1e-15)
    assert s.Cosine(1.0, 10)(1000) == pytest.approx(0, abs=1e-16)  # does not rise again
    far = s.CosineRestarts(1.0, 3, 2)(3 * (2**40 - 1))
    assert far == 1.0  # the first update after a restart, exactly


def test_options_that_contradict():
    with pytest.raises(relay.InputError, match="steps is 0"):
        s.Cosine(0.1, 0)
    with pytest.raises(relay.InputError, match="one fewer milestone"):
        s.Chain((s.Constant(1.0), s.Constant(2.0)), (3, 4))
    with pytest.raises(relay.InputError, match="no anneal"):
        s.OneCycle(0.1, 10, anneal="sine")
