"""Curves of float16 in which numbers cancel: as exact as their type, compared with float64."""

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
