"""relay.frontend.from_onnx: accepted arguments, and messages about wrong ones."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, parser  # noqa: E402

import relay  # noqa: E402
from relay.frontend import from_onnx  # noqa: E402


def model_of(text, opset=17):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> graph {text}')


RELU = "(float[n,m] x) => (float[n,m] y) { y = Relu(x) }"


def input_type(shape, **more):
    module, _ = from_onnx(model_of(RELU), shape, **more)
    return str(module["main"].params[0].type_annotation)


@pytest.mark.parametrize(
    "sizes",
    [
        (2, 3),
        [np.int64(2), np.int32(3)],
        np.array([2, 3]),
        np.array([2, 3], np.uint8),
        (np.array(2), 3),
    ],
)
def test_sizes_are_integers_of_any_type(sizes):
    assert input_type({"x": sizes}) == "Tensor[(2, 3), float32]"


def test_sizes_that_stay():
    assert input_type({"x": (-1, np.int64(3))}) == "Tensor[(n, 3), float32]"
    assert input_type({"x": (relay.Any(), 3)}) == "Tensor[(n, 3), float32]"


@pytest.mark.parametrize("size", [2.5, "ab", True, np.bool_(True), None, np.float32(2), (2,)])
def test_a_size_that_is_no_integer_is_refused(size):
    with pytest.raises(relay.CompileError, match="(?s)R0504.*input 'x'.*not an integer.*help: give integers"):
        from_onnx(model_of(RELU), {"x": (size, 3)})


@pytest.mark.parametrize("shape", [3, "23", None])
def test_a_shape_that_is_no_list_is_refused(shape):
    with pytest.raises(relay.CompileError, match="(?s)R0504.*input 'x'.*not a list of sizes"):
        from_onnx(model_of(RELU), {"x": shape})


@pytest.mark.parametrize("opset", [0, -1, 99, 2**40, "a", 17.0, True])
def test_a_wrong_opset_is_the_arguments_fault(opset):
    with pytest.raises(relay.CompileError, match="(?s)R0504.*opset.*help: give") as error:
        from_onnx(model_of(RELU), opset=opset)
    assert "export the model" not in str(error.value)


def test_an_opset_of_any_integer_type():
    assert from_onnx(model_of(RELU), opset=np.int64(13))[0]["main"] is not None


def test_bytes_and_files(tmp_path):
    model = model_of(RELU)
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    wanted = str(from_onnx(model)[0])
    with path.open("rb") as file:
        for given in (model.SerializeToString(), bytearray(model.SerializeToString()), path, str(path), file):
            assert str(from_onnx(given)[0]) == wanted
    with pytest.raises(relay.CompileError, match="is given as a model"):
        from_onnx(3)
    with pytest.raises(relay.CompileError, match="nowhere.onnx"):
        from_onnx(tmp_path / "nowhere.onnx")


def test_a_program_of_pytorch_is_refused():
    torch = pytest.importorskip("torch")
    exported = torch.export.export(torch.nn.ReLU(), (torch.zeros(2),))
    with pytest.raises(relay.CompileError, match="(?s)is not an ONNX model.*relay.load"):
        from_onnx(exported)


def test_messages_name_what_was_given(tmp_path):
    model = model_of("(float[2] x) => (float[2] y) { y = Relu(nowhere) }")
    for given, name in ((model, "<onnx.ModelProto>"), (model.SerializeToString(), "<bytes>")):
        with pytest.raises(relay.CompileError, match=name) as error:
            from_onnx(given)
        assert "/tmp" not in str(error.value) and "model.onnx" not in str(error.value)


def sparse_model(indices, dims):
    values = np.array([1.5, -2.0, 4.0], np.float32)
    weight = helper.make_sparse_tensor(
        onnx.numpy_helper.from_array(values, "w"), onnx.numpy_helper.from_array(np.array(indices), "places"), dims
    )
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")
    x.CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, dims))
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], sparse_initializer=[weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("indices", [[1, 3, 5], [[0, 1], [1, 0], [1, 2]]])
def test_sparse_weights_are_parameters(indices):
    module, params = from_onnx(sparse_model(indices, [2, 3]), freeze_params=False)
    wanted = np.array([[0, 1.5, 0], [-2, 0, 4]], np.float32)
    np.testing.assert_array_equal(params["w"], wanted)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(relay.compile(module)(x, params["w"]), x + wanted)
