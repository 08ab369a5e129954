"""Normalisations that are written out: one kernel, no less exact than what is written."""

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


def compiled(how, dtype="float32", form=written, **options):
    x = relay.var("x", shape=(7, SIZE), dtype=dtype)
    return relay.compile(relay.module(form(x, dtype, how)), **options)


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


def written_rms(x, dtype, how):
    """With the weight 2, as PyTorch, T5 in ONNX, TensorFlow and TFLite write it."""
    mean = op.mean(
        op.power(x, relay.const(2, dtype)) if how == "quotient" else op.multiply(x, x), axis=[-1], keepdims=True
    )
    radicand, weight = op.add(mean, relay.const(EPSILON, dtype)), relay.const(np.full(SIZE, 2, dtype))
    if how == "quotient":
        return op.multiply(weight, op.divide(x, op.sqrt(radicand)))
    if how == "scaled":
        return op.multiply(x, op.multiply(op.rsqrt(radicand), weight))
    return op.multiply(op.multiply(x, op.rsqrt(radicand)), weight)


def written_instance(x, dtype, how):
    """gamma 2 and beta 0.5 for each channel, with channels first or last, in PyTorch's and TensorFlow's form."""
    axes, shape = ([2, 3], (3, 1, 1)) if how == "first" else ([1, 2], (3,))
    mean, epsilon = op.mean(x, axis=axes, keepdims=True), relay.const(EPSILON, dtype)
    gamma, beta = (relay.const(np.full(shape, value, dtype)) for value in (2, 0.5))
    d = op.subtract(x, mean)
    inverse = op.rsqrt(op.add(op.mean(op.multiply(d, d), axis=axes, keepdims=True), epsilon))
    if how == "first":
        return op.add(op.multiply(op.multiply(d, inverse), gamma), beta)
    scale = op.multiply(inverse, gamma)
    return op.add(op.multiply(x, scale), op.subtract(beta, op.multiply(mean, scale)))


def exact_rms(x):
    x = x.astype(np.float64)
    return 2 * x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)


@pytest.mark.parametrize("how", ["usual", "quotient", "scaled"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_root_mean_square_is_one_kernel_and_as_exact(how):
    x = np.random.default_rng(3).normal(0, 1, (7, SIZE)).astype(np.float32)
    x[1] *= 1e15
    x[2] *= 1e-15
    model, as_written = (compiled(how, form=written_rms, **options) for options in ({}, {"opt_level": 1}))
    assert [group["name"] for group in model.report["groups"]] == ["fused_nn_rms_norm"]
    np.testing.assert_allclose(model(x), exact_rms(x), rtol=1e-6, atol=1e-30)
    x[3, 5], x[4, 0], x[5, 7], x[6] = np.inf, -np.inf, np.nan, 0
    np.testing.assert_array_equal(np.isnan(model(x)), np.isnan(as_written(x)))
    np.testing.assert_allclose(model(x), as_written(x), rtol=2e-6)


@pytest.mark.parametrize("how", ["usual", "quotient", "scaled"])
def test_a_root_mean_square_of_halves_is_computed_in_float32(how):
    x = np.random.default_rng(4).normal(0, 2000, (7, SIZE)).astype(np.float16)  # squares overflow float16
    np.testing.assert_allclose(compiled(how, "float16", written_rms)(x), exact_rms(x), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("how", ["first", "last"])
def test_an_instance_norm_is_one_kernel_and_exact_around_a_large_mean(how):
    shape, axes = ((2, 3, 16, 9), (2, 3)) if how == "first" else ((2, 16, 9, 3), (1, 2))
    x = np.random.default_rng(5).normal(1000, 1, shape).astype(np.float32)
    module = relay.module(written_instance(relay.var("x", shape=shape), "float32", how))
    model = relay.compile(module)
    assert [group["name"] for group in model.report["groups"]] == ["fused_nn_instance_norm"]
    wide = x.astype(np.float64)
    exact = 2 * (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + EPSILON) + 0.5
    apart, as_written = (np.abs(run(x) - exact).max() for run in (model, relay.compile(module, opt_level=1)))
    assert apart < 1e-3 and apart <= as_written * 1.01  # 8 ULP of 1000 / deviation 1, times gamma
    x[1, 2, 3, 1] = np.inf
    np.testing.assert_array_equal(np.isnan(model(x)), np.isnan(relay.compile(module, opt_level=1)(x)))
