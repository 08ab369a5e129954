"""A short version of the sweep of test/ops/accuracy.py, and exactness of operators whose results are known."""

import pathlib
import runpy

import numpy as np
import pytest
import torch
from forms import each_nth

import relay

SWEEP = runpy.run_path(str(pathlib.Path(__file__).parents[2] / "ops" / "accuracy.py"))


@pytest.mark.parametrize("dtype", each_nth(2, ["float16", "bfloat16", "float32", "float64"]))
def test_operators_are_within_their_bounds(dtype):
    problems = SWEEP["sweep"](short=True, types=(dtype,))
    assert len(problems) == len(SWEEP["BOUNDS"]) and not any(problems.values()), problems


def run(function, *arrays, opt_level=3, **options):
    variables = [relay.var(f"x{k}", shape=one.shape, dtype=str(one.dtype)) for k, one in enumerate(arrays)]
    return relay.compile(relay.module(function(*variables)), opt_level=opt_level, **options)(*arrays)


OP = relay.op


def numbers(count=1000, seed=0):
    return np.random.default_rng(seed).standard_normal((2, count)).astype("float32")


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_two_operators_are_rounded_apart(opt_level, dtype):
    x, y = numbers().astype(dtype)
    assert not run(lambda a, b: OP.subtract(OP.multiply(a, b), OP.multiply(b, a)), x, y, opt_level=opt_level).any()

    # Through what moves elements.
    def moved(one):
        return OP.reshape(one, newshape=[10, 100])

    assert not run(lambda a, b: OP.subtract(moved(OP.multiply(a, b)), moved(OP.multiply(b, a))), x, y,
                   opt_level=opt_level).any()  # fmt: skip
    found = run(lambda a, b: OP.add(OP.multiply(a, b), OP.where(OP.greater(a, b), a, b)), x, y, opt_level=opt_level)
    np.testing.assert_array_equal(found, x * y + np.where(x > y, x, y))


@pytest.mark.parametrize("opt_level", [0, 3])
def test_a_product_that_overflows_is_infinite_before_it_is_added(opt_level):
    x = np.full(40, 1e20, "float32")
    difference = run(lambda a: OP.subtract(OP.multiply(a, a), OP.multiply(a, a)), x, opt_level=opt_level)
    assert np.isnan(difference).all()
    alternating = x * np.where(np.arange(40) % 2, 1, -1).astype("float32")
    total = run(lambda a, b: OP.sum(OP.multiply(a, b), axis=[0]), x, alternating, opt_level=opt_level)
    assert np.isnan(total)
    # An exponential is a product with a power of two.
    for dtype, above in (("float32", 89), ("float64", 710)):
        x, infinite = (np.array([value] * 40, dtype) for value in (above, np.inf))
        assert np.isnan(run(lambda a, b: OP.subtract(OP.exp(a), b), x, infinite, opt_level=opt_level)).all()


def test_a_variance_of_equal_numbers_is_zero():
    x = np.full((4, 8), 1.1, "float32")

    def deviation(a):
        mean = OP.mean(a, axis=[1])
        return OP.sqrt(OP.subtract(OP.mean(OP.multiply(a, a), axis=[1]), OP.multiply(mean, mean)))

    np.testing.assert_array_equal(run(deviation, x), np.zeros(4, "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_every_size(name, dtype):
    """In vectors of which some lanes are far, and in the last elements, which are computed alone."""
    random = np.random.default_rng(1)
    x = np.ldexp(random.uniform(1, 2, 999), random.integers(-5, 127 if dtype == "float32" else 1023, 999)).astype(dtype)
    x[::3] = random.uniform(-9, 9, 333)
    x[[5, 17]] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        want = getattr(np, name)(x.astype("float64"))
    np.testing.assert_allclose(run(getattr(OP, name), x), want, rtol=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_quotients_and_remainders_are_those_of_pytorch(dtype):
    one = [1.0, 0.5, 3.0, 0.3, -1.0, -7.0, 7.0, 6.0, np.inf, 5.0, -5.0, 0.0, -0.0, 5.0, 1e30, -1e30, np.nan, 3e38]
    other = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 2.0, 0.6, 2.0, np.inf, np.inf, 3.0, 3.0, 0.0, 7.0, 7.0, 1.0, 1e-38]
    x, y = (torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype)) for values in (one, other))
    if dtype in ("float16", "bfloat16"):
        x, y = x[:13], y[:13]
    arrays = [relay.array(v) for v in (x, y)] if dtype == "bfloat16" else [x.numpy(), y.numpy()]
    for name, function in (
        ("floor_mod", torch.remainder),
        ("trunc_mod", torch.fmod),
        ("floor_divide", torch.floor_divide),
    ):
        variables = [relay.var(v, shape=tuple(x.shape), dtype=dtype) for v in "ab"]
        module = relay.module(getattr(OP, name)(*variables))
        want = function(x.double(), y.double()).to(x.dtype)
        for got in (relay.compile(module, numerics="ieee")(*arrays), relay.evaluate(module, arrays)):
            got = torch.from_numpy(np.asarray(got).astype("float64")).to(x.dtype)
            torch.testing.assert_close(got.reshape(-1), want, rtol=0, atol=0, equal_nan=True)
