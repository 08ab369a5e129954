"""Networks that ONNX Runtime's tool quantises (QDQ): Relay computes them on integers, and returns ONNX Runtime's."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from targets import rules_for

import relay

RNG = np.random.default_rng(4)


def exact_session(model):
    """ONNX Runtime without the 16-bit sums of processors that have no dot products of bytes, which saturate."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Graph:
    """A chain of nodes whose tensors have scales and zero points, as the tool writes them."""

    def __init__(self, activations, shape):
        self.activations, self.nodes, self.constants, self.count = activations, [], [], 0
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        self.value = self.quantised("x", 0.02)

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def constant(self, value):
        name = self.name()
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op, *inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def quantised(self, value, scale):
        """`value`, quantised and dequantised again."""
        zero = np.array({"uint8": 120, "int8": -8, "int16": -300}[self.activations], self.activations)
        scale = scale / 256 if self.activations == "int16" else scale
        pair = self.constant(np.float32(scale)), self.constant(zero)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", value, *pair), *pair)

    def weight(self, shape, axis=0):
        scale = RNG.uniform(0.004, 0.01, shape[axis]).astype(np.float32)
        stored = [
            self.constant(RNG.integers(-127, 128, shape).astype(np.int8)),
            self.constant(scale),
            self.constant(np.zeros(shape[axis], np.int8)),
        ]
        return self.node("DequantizeLinear", *stored, axis=axis), scale

    def bias(self, scale):
        stored = [
            self.constant(RNG.integers(-4000, 4000, scale.shape).astype(np.int32)),
            self.constant((scale * 0.02).astype(np.float32)),
            self.constant(np.zeros(scale.shape, np.int32)),
        ]
        return self.node("DequantizeLinear", *stored, axis=0)

    def conv(self, shape, bias=True, **attributes):
        w, scale = self.weight(shape)
        return self.node("Conv", self.value, w, *([self.bias(scale)] if bias else []), **attributes)

    def model(self):
        result = onnx.ValueInfoProto()
        result.name = self.value
        graph = helper.make_graph(self.nodes, "qdq", self.inputs, [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model)


def first(g):
    return g.conv((8, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])


def residual(g):
    main = g.quantised(g.conv((16, 16, 3, 3), pads=[1, 1, 1, 1]), 0.02)
    return g.node("Relu", g.node("Add", main, g.value))


CASES = {
    "first convolution": ((1, 3, 17, 17), first),
    "convolution and relu": ((1, 16, 9, 9), lambda g: g.node("Relu", g.conv((8, 16, 3, 3), pads=[1, 1, 1, 1]))),
    "pointwise, no bias": ((1, 20, 7, 7), lambda g: g.conv((24, 20, 1, 1), bias=False)),
    "depthwise": ((1, 16, 9, 9), lambda g: g.conv((16, 1, 3, 3), group=16, pads=[1, 1, 1, 1])),
    "residual": ((1, 16, 9, 9), residual),
    "max pool": ((1, 16, 9, 9), lambda g: g.node("MaxPool", g.value, kernel_shape=[3, 3], pads=[1, 1, 1, 1])),
    "average": ((1, 16, 7, 7), lambda g: g.node("GlobalAveragePool", g.value)),
    "product": ((2, 5, 24), lambda g: g.node("MatMul", g.value, g.weight((24, 40), axis=1)[0])),
    "layer": ((5, 24), lambda g: g.node("Gemm", g.value, g.weight((40, 24))[0], transB=1)),
}


@pytest.mark.parametrize("activations", ["uint8", "int8", "int16"])
@pytest.mark.parametrize("name", CASES)
def test_integers_are_those_of_onnx_runtime(name, activations):
    shape, build = CASES[name]
    g = Graph(activations, shape)
    g.value = g.quantised(build(g), 0.03)
    model = g.model()
    x = RNG.standard_normal(shape).astype(np.float32)
    session = exact_session(model)
    (expected,) = session.run(None, {"x": x})
    got = relay.compile(model)(x)
    wide = activations == "int16"
    steps = np.rint(np.abs(got - expected) / (0.03 / 256 if wide else 0.03))
    # A float that is nearly a half is rounded to either side. ONNX Runtime adds products of int16 in floats.
    assert expected.std() > 0.1 and steps.max() <= 1
    assert (steps > 0).sum() <= 1 + 0.05 * steps.size if wide else (steps > 0).mean() < 0.01
    # Kernels and the evaluator agree bit for bit on the same program.
    integers = relay.transform.FakeQuantizationToInteger(exact=True)(relay.load(model))
    np.testing.assert_array_equal(got, relay.evaluate(integers, [x]))


@pytest.mark.parametrize("name", ["first convolution", "residual", "product"])
def test_sums_take_dot_products(name, tmp_path):
    shape, build = CASES[name]
    g = Graph("uint8", shape)
    g.value = g.quantised(build(g), 0.03)
    assert "4 products at once" in rules_for("zen4", relay.load(g.model()), tmp_path, strict=True)


@pytest.mark.parametrize("weights", ["int8", "uint8"])
@pytest.mark.parametrize("zeros", [(), (1,)])
def test_products_with_a_zero_point_of_the_run(weights, zeros, tmp_path):
    """MatMulInteger after DynamicQuantizeLinear, as quantize_dynamic writes it."""
    node, n = helper.make_node, 40
    limits = np.iinfo(weights)
    w = RNG.integers(limits.min, limits.max, (24, n), endpoint=True).astype(weights)
    zero = np.full(zeros, 0 if weights == "int8" else 130, weights)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        node("MatMulInteger", ["q", "w", "zero", "w_zero"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "dynamic",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 5, 24])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [2, 5, n])],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(zero, "w_zero")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = RNG.standard_normal((2, 5, 24)).astype(np.float32)
    session = exact_session(model)
    np.testing.assert_array_equal(relay.compile(model)(x), session.run(None, {"x": x})[0])
    if weights == "int8":
        assert "4 products at once" in rules_for("zen4", relay.load(model), tmp_path, strict=True)


def whole(dtype, *shape):
    """Integers of the whole range of a type."""
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def model_of(nodes, x_shape, result, constants, domain=None):
    """A model of the nodes from float data x to y."""
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    graph = helper.make_graph(
        nodes,
        "integers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x_shape)],
        [helper.make_tensor_value_info("y", result, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def both(model, shape):
    """Relay's results and ONNX Runtime's."""
    x = RNG.standard_normal(shape).astype(np.float32)
    (expected,) = exact_session(model).run(None, {"x": x})
    return relay.compile(model)(x), expected


SCALE = np.float32(0.02)


@pytest.mark.parametrize("target", ["zen3", "zen4"])
@pytest.mark.parametrize("weights", ["int8", "uint8"])
@pytest.mark.parametrize("zeros", ["none", "one", "channels"])
@pytest.mark.parametrize("pads", [0, 1])
def test_integer_convolutions(weights, zeros, pads, target, tmp_path):
    """ConvInteger after DynamicQuantizeLinear: zero points of the data are known at run time, and surround it."""
    w = whole(weights, 24, 8, 3, 3)
    constants = {"w": w}
    if zeros != "none":
        constants["w_zero"] = whole(weights, *([] if zeros == "one" else [24]))
        if zeros == "channels" and weights == "int8":
            constants["w_zero"] = np.zeros(24, np.int8)  # ONNX Runtime takes no others
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("ConvInteger", ["q", "w", "zero", *(["w_zero"] if zeros != "none" else [])], ["y"],
                         pads=[pads] * 4),
    ]  # fmt: skip
    model = model_of(nodes, [1, 8, 9, 10], TensorProto.INT32, constants)
    try:
        got, expected = both(model, (1, 8, 9, 10))
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        pytest.skip(f"ONNX Runtime refuses it: {error}")
    np.testing.assert_array_equal(got, expected)
    rules = rules_for(target, relay.load(model), tmp_path, strict=True)
    assert "products at once" in rules, rules


def test_operators_on_integers_are_those_of_onnx_runtime(tmp_path):
    """Bit for bit: QLinearConv, QLinearMatMul, MatMulIntegerToFloat. All multiply bytes as they are."""
    node, common = helper.make_node, {"s": SCALE, "z": np.uint8(120), "t": np.float32(0.5)}
    quantise = node("QuantizeLinear", ["x", "s", "z"], ["q"])
    w, scales = whole("int8", 24, 8, 3, 3), RNG.uniform(0.004, 0.01, 24).astype(np.float32)
    cases = [
        (
            [quantise, node("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "t", "z", "b"], ["y"], pads=[1] * 4)],
            (1, 8, 9, 10),
            {"w": w, "ws": scales, "wz": np.zeros(24, np.int8), "b": RNG.integers(-999, 999, 24).astype(np.int32)},
            None,
        ),
        (
            [quantise, node("QLinearMatMul", ["q", "s", "z", "w", "ws", "wz", "t", "z"], ["y"])],
            (2, 5, 24),
            {"w": whole("int8", 24, 40), "ws": np.float32(0.01), "wz": np.int8(0)},
            None,
        ),
        (
            [quantise, node("QLinearMatMul", ["q", "s", "z", "w", "ws", "wz", "t", "z"], ["y"])],
            (5, 24),
            {"w": whole("uint8", 24, 40), "ws": np.float32(0.01), "wz": np.uint8(128)},
            None,
        ),
        (
            [
                node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
                node("MatMulIntegerToFloat", ["q", "w", "qs", "ws", "qz", "wz", "b"], ["y"], domain="com.microsoft"),
            ],
            (5, 24),
            {
                "w": whole("int8", 24, 40),
                "ws": np.float32(0.01),
                "wz": np.int8(0),
                "b": RNG.standard_normal(40).astype(np.float32),
            },
            "com.microsoft",
        ),
    ]
    for nodes, shape, constants, domain in cases:
        kind = TensorProto.FLOAT if domain else TensorProto.UINT8
        model = model_of(nodes, list(shape), kind, constants | common, domain)
        got, expected = both(model, shape)
        if domain:  # the bias is added in another order
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6 * np.abs(expected).max())
        else:
            np.testing.assert_array_equal(got, expected)
            assert expected.std() > 3
        for target in ("zen3", "zen4"):
            rules = rules_for(target, relay.load(model), tmp_path, strict=True)
            assert "products at once" in rules, (nodes[-1].op_type, target, rules)


@pytest.mark.parametrize("scale", [0, np.nan, np.inf])
def test_scales_that_represent_nothing(scale):
    """A diagnostic with the node; a scale of 0 is only wrong where numbers are divided by it."""
    for op, dtype in (("QuantizeLinear", np.float32), ("DequantizeLinear", np.uint8)):
        if (op, scale) == ("DequantizeLinear", 0):
            continue
        nodes = [helper.make_node(op, ["v", "s", "z"], ["y"], name="bad scale")]
        constants = {"v": np.ones((2, 3), dtype), "s": np.float32(scale), "z": np.uint8(0)}
        kind = TensorProto.UINT8 if op == "QuantizeLinear" else TensorProto.FLOAT
        with pytest.raises(
            relay.CompileError, match=f"(?s)a scale is {scale}, but must be a finite.*bad scale"
        ) as error:
            relay.load(model_of(nodes, [1], kind, constants))
        assert "help:" in str(error.value)
