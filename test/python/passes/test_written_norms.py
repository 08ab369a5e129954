"""Layer normalisations that are written out: one kernel, no less exact than what is written."""

import numpy as np
import pytest

import relay
from relay import op

SIZE, EPSILON = 300, 1e-5


def written(x, dtype, how):
    """gamma 2 and beta 0.5, as TensorFlow, ONNX and older JAX write them."""
    mean = op.mean(x, axis=[-1], keepdims=True)
    epsilon = relay.const(EPSILON, dtype)
    gamma, beta = (relay.const(np.full(SIZE, value, dtype)) for value in (2, 0.5))
    if how == "squares":
        variance = op.subtract(op.mean(op.multiply(x, x), axis=[-1], keepdims=True), op.multiply(mean, mean))
    else:
        d = op.subtract(x, mean)
        variance = op.mean(op.multiply(d, d), axis=[-1], keepdims=True)
    if how == "quotient":
        normal = op.divide(op.subtract(x, mean), op.sqrt(op.add(variance, epsilon)))
        return op.add(op.multiply(normal, gamma), beta)
    scale = op.multiply(op.rsqrt(op.add(variance, epsilon)), gamma)
    return op.add(op.multiply(x, scale), op.subtract(beta, op.multiply(mean, scale)))


def compiled(how, dtype="float32", **options):
    x = relay.var("x", shape=(7, SIZE), dtype=dtype)
    return relay.compile(relay.module(written(x, dtype, how)), **options)


def exact(x):
    x = x.astype(np.float64)
    return 2 * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON) + 0.5


@pytest.mark.parametrize("how", ["moments", "quotient", "squares"])
def test_it_is_one_kernel_and_exact_around_a_large_mean(how):
    x = np.random.default_rng(0).normal(1000, 1, (7, SIZE)).astype(np.float32)
    model = compiled(how)
    assert [group["name"] for group in model.report["groups"]] == ["fused_nn_layer_norm"]
    apart, as_written = (np.abs(run(x) - exact(x)).max() for run in (model, compiled(how, opt_level=1)))
    assert apart < 5e-4  # 4 ULP of 1000 / deviation 1, times gamma
    assert apart <= as_written


@pytest.mark.parametrize("how", ["moments", "quotient", "squares"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinities_and_nan_stay_in_their_rows(how):
    x = np.random.default_rng(1).normal(0, 1, (7, SIZE)).astype(np.float32)
    x[1, 5], x[2, 0], x[3, 7], x[4] = np.inf, -np.inf, np.nan, 3
    y = compiled(how)(x)
    assert np.isnan(y[1:4]).all()
    np.testing.assert_allclose(y[[0, 4, 5, 6]], exact(x)[[0, 4, 5, 6]], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("how", ["moments", "quotient", "squares"])
def test_sums_of_halves_are_float32(how):
    x = np.random.default_rng(2).normal(0, 2000, (7, SIZE)).astype(np.float16)  # squares overflow float16
    np.testing.assert_allclose(compiled(how, "float16")(x), exact(x), rtol=2e-3, atol=2e-3)
