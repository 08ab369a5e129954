"""Products with weights of few bits (MatMulNBits of com.microsoft) whose inputs are rounded, beside NumPy.
test_onnx_microsoft.py compares them with ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

import relay  # noqa: E402


def product(folder, inputs, **attributes):
    """The result of a compiled node, whose model is one.onnx."""
    x, *weights = inputs
    graph = helper.make_graph(
        [helper.make_node("MatMulNBits", ["x", "codes", "scales"], ["y"], domain="com.microsoft", **attributes)],
        "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(w, name) for w, name in zip(weights, ("codes", "scales"), strict=True)],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), folder / "one.onnx")
    return np.asarray(relay.compile(str(folder / "one.onnx"))(x=x))


def test_rounded_inputs_are_those_of_the_formula(tmp_path):
    """accuracy_level 4: the evaluator and all executors compute the rounding as it is written here. Level 0 keeps the
    inputs, and so do weights of 8 bits."""
    draw = np.random.default_rng(0)
    x, scales = draw.normal(size=(2, 128)).astype(np.float32), draw.normal(size=(40, 4)).astype(np.float32) / 9
    codes, whole = (draw.integers(0, 256, (40, 4, size)).astype(np.uint8) for size in (16, 32))
    blocks = x.reshape(2, 4, 32)
    steps = np.abs(blocks).max(-1, keepdims=True) / np.float32(127)
    rounded = (np.rint(blocks / steps) * steps.astype(np.float64)).reshape(2, 128)
    numbers = np.stack([codes & 15, codes >> 4], -1).reshape(40, 128).astype(np.float64) - 8
    weight = numbers * np.repeat(scales.astype(np.float64), 32, 1)
    shape = {"K": 128, "N": 40, "bits": 4, "block_size": 32}
    got = product(tmp_path, [x, codes, scales], accuracy_level=4, **shape)
    np.testing.assert_allclose(got, rounded @ weight.T, rtol=1e-5, atol=1e-5)
    module = relay.frontend.from_onnx(str(tmp_path / "one.onnx"))[0]
    for kind in ("graph", "vm", "debug"):
        result = np.asarray(relay.create_executor(kind, module).evaluate()(x))
        np.testing.assert_allclose(result, got, rtol=1e-5, atol=1e-5, err_msg=kind)
    exact = product(tmp_path, [x, codes, scales], **shape)
    np.testing.assert_allclose(exact, x @ weight.T, rtol=1e-5, atol=1e-5)
    assert 0.002 < np.sqrt(np.mean((got - exact) ** 2) / np.mean(exact**2)) < 0.012
    wide = product(tmp_path, [x, whole, scales], accuracy_level=4, **shape | {"bits": 8})
    assert "round(" not in relay.frontend.from_onnx(str(tmp_path / "one.onnx"))[0].astext() and wide.shape == (2, 40)
