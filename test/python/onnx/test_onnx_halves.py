"""Operators on float16 are as accurate as their type, compared with float64: functions with cancellation, and norms
whose squares exceed float16."""

import math

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

import relay  # noqa: E402


def exponential(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def error_function(x):
    return np.vectorize(lambda v: 0.5 * v * math.erfc(-v / math.sqrt(2)))(x)


CURVES = {
    "Gelu": error_function,
    "Elu": exponential,
    "Celu": exponential,
    "Selu": lambda x: 1.0507009873554805 * exponential(x, 1.6732632423543772),
    "Softplus": softplus,
    "Mish": lambda x: x * np.tanh(softplus(x)),
    "Swish": lambda x: x / (1 + np.exp(-x)),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Softsign": lambda x: x / (1 + np.abs(x)),
}


@pytest.mark.parametrize("name", CURVES)
def test_curve(name):
    x = np.linspace(-9, 9, 721).astype(np.float16)
    ports = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT16, x.shape) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node(name, ["x"], ["y"])], "graph", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)
    got = np.asarray(relay.compile(model)(x=x)).astype(np.float64)
    want = CURVES[name](x.astype(np.float64))
    unit = np.spacing(np.maximum(np.abs(want), 6.2e-5).astype(np.float16)).astype(np.float64)
    assert np.abs(got - want).max() > 0
    # half a unit of their own, and what float32 loses in 1 + a small number
    assert (np.abs(got - want) <= 0.51 * unit + np.abs(x) * 2**-23).all()


ROWS = np.stack([np.full(64, 300.0), np.linspace(-6000, 6000, 64), np.linspace(-3, 3, 64)]).astype(np.float16)
MEAN = ROWS.astype(np.float64).mean(1, keepdims=True)
SPREAD = np.sqrt(((ROWS - MEAN) ** 2).mean(1, keepdims=True) + 1e-5)
ROOT = np.sqrt((ROWS.astype(np.float64) ** 2).sum(1, keepdims=True))
NORMS = {
    "RMSNormalization": (23, {"stash_type": 1}, ["x", "ones"], ROWS / np.sqrt(ROOT**2 / 64 + 1e-5)),
    "SimplifiedLayerNormalization": (17, {}, ["x", "ones"], ROWS / np.sqrt(ROOT**2 / 64 + 1e-5)),
    "LayerNormalization": (17, {}, ["x", "ones"], (ROWS - MEAN) / SPREAD),
    "MeanVarianceNormalization": (13, {"axes": [1]}, ["x"], (ROWS - MEAN) / np.sqrt(SPREAD**2 - 1e-5 + 1e-9)),
    "LpNormalization": (22, {"axis": 1}, ["x"], ROWS / ROOT),
    "ReduceL2": (18, {"keepdims": 1}, ["x", "axes"], ROOT),
}


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("name", NORMS)
def test_norm(name, opt_level):
    opset, attributes, inputs, want = NORMS[name]
    constants = {"ones": np.ones(64, np.float16), "axes": np.array([1], np.int64)}
    graph = helper.make_graph(
        [helper.make_node(name, inputs, ["y"], **attributes)], "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, ROWS.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT16, want.shape)],
        [onnx.numpy_helper.from_array(constants[one], one) for one in inputs[1:]],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    for got in (relay.compile(model, opt_level=opt_level)(ROWS), relay.evaluate(relay.load(model), [ROWS])):
        got = np.asarray(got).astype(np.float64)
        np.testing.assert_allclose(got, want.astype(np.float16).astype(np.float64), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("opt_level", [0, 3])
def test_scores_of_attention_are_larger_than_its_type(opt_level):
    q = np.full((1, 1, 8, 64), 300, np.float16)
    ports = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT16, q.shape) for n in "qkvy"]
    graph = helper.make_graph([helper.make_node("Attention", ["q", "k", "v"], ["y"])], "graph", ports[:3], ports[3:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    np.testing.assert_array_equal(np.asarray(relay.compile(model, opt_level=opt_level)(q, q, q)), q)
    parts = [relay.var(one, shape=q.shape, dtype="float16") for one in "qkv"]
    attention = relay.module(relay.op.nn.scaled_dot_product_attention(parts))
    for got in (relay.compile(attention, opt_level=opt_level)(q, q, q), relay.evaluate(attention, [q, q, q])):
        np.testing.assert_array_equal(np.asarray(got), q)


def results(nodes, x, constants, outputs=("y",), opset=17, opt_level=3):
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT16, x.shape)],
        [onnx.ValueInfoProto(name=one) for one in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    found = relay.compile(model, opt_level=opt_level)(x)
    return [np.asarray(one).astype(np.float64) for one in (found if len(outputs) > 1 else [found])]


@pytest.mark.parametrize("opt_level", [0, 3])
def test_a_channel_whose_mean_is_far_larger_than_its_spread(opt_level):
    x = (300 + np.linspace(-1, 1, 24).reshape(2, 3, 4)).astype(np.float16)
    one = np.ones(3, np.float16)
    constants = {"g": one, "b": 0 * one, "m": 300 * one, "v": one / 64}
    node = helper.make_node("BatchNormalization", ["x", "g", "b", "m", "v"], ["y"])
    want = (x.astype(np.float64) - 300) / math.sqrt(1 / 64 + 1e-5)
    [got] = results([node], x, constants, opt_level=opt_level)
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


def test_sums_larger_than_the_type():
    x = np.full((2000, 3), 60000, np.float16)
    [mean] = results([helper.make_node("Mean", ["x", "x", "x"], ["y"])], x, {})
    np.testing.assert_array_equal(mean, x)
    scores = np.tile(np.array([0, 100, -100], np.float16), (2000, 1))
    scores[7, 0] = -np.inf
    labels = np.zeros(2000, np.int64)
    labels[7] = 1
    constants = {"t": labels, "w": np.array([1, 1, 1], np.float16)}
    nodes = [
        helper.make_node("SoftmaxCrossEntropyLoss", ["x", "t", "w"], ["mean", "logs"], ignore_index=1),
        helper.make_node("NegativeLogLikelihoodLoss", ["logs", "t", "w"], ["again"], ignore_index=1),
    ]
    loss, logs, again = results(nodes, scores, constants, ("mean", "logs", "again"))
    assert (loss, again) == (100, 100) and (logs[0] == [-100, 0, -200]).all()


def test_powers_and_products_larger_than_the_type():
    x = np.stack([np.linspace(-400, 400, 24), np.full(24, 1e-4)]).reshape(1, 2, 24).astype(np.float16)
    exact = x.astype(np.float64)
    for name, attributes in (("LpPool", {"kernel_shape": [24]}), ("GlobalLpPool", {})):
        for p in (2, 3):
            [got] = results([helper.make_node(name, ["x"], ["y"], p=p, **attributes)], x, {}, opset=18)
            want = (np.abs(exact) ** p).sum(2, keepdims=True) ** (1 / p)
            np.testing.assert_allclose(got, want, rtol=1e-3)
    rows, wide = x[0], exact[0]
    nodes = [helper.make_node("Gemm", ["x", "x", "b"], ["y"], alpha=0.01, transB=1),
             helper.make_node("Einsum", ["x", "x", "x"], ["z"], equation="ij,ij,ij->i")]  # fmt: skip
    product, sums = results(nodes, rows, {"b": np.ones(2, np.float16)}, ("y", "z"))
    np.testing.assert_allclose(product, wide @ wide.T * 0.01 + 1, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(sums, (wide**3).sum(1), atol=0.5)


def test_a_spread_far_smaller_than_one():
    x = (np.linspace(-1, 1, 24).reshape(1, 24) * 1e-4).astype(np.float16)
    [got] = results([helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[1])], x, {})
    exact = x.astype(np.float64)
    np.testing.assert_allclose(got, (exact - exact.mean()) / (exact.std() + 1e-9), rtol=2e-3)
