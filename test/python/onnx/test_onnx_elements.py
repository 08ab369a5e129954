"""Every element type of ONNX as an input and as a constant, in every storage form. Types that tensors of Relay cannot
have are refused by name."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import relay  # noqa: E402

WAY_OUT = {
    "COMPLEX64": "real and imaginary",
    "COMPLEX128": "real and imaginary",
}
REFUSED = {"UNDEFINED", *WAY_OUT}
ALL = [name for name, _ in TensorProto.DataType.items()]
TAKEN = [name for name in ALL if name not in REFUSED]


def values(name, count=7):
    """Small whole numbers, which every type has as far as it goes."""
    if name == "STRING":
        return np.array([f"word {i}" for i in range(count)], object)
    numbers = np.array([0, 1, 2, 3, 1, 0, 2][:count])
    return numbers.astype(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(name)))


def constant(name, form, folder):
    kind, value = TensorProto.DataType.Value(name), values(name)
    if name == "STRING":
        return helper.make_tensor("c", kind, value.shape, [text.encode() for text in value])
    if form == "typed":
        return helper.make_tensor("c", kind, value.shape, value)
    raw = numpy_helper.from_array(value, "c")
    if form == "beside":
        (folder / "c.bin").write_bytes(raw.raw_data)
        raw.ClearField("raw_data")
        raw.data_location = TensorProto.EXTERNAL
        raw.external_data.add(key="location", value="c.bin")
    return raw


def model_of(name, constants=()):
    """x joined with a constant: moved, and not computed with."""
    kind = TensorProto.DataType.Value(name)
    inputs = [helper.make_tensor_value_info("x", kind, [3])]
    outputs = [helper.make_tensor_value_info("y", kind, None)]
    nodes = [helper.make_node("Concat", ["x", "c"], ["z"], axis=0), helper.make_node("Flatten", ["z"], ["y"], axis=0)]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


@pytest.mark.parametrize("form", ["raw", "typed", "beside"])
@pytest.mark.parametrize("name", TAKEN)
def test_inputs_and_constants(name, form, tmp_path):
    onnx.save(model_of(name, [constant(name, form, tmp_path)]), tmp_path / "model.onnx")
    x = values(name, 3)
    wanted = np.concatenate([x, values(name)]).reshape(1, -1)
    got = relay.compile(str(tmp_path / "model.onnx"))(x)
    assert got.dtype == wanted.dtype
    if name == "STRING":
        assert got.tolist() == wanted.tolist()
    else:
        assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", WAY_OUT)
def test_others_are_refused_by_name(name):
    with pytest.raises(relay.CompileError) as error:
        relay.load(model_of(name, [numpy_helper.from_array(values(name), "c")]))
    said = str(error.value)
    assert said.count(f"{name.lower()}") >= 2 and "'x'" in said and "'c'" in said, said
    assert said.count("help:") >= 2 and WAY_OUT[name] in said, said
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DataType.Value(name))
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("y", 1, [3])]
    graph = helper.make_graph([cast], "graph", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(relay.CompileError, match=f"(?s)converts to type {name.lower()}.*help: .*{WAY_OUT[name]}"):
        relay.load(model)


@pytest.mark.parametrize("name", ["FLOAT4E2M1", "FLOAT6E3M2", "FLOAT8E4M3FN", "INT4", "UINT2"])
def test_quantised_and_back(name):
    """QuantizeLinear and DequantizeLinear of types that elements are only stored in, as ONNX's reference has them."""
    from onnx.reference import ReferenceEvaluator

    kind = TensorProto.DataType.Value(name)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=kind, axis=0),
        helper.make_node("DequantizeLinear", ["q", "s"], ["y"], axis=0),
        helper.make_node("Cast", ["x"], ["k"], to=kind),
        helper.make_node("Cast", ["k"], ["z"], to=TensorProto.FLOAT),
    ]
    scale = numpy_helper.from_array(np.array([0.5, 0.25, 2], np.float32), "s")
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3, 8]) for n in "xyz"]
    graph = helper.make_graph(nodes, "graph", ports[:1], ports[1:], [scale])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    x = np.random.default_rng(6).uniform(-9, 9, (3, 8)).astype(np.float32)
    if name.startswith(("INT", "UINT")):
        x = np.clip(x, 0, 1)  # beyond the range ONNX's Cast of floats says nothing
    for got, wanted in zip(relay.compile(model)(x), ReferenceEvaluator(model).run(None, {"x": x}), strict=True):
        assert np.array_equal(got, wanted), name


@pytest.mark.parametrize("name", ["FLOAT4E2M1", "FLOAT6E2M3", "INT4", "UINT2"])
def test_too_few_bytes(name):
    tensor = numpy_helper.from_array(values(name), "c")
    tensor.raw_data = tensor.raw_data[:-1]
    with pytest.raises(relay.CompileError, match=f"bytes for 7 elements of {name.lower()}"):
        relay.load(model_of(name, [tensor]))
