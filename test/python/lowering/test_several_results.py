"""Reductions with several results, and groups with several results: values, kernels, and the same bits for any number
of threads."""

import numpy as np
import pytest

import relay

HEAD = '#[version = "0.0.5"]\n'


def compiled(text, **options):
    return relay.compile(relay.parse(HEAD + text), strict=True, **options)


def outputs(result):
    return [np.asarray(t) for t in (result if isinstance(result, (list, tuple)) else [result])]


def normal(*shape, dtype="float32"):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def normalised(x, axes, epsilon=1e-5):
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def kernels(model):
    return len(model.report["kernels"])


# --- argmax, argmin


@pytest.mark.parametrize("shape", [(3, 1000), (64, 17), (1, 50257), (2, 21, 24, 40), (1, 1 << 18), (5, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_are_numpys(shape, dtype, name):
    x = np.random.default_rng(3).integers(0, 50, shape).astype(dtype)  # with many ties
    axis = 1
    sizes = ", ".join(map(str, shape))
    for last in (False, True):
        text = f"def @main(%x: Tensor[({sizes}), {dtype}]) {{ {name}(%x, axis=[{axis}], select_last_index={last}) }}"
        want = getattr(np, name)(np.flip(x, axis) if last else x, axis=axis)
        want = shape[axis] - 1 - want if last else want
        np.testing.assert_array_equal(outputs(compiled(text)(x))[0], want)


def test_nan_is_the_greatest_and_the_least_as_in_numpy():
    x = normal(40, 300)
    x[::2, 77] = x[::4, 15] = np.nan
    x[3] = -np.inf
    x[5, 100:] = np.inf
    for name in ("argmax", "argmin"):
        text = f"def @main(%x: Tensor[(40, 300), float32]) {{ {name}(%x, axis=[1]) }}"
        np.testing.assert_array_equal(outputs(compiled(text)(x))[0], getattr(np, name)(x, axis=1))


def test_both_values_are_found_in_one_reduction():
    text = "def @main(%x: Tensor[(64, 1000), float32]) { argmax(%x, axis=[1]) }"
    model = compiled(text)
    assert kernels(model) == 1
    assert "row reduction in lanes" in model.report["groups"][0]["rule"]


# --- groups with several results


@pytest.mark.parametrize("size", ["7", "300", "n"])
def test_what_reads_the_same_is_one_kernel(size):
    text = f"def @main(%x: Tensor[(64, {size}), float32]) {{ (nn.relu(%x), sigmoid(%x), exp(%x)) }}"
    model = compiled(text)
    assert kernels(model) == 1
    x = normal(64, 23 if size == "n" else int(size))
    relu, sigmoid, exp = outputs(model(x))
    np.testing.assert_array_equal(relu, np.maximum(x, 0))
    np.testing.assert_allclose(sigmoid, 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6)
    np.testing.assert_allclose(exp, np.exp(x.astype(np.float64)), rtol=1e-6)


RESIDUAL = """def @main(%x: Tensor[(m, 768), float32], %y: Tensor[(m, 768), float32], %g: Tensor[(768), float32],
      %b: Tensor[(768), float32]) {
  let %s = add(%x, %y);
  (%s, nn.layer_norm(%s, %g, %b))
}
"""


@pytest.mark.parametrize("rows", ["m", "5"])
def test_a_residual_stream_is_summed_and_normalised_in_one_kernel(rows):
    model = compiled(RESIDUAL.replace("m, 768", f"{rows}, 768"))
    assert kernels(model) == 1
    x, y, g, b = normal(5, 768), normal(5, 768)[::-1].copy(), normal(768), normal(768)
    total, norm = outputs(model(x, y, g, b))
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_allclose(norm, normalised(x + y, -1) * g + b, atol=2e-5)


def test_barriers_and_limits_are_respected():
    apart = "def @main(%x: Tensor[(64, 64), float32]) { (nn.relu(%x), sigmoid(annotation.stop_fusion(exp(%x)))) }"
    assert kernels(compiled(apart)) == 3 - 1  # relu joins exp, in front of the barrier
    text = "def @main(%x: Tensor[(64, 64), float32]) { (nn.relu(%x), sigmoid(%x)) }"
    fused = relay.run_passes(relay.parse(HEAD + text), ["fuse_ops"], options={"fuse_ops.max_results": 1})
    assert str(fused).count("Primitive=1") == 2


def test_a_training_step_keeps_what_its_gradient_needs():
    text = """def @main(%x: Tensor[(32, 64), float32], %y: Tensor[(32, 64), float32]) {
      sum(multiply(tanh(add(%x, %y)), sigmoid(add(%x, %y))))
    }"""
    module = relay.parse(HEAD + text)
    step = relay.compile(relay.value_and_grad(module), strict=True)
    x, y = normal(32, 64), normal(32, 64)[::-1].copy()
    value, gradients = step(x, y)
    s = (x + y).astype(np.float64)
    t, g = np.tanh(s), 1 / (1 + np.exp(-s))
    np.testing.assert_allclose(np.asarray(value), (t * g).sum(), rtol=1e-5)
    for gradient in gradients:
        np.testing.assert_allclose(np.asarray(gradient), (1 - t * t) * g + t * g * (1 - g), rtol=1e-4, atol=1e-6)


def test_state_is_still_updated_in_place():
    text = """def @main(%w: Tensor[(64, 64), float32], %v: Tensor[(64, 64), float32], %g: Tensor[(64, 64), float32]) {
      let %next = add(multiply(%v, 0.9f), %g);
      (subtract(%w, multiply(%next, 0.1f)), %next)
    }"""
    model = compiled(text, donate=["w", "v"])
    assert kernels(model) == 1
    w, v, g = normal(64, 64), normal(64, 64)[::-1].copy(), normal(64, 64).T.copy()
    want = v * np.float32(0.9) + g
    new_w, new_v = outputs(model(w.copy(), v.copy(), g))
    np.testing.assert_allclose(new_v, want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(new_w, w - want * np.float32(0.1), rtol=1e-6, atol=1e-6)


def test_groups_that_would_wait_for_each_other():
    """A node in front of a group may read one that was joined with a later one, which reads that group: joining both
    would be a circle. The gradient of bicubic samples at a size that is not known has such groups."""
    data, grid = relay.var("data", shape=(2, 2, 4, 5)), relay.var("grid", shape=(2, 2, 3, "n"))
    sampled = relay.image.grid_sample(data, grid, method="bicubic", padding_mode="zeros", align_corners=False)
    gradient = relay.grad(relay.Function([data, grid], relay.sum(sampled * sampled)), wrt="data")
    random = np.random.default_rng(0)
    given = [random.standard_normal(s).astype(np.float32) for s in ((2, 2, 4, 5), (2, 2, 3, 6))]
    want = np.asarray(relay.evaluate(gradient, given))
    got = np.asarray(relay.compile(gradient)(*given))
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("n", [0, 1, 17, 4095, 4096, 4097, 100_003])
def test_rows_of_unknown_length(n):
    program = compiled(
        "def @main(%x: Tensor[(n), float32], %s: Tensor[(n), float32]) "
        "{ let %a = nn.relu(%x); (%a, multiply(%a, %s)) }",
        threads=2,
    )
    x, s = (np.random.default_rng(k).standard_normal(n).astype("float32") for k in range(2))
    kept, scaled = outputs(program(x, s))
    assert np.array_equal(kept, np.maximum(x, 0)) and np.array_equal(scaled, np.maximum(x, 0) * s)
