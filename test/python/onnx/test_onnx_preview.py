"""The domains ai.onnx.preview and ai.onnx.preview.training, compared with ONNX's reference and with derivatives by
hand: evaluated, compiled for the virtual machine, and compiled to machine code."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import relay  # noqa: E402

OPSETS = [("", 21), ("ai.onnx.preview", 1), ("ai.onnx.preview.training", 1)]
draw = np.random.default_rng(4)
node = helper.make_node


def normal(*shape, dtype=np.float32):
    return draw.standard_normal(shape).astype(dtype)


def model_of(nodes, given, outputs, shapes=None):
    dtype = helper.np_dtype_to_tensor_dtype
    ports = [
        helper.make_tensor_value_info(name, dtype(a.dtype), (shapes or {}).get(name, a.shape))
        for name, a in given.items()
    ]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(nodes, "graph", ports, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in OPSETS], ir_version=10)


def check(model, given, expected, tolerance=1e-5):
    module = relay.load(model)
    runs = {"evaluated": relay.evaluate(module, list(given.values()))}
    for executor in ("vm", "aot"):
        runs[executor] = relay.compile(module, executor=executor)(**given)
    for how, got in runs.items():
        got = got if isinstance(got, tuple) else [got]
        for g, e in zip(got, expected, strict=True):
            assert np.asarray(g).dtype == e.dtype, how
            np.testing.assert_allclose(np.asarray(g), e, rtol=tolerance, atol=tolerance, err_msg=how)


def graph_of(nodes, name, dtype=TensorProto.FLOAT):
    ports = [helper.make_tensor_value_info(port, dtype, [None] * 4) for port in (name, f"{name}_out")]
    return helper.make_graph(nodes, name, ports[:1], ports[1:])


# Scores after the key of a row's own number are out of the sum; those that stay are bent.
CAUSAL = [
    node("Constant", [], ["upper"], value_int=1),
    node("Constant", [], ["low"], value_float=float("-inf")),
    node("Constant", [], ["zero"], value_float=0.0),
    node("Tanh", ["s"], ["bent"]),
    node("Shape", ["s"], ["size"]),
    node("Expand", ["low", "size"], ["full"]),
    node("Trilu", ["full", "upper"], ["mask"], upper=1),
    node("Equal", ["mask", "low"], ["out"]),
    node("Where", ["out", "low", "bent"], ["s_out"]),
]
HALF = [node("Constant", [], ["half"], value_float=0.5), node("Mul", ["p", "half"], ["p_out"])]
FLEX = {
    "plain": {},
    "scaled": {"scale": 0.3},
    "scores": {"score_mod": graph_of(CAUSAL, "s")},
    "weights": {"prob_mod": graph_of(HALF, "p")},
    "both": {"scale": 2.0, "score_mod": graph_of(CAUSAL, "s"), "prob_mod": graph_of(HALF, "p")},
}


@pytest.mark.parametrize("shared", [4, 2, 1])
@pytest.mark.parametrize("name", FLEX)
def test_flex_attention(name, shared):
    given = {"Q": normal(2, 4, 5, 8), "K": normal(2, shared, 7, 8), "V": normal(2, shared, 7, 3)}
    nodes = [node("FlexAttention", list(given), ["Y"], domain="ai.onnx.preview", **FLEX[name])]
    symbolic = {"Q": ("b", 4, "l", 8), "K": ("b", shared, "s", 8), "V": ("b", shared, "s", 3)}
    expected = ReferenceEvaluator(model_of(nodes, given, ["Y"])).run(None, given)
    for shapes in (None, symbolic):
        check(model_of(nodes, given, ["Y"], shapes), given, expected)


@pytest.mark.parametrize(
    ("dtype", "precision", "tolerance"),
    [
        (np.float16, None, 2e-3),
        (np.float16, TensorProto.FLOAT16, 1e-2),
        (np.float64, None, 1e-10),
        (np.float32, TensorProto.DOUBLE, 1e-5),
    ],
)
def test_precision_of_flex_attention(dtype, precision, tolerance):
    given = {name: normal(1, 2, 6, 16, dtype=dtype) for name in "QKV"}  # the root of the scale is exact
    told = {} if precision is None else {"softmax_precision": precision}
    model = model_of([node("FlexAttention", list(given), ["Y"], domain="ai.onnx.preview", **told)], given, ["Y"])
    check(model, given, ReferenceEvaluator(model).run(None, given), tolerance)


def test_flex_attention_of_unknown_heads_is_refused():
    given = {name: normal(1, 2, 6, 4) for name in "QKV"}
    nodes = [node("FlexAttention", list(given), ["Y"], domain="ai.onnx.preview")]
    with pytest.raises(relay.CompileError, match=r"(?s)FlexAttention.*heads and their size must be fixed.*--shape"):
        relay.load(model_of(nodes, given, ["Y"], {"Q": (1, "h", 6, 4)}))


OPTIMISERS = {
    "Adagrad": (1, {"decay_factor": 0.1, "epsilon": 1e-3, "norm_coefficient": 0.01}),
    "Adam": (2, {"alpha": 0.8, "beta": 0.9, "norm_coefficient": 0.01, "norm_coefficient_post": 0.02}),
    "Momentum": (1, {"alpha": 0.8, "beta": 0.1, "mode": "nesterov", "norm_coefficient": 0.01}),
}


@pytest.mark.parametrize("step", [0, 3])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers(name, step):
    states, attributes = OPTIMISERS[name]
    given = {"rate": np.float32(0.1).reshape(()), "step": np.array(step)}
    for kind in ["value", "gradient", *(f"state{i}" for i in range(states))]:
        given |= {f"{kind}_a": np.abs(normal(2, 3)), f"{kind}_b": np.abs(normal(4))}
    outputs = [f"{kind}_{tensor}" for kind in ("new", "first", "second")[: states + 1] for tensor in "ab"]
    model = model_of(
        [node(name, list(given), outputs, domain="ai.onnx.preview.training", **attributes)], given, outputs
    )
    check(model, given, ReferenceEvaluator(model).run(None, given))


def test_derivatives():
    """The derivatives of y = tanh(a * b) + a, at the graph's own values and at others."""
    given = {"a": normal(2, 3), "b": normal(2, 3), "other": normal(2, 3)}
    training = "ai.onnx.preview.training"
    nodes = [
        node("Mul", ["a", "b"], ["product"]),
        node("Tanh", ["product"], ["bent"]),
        node("Add", ["bent", "a"], ["y"]),
        node("Gradient", ["a", "b"], ["da", "db"], domain=training, xs=["a", "b"], y="y"),
        node("Gradient", ["other", "b"], ["there"], domain=training, xs=["a"], zs=["b"], y="y"),
    ]
    a, b, other = given.values()

    def slope(x):
        return 1 - np.tanh(x * b) ** 2

    expected = [slope(a) * b + 1, slope(a) * a, slope(other) * b + 1]
    check(model_of(nodes, given, ["da", "db", "there"]), given, expected)
