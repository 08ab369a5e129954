"""ONNX operators that draw random numbers, and the remainder of floats."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

import relay  # noqa: E402

node = helper.make_node
SHAPE = (100, 200)


def outputs(nodes, given=(), results=("y",), executor="compiled"):
    """`given`: arrays for x, z, ..."""
    element = helper.np_dtype_to_tensor_dtype
    inputs = [
        helper.make_tensor_value_info(name, element(v.dtype), v.shape)
        for name, v in zip(("x", "z", "t"), given, strict=False)
    ]
    made = [helper.make_empty_tensor_value_info(name) for name in results]
    model = helper.make_model(
        helper.make_graph(nodes, "graph", inputs, made), opset_imports=[helper.make_opsetid("", 22)], ir_version=10
    )
    got = relay.compile(model, executor=executor, strict=True)(*given)
    return [np.asarray(g) for g in (got if isinstance(got, tuple | list) else [got])]


@pytest.mark.parametrize("executor", ["compiled", "vm", "aot"])
def test_uniform(executor):
    drawn = {"shape": SHAPE, "low": -2.0, "high": 6.0}
    nodes = [
        node("RandomUniform", [], ["a"], **drawn),
        node("RandomUniform", [], ["b"], **drawn),
        node("RandomUniform", [], ["c"], seed=7.0, **drawn),
        node("RandomUniform", [], ["d"], seed=7.0, **drawn),
    ]
    a, b, c, d = outputs(nodes, results="abcd", executor=executor)
    for array in (a, b, c):
        assert array.dtype == np.float32 and array.shape == SHAPE
        assert -2 <= array.min() < -1.9 and 5.9 < array.max() <= 6
        assert abs(array.mean() - 2) < 0.1
    assert (a != b).mean() > 0.99 and (a != c).mean() > 0.99
    np.testing.assert_array_equal(c, d)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_normal_like(dtype):
    (y,) = outputs([node("RandomNormalLike", ["x"], ["y"], mean=3.0, scale=2.0)], [np.zeros(SHAPE, dtype)])
    assert y.dtype == dtype and y.shape == SHAPE
    y = y.astype(float)
    assert abs(y.mean() - 3) < 0.1 and abs(y.std() - 2) < 0.1


def test_bernoulli():
    x = np.repeat(np.array([[0, 0.25, 1]], np.float32), 20000, 0)
    (y,) = outputs([node("Bernoulli", ["x"], ["y"], dtype=TensorProto.BOOL)], [x])
    assert y.dtype == bool
    none, quarter, all_ = y.mean(0)
    assert none == 0 and abs(quarter - 0.25) < 0.02 and all_ == 1


def test_multinomial():
    x = np.log(np.array([[2, 6, 2], [1e-30, 1, 1]], np.float32))
    (y,) = outputs([node("Multinomial", ["x"], ["y"], sample_size=20000, dtype=TensorProto.INT64)], [x])
    assert y.dtype == np.int64 and y.shape == (2, 20000)
    shares = [[(row == k).mean() for k in range(3)] for row in y]
    np.testing.assert_allclose(shares, [[0.2, 0.6, 0.2], [0, 0.5, 0.5]], atol=0.02)


@pytest.mark.parametrize("training", [False, True])
def test_dropout_at_run_time(training):
    x = np.random.default_rng(0).random(SHAPE, np.float32) + 1
    given = [x, np.array(0.25, np.float32), np.array(training)]
    y, mask = outputs([node("Dropout", ["x", "z", "t"], ["y", "mask"])], given, ["y", "mask"])
    assert mask.dtype == bool
    if training:
        assert abs(mask.mean() - 0.75) < 0.02
        np.testing.assert_allclose(y, np.where(mask, x / 0.75, 0), rtol=1e-6)
    else:
        assert mask.all()
        np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainder_of_floats(dtype, fmod):
    values = np.array([0, -0.0, 1, -1, 2.5, -2.5, 6, -6, np.inf, -np.inf, np.nan], dtype)
    x, z = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(values, values))
    (y,) = outputs([node("Mod", ["x", "z"], ["y"], fmod=fmod)], [x, z])
    with np.errstate(all="ignore"):
        expected = np.fmod(x, z) if fmod else np.mod(x, z)
    np.testing.assert_array_equal(y, expected)
    zero = (expected == 0) & (fmod == 0)
    np.testing.assert_array_equal(np.signbit(y[zero]), np.signbit(expected[zero]))
