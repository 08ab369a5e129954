"""Operators on quantised tensors compared with ONNX Runtime where both have the same definition: exact integer sums,
and rounded results. Also random operators in programs."""

import numpy as np
import pytest
import threefry

import relay

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402


def by_onnxruntime(kind, inputs, out, **attributes):
    """The value of one ONNX operator; inputs by name, `out` its element type."""

    def value(name, array):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    node = helper.make_node(kind, list(inputs), ["out"], **attributes)
    result = helper.make_tensor_value_info("out", helper.np_dtype_to_tensor_dtype(np.dtype(out)), None)
    graph = helper.make_graph([node], "g", [value(n, a) for n, a in inputs.items()], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def run(function, **inputs):
    """function(expressions), compiled and run."""
    variables = {n: relay.var(n, shape=a.shape, dtype=str(a.dtype)) for n, a in inputs.items()}
    body = function(**variables)
    module = relay.IRModule({"main": relay.Function(list(variables.values()), body)})
    result = relay.compile(module)(*inputs.values())
    return [np.asarray(r) for r in result] if isinstance(result, list | tuple) else np.asarray(result)


random = np.random.default_rng(1)


@pytest.mark.parametrize(("layout", "groups"), [((1, 4, 9, 8), 1), ((2, 4, 9, 8), 4)])
def test_conv2d_is_conv_integer(layout, groups):
    data = random.integers(0, 256, layout).astype("uint8")
    weight = random.integers(0, 256, (8, 4 // groups, 3, 3)).astype("uint8")
    zeros = np.array(121, "uint8"), np.array(130, "uint8")
    want = by_onnxruntime(
        "ConvInteger",
        {"x": data, "w": weight, "xz": zeros[0], "wz": zeros[1]},
        "int32",
        pads=[1, 1, 1, 1],
        strides=[2, 2],
        group=groups,
    )
    scale = relay.const(0.5, "float32")

    def conv(x, w):
        points = [relay.const(int(z), "int32") for z in zeros]
        return relay.op.qnn.conv2d(
            x, w, scale, points[0], scale, points[1], padding=[1, 1], strides=[2, 2], groups=groups
        )

    np.testing.assert_array_equal(run(conv, x=data, w=weight), want)


def test_dense_is_mat_mul_integer():
    # Without VNNI, ONNX Runtime saturates sums of two products beyond 16 bits: 255 * 64 twice are within.
    data, weight = random.integers(0, 256, (5, 33)).astype("uint8"), random.integers(-64, 64, (7, 33)).astype("int8")
    points = np.array(100, "uint8"), random.integers(-9, 9, 7).astype("int8")
    inputs = {"x": data, "w": np.ascontiguousarray(weight.T), "xz": points[0], "wz": points[1]}
    want = by_onnxruntime("MatMulInteger", inputs, "int32")
    scale = relay.const(0.5, "float32")

    def dense(x, w):
        first, second = relay.const(100, "int32"), relay.const(points[1].astype("int32"))
        return relay.op.qnn.dense(x, w, scale, first, relay.const(np.full(7, 0.5, "float32")), second)

    np.testing.assert_array_equal(run(dense, x=data, w=weight), want)


def test_numbers_of_integers_and_back():
    data = random.normal(0, 3, (4, 50)).astype("float32")
    scale, zero = np.float32(0.05), 12  # an even zero point: halves are rounded before or after it is added
    inputs = {"x": data, "s": np.array(scale), "z": np.array(zero, "uint8")}
    want = by_onnxruntime("QuantizeLinear", inputs, "uint8")
    parameters = [relay.const(scale, "float32"), relay.const(zero, "int32")]
    got = run(lambda x: relay.op.qnn.quantize(x, *parameters, out_dtype="uint8"), x=data)
    np.testing.assert_array_equal(got, want)
    back = by_onnxruntime("DequantizeLinear", {**inputs, "x": want}, "float32")
    np.testing.assert_array_equal(run(lambda x: relay.op.qnn.dequantize(x, *parameters), x=want), back)


def test_drawing():
    key = relay.op.random.threefry_key(7)
    behind, first = relay.op.random.uniform(key, (3, 5), low=-1.0, high=3.0)
    left, right = relay.op.random.threefry_split(behind)
    outputs = [first, relay.op.random.normal(left, (64,))[1], relay.op.random.normal(right, (64,))[1]]
    got, one, other = (
        np.asarray(x) for x in relay.compile(relay.IRModule({"main": relay.Function([], relay.Tuple(outputs))}))()
    )
    state, want = threefry.uniform([0, 0, 0, 7, 0, 0, 0, 0, 1 << 63, 0], -1, 3, (3, 5), "float32")
    np.testing.assert_array_equal(got, want.astype("float32"))
    assert not np.allclose(one, other)
    sides = threefry.split(state)
    np.testing.assert_allclose(one, threefry.normal(sides[0], 0, 1, (64,), "float32")[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other, threefry.normal(sides[1], 0, 1, (64,), "float32")[1], rtol=1e-5, atol=1e-6)


PARAMETERS = {
    "constants": ("", "0.5f", "1", "0.25f", "-2"),
    "variables": (", %s: float32, %z: int32, %t: float32, %y: int32", "%s", "%z", "%t", "%y"),
    "one of them": (", %t: float32", "sqrt(0.25f)", "abs(1)", "%t", "negative(2)"),
}
PRODUCTS = {
    "qnn.conv2d": ("(1, 3, 6, 7)", "(4, 3, 3, 3)", "padding=[1, 1]"),
    "qnn.conv2d_transpose": ("(1, 3, 4, 5)", "(3, 4, 3, 3)", "strides=[2, 2]"),
    "qnn.dense": ("(2, 5)", "(4, 5)", "units=4"),
    "qnn.batch_matmul": ("(2, 3, 5)", "(2, 5, 4)", 'out_dtype="int32"'),
    "qnn.contrib_dense_pack": ("(2, 4)", "(2, 4, 3)", 'weight_layout="NC3n"'),
}


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_in_the_order_of_text_that_tvm_printed(name, parameters):
    """Both zero points, then both scales; text in the operator's own order is read unchanged."""
    data, weight, attrs = PRODUCTS[name]
    more, s, z, t, y = PARAMETERS[parameters]
    head = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{data}, int8], %w: Tensor[{weight}, int8]{more}) '
    ours, theirs = (
        relay.parse(head + f"{{ {name}(%x, %w, {order}, {attrs}) }}")
        for order in (f"{s}, {z}, {t}, {y}", f"{z}, {y}, {s}, {t}")
    )
    assert ours == theirs
    relay.transform.InferType()(theirs)
    assert relay.parse(theirs.astext()) == ours


def test_a_zero_point_in_the_place_of_a_scale():
    text = 'fn (%x: Tensor[(2, 3), int8], %w: Tensor[(4, 3), int8], %f: float32) { let %z = cast(%f, dtype="int32"); '
    text += "let %s = add(%f, %f); qnn.dense(%x, %w, %z, %z, %s, %s) }"
    with pytest.raises(relay.CompileError, match="(?s)input_scale must be a float.*comes before its zero point"):
        relay.compile(relay.module(relay.parse_expr(text)))
