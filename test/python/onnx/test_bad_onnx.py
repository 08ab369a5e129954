"""Bad ONNX files cause a diagnostic that names the problem, its place and a way out; never a crash."""

import random

import numpy as np
import pytest
from programs import CONV, DENSE, cli, fails, needs_program, onnx_model

relay = pytest.importorskip("relay", exc_type=ImportError)


@pytest.fixture
def onnx_file(tmp_path):
    pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    weight = numpy_helper.from_array(np.ones((4, 8), np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="mm"),
        helper.make_node("Relu", ["a"], ["y"], name="act"),
    ]
    return onnx_model(tmp_path / "good.onnx", nodes, [("x", ["batch", 4])], [("y", ["batch", 8])], [weight])


@needs_program
def test_onnx_that_is_right(onnx_file):
    assert cli("run", onnx_file).returncode == 0
    model = relay.compile(str(onnx_file))
    assert model.outputs[0].name == "y"
    assert (model(np.ones((2, 4), np.float32)) == 4).all()


@needs_program
def test_onnx_cut_anywhere_and_changed_anywhere(onnx_file, tmp_path):
    data = onnx_file.read_bytes()
    bad = tmp_path / "bad.onnx"
    for cut in range(0, len(data), max(1, len(data) // 20)):
        bad.write_bytes(data[:cut])
        try:
            relay.load(str(bad))
        except relay.CompileError as error:
            assert error.diagnostics
    rng = random.Random(0)
    for _ in range(200):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        bad.write_bytes(changed)
        try:
            relay.load(str(bad))
        except relay.CompileError as error:
            assert error.diagnostics
    bad.write_bytes(data[: len(data) // 2])
    done = cli("run", bad)
    assert done.returncode == 1 and "error[R04" in done.stderr


@needs_program
def test_onnx_counts_that_are_huge(tmp_path):
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 40, 1 << 40], raw_data=b"\0\0\0\0")
    path = onnx_model(
        tmp_path / "huge.onnx", [helper.make_node("Add", ["x", "w"], ["y"])], [("x", [1])], [("y", [1])], [tensor]
    )
    done = cli("run", path)
    assert done.returncode == 1 and "error[R04" in done.stderr, done.stderr
    node = helper.make_node("ConstantOfShape", ["s"], ["y"])
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [1 << 40, 1 << 40])
    path = onnx_model(tmp_path / "fill.onnx", [node], [("x", [1])], [("y", None)], [shape])
    done = cli("run", path)
    assert done.returncode == 1 and "error[R0" in done.stderr, done.stderr


@needs_program
def test_onnx_operators_that_are_not_supported_are_all_named(tmp_path):
    pytest.importorskip("onnx")
    from onnx import helper

    nodes = [
        helper.make_node("Foo", ["x"], ["a"], name="first", domain="com.acme"),
        helper.make_node("Relu", ["a"], ["b"], name="middle"),
        helper.make_node("Bar", ["b"], ["y"], name="last", domain="com.acme"),
    ]
    path = onnx_model(tmp_path / "custom.onnx", nodes, [("x", [1, 4])], [("y", [1, 4])])
    text = fails("R0403", "run", path)
    assert "Foo" in text and "Bar" in text


@needs_program
def test_onnx_that_contradicts_itself(tmp_path):
    pytest.importorskip("onnx")
    from onnx import helper

    path = onnx_model(
        tmp_path / "loose.onnx", [helper.make_node("Relu", ["nowhere"], ["y"])], [("x", [1])], [("y", [1])]
    )
    assert "nowhere" in fails("R0404", "run", path)
    nodes = [helper.make_node("MatMul", ["x", "z"], ["y"], name="product")]
    path = onnx_model(tmp_path / "shapes.onnx", nodes, [("x", [2, 3]), ("z", [4, 5])], [("y", [2, 5])])
    done = cli("run", path)
    assert done.returncode == 1 and "product" in done.stderr, done.stderr


def onnx_file_of(path, node, output=(4,), opset=17, dtype=None):
    """y = node(x: (4,))."""
    pytest.importorskip("onnx")
    import onnx
    from onnx import helper

    onnx_model(path, [helper.make_node("Relu", ["x"], ["y"])] if node is None else [node], [("x", [4])], [("y", [4])])
    model = onnx.load(str(path))
    model.opset_import[0].version = opset
    if dtype:
        model.graph.output[0].type.tensor_type.elem_type = dtype
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    for size in output:
        model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = size
    path.write_bytes(model.SerializeToString())
    return path


@needs_program
@pytest.mark.parametrize("attribute, help", [("axes", "did you mean 'axis'?"), ("zzzzzzz", "its attributes are: axis")])
def test_onnx_attributes_that_the_operator_does_not_have(tmp_path, attribute, help):
    onnx = pytest.importorskip("onnx")
    node = onnx.helper.make_node("Softmax", ["x"], ["y"], name="last", **{attribute: 0})
    text = fails("R0404", "run", onnx_file_of(tmp_path / "a.onnx", node))
    assert f"Softmax has no attribute '{attribute}'" in text and help in text and "'last'" in text, text
    node = onnx.helper.make_node("Softmax", ["x"], ["y"], axis=0)
    node.attribute.append(node.attribute[0])
    assert "'axis' is given twice" in fails("R0404", "run", onnx_file_of(tmp_path / "b.onnx", node))


@needs_program
@pytest.mark.parametrize("opset", [0, -1])
def test_onnx_opsets_that_do_not_exist(tmp_path, opset):
    text = fails("R0404", "run", onnx_file_of(tmp_path / "m.onnx", None, opset=opset))
    assert f"opset {opset} of ONNX's operators" in text, text


@needs_program
def test_onnx_outputs_that_are_not_what_is_declared(tmp_path):
    path = tmp_path / "m.onnx"
    # Exporters are often wrong about the shapes of outputs.
    done = cli("run", onnx_file_of(path, None, output=(5,)))
    assert done.returncode == 0 and "warning[R0404]: output 'y' is declared of shape (5)" in done.stderr, done.stderr
    assert "Tensor[(4), float32]" in done.stderr, done.stderr
    done = cli("check", onnx_file_of(path, None, output=(4, 1)))
    assert done.returncode == 0 and "of shape (4, 1)" in done.stderr, done.stderr
    assert "elements of int64" in fails("R0404", "run", onnx_file_of(path, None, dtype=7))
    assert cli("run", onnx_file_of(path, None)).returncode == 0
    # A size that is given need not be the one that the model was exported for.
    assert cli("run", path, "--shape", "x=6").returncode == 0


def test_sizes_below_zero(onnx_file):
    model = relay.load(onnx_file, shapes={"x": (-1, 4)})  # -1: as the model has it
    assert str(relay.load(onnx_file)) == str(model)
    with pytest.raises(relay.CompileError, match="a negative size"):
        relay.load(onnx_file, shapes={"x": (-2, 4)})
    with pytest.raises(relay.CompileError, match="a negative size"):
        relay.compile(relay.parse(DENSE), shapes={"x": (-2, 4)})


def test_conv_text_still_compiles():
    """The program the other tests rely on."""
    assert relay.compile(relay.parse(CONV)).outputs
