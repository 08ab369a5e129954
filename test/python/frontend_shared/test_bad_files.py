"""Files that a user mixes up or loses: each is answered with its place and a way out, and with everything at once."""

import json

import numpy as np
import one_network
import pytest
from one_network import coreml_files, keras_files
from paddle_writer import parameters, program
from protobuf_writer import caffemodel, net_def
from relay.frontend.shared import missing

import relay

BY_NAME = ["net.cfg", "net.prototxt", "net-symbol.json", "net.pdmodel", "net.mlmodel"]


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """The folder with one network in the files of every format."""
    folder = tmp_path_factory.mktemp("formats")
    one_network.write(folder)
    return folder


def refused(path, **how):
    with pytest.raises(relay.CompileError) as error:
        relay.load(path, **how)
    return str(error.value)


@pytest.mark.parametrize("name", BY_NAME)
def test_content_counts_more_than_the_name(network, tmp_path, name):
    path = tmp_path / name
    path.write_bytes((network / "net.tflite").read_bytes())
    assert relay.load(path)["main"].params[0].name_hint == "x"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    assert f"{name} is not a model that can be read: it is an image" in refused(path)


@pytest.mark.parametrize("name", ["net.caffemodel", "net-0000.params", "net.weights", "net.pdiparams", "init_net.pb"])
def test_pointers_of_git_lfs(network, tmp_path, name):
    first = {"net.caffemodel": "net.prototxt", "net-0000.params": "net-symbol.json", "net.weights": "net.cfg",
             "net.pdiparams": "net.pdmodel", "init_net.pb": "predict_net.pb"}[name]  # fmt: skip
    (tmp_path / first).write_bytes((network / first).read_bytes())
    (tmp_path / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    said = refused(tmp_path / first)
    assert f"{name} is a pointer of Git LFS" in said and "git lfs pull" in said


KERAS = keras_files.sequential(
    keras_files.input_layer("x", 4), keras_files.dense("hidden", 3), keras_files.dense("y", 2)
)


def test_all_weights_that_a_keras_file_lacks():
    said = refused(keras_files.archive(KERAS, {}))
    assert "the weight `kernel` is not in the file (2 times), first in `hidden`" in said
    wrong = {"layers/dense": [np.ones((5, 3)), np.ones(3)], "layers/dense_1": [np.ones((3, 7)), np.ones(2)]}
    said = refused(keras_files.archive(KERAS, wrong))
    assert "has the shape (5, 3), not (4, 3), first in `hidden`" in said
    assert "has the shape (3, 7), not (3, 2), first in `y`" in said


def test_stand_ins_are_bounded(monkeypatch):
    monkeypatch.setattr(missing, "MOST_ZEROS", 13)  # the matrix of `hidden` has 12 elements, and its bias 3
    said = refused(keras_files.archive(KERAS, {}))
    assert "`kernel` is not in the file, first in `hidden`" in said and "first in `y`" not in said


def test_all_weights_of_another_caffe_network(tmp_path):
    layer = (
        'layer {{ name: "{1}" type: "InnerProduct" bottom: "{0}" top: "{1}" inner_product_param {{ num_output: 3 }} }}'
    )
    text = 'input: "x" input_shape { dim: 1 dim: 4 }\n' + layer.format("x", "a") + layer.format("a", "b")
    (tmp_path / "net.prototxt").write_text(text)
    held = {"a": [np.ones((3, 5)), np.ones(3)], "b": [np.ones((3, 7)), np.ones(3)]}
    (tmp_path / "net.caffemodel").write_bytes(caffemodel(held))
    said = refused(tmp_path / "net.prototxt")
    assert "(3, 5) in the weights, not (3, 4), first in `InnerProduct 'a'`" in said
    assert "(3, 7) in the weights, not (3, 3), first in `InnerProduct 'b'`" in said


def dense(name, source, *weights):
    return coreml_files.layer("innerProduct", name, source, name, [(1, 4 if source == "x" else 3), (2, 3), *weights])


def test_all_weights_that_a_core_ml_file_lacks():
    content = coreml_files.network(dense("a", "x"), dense("b", "a", (20, coreml_files.weights(np.ones(7)))))
    made = coreml_files.model(500, content, [coreml_files.array("x", 1, 4)], [coreml_files.array("b")])
    with pytest.raises(relay.CompileError) as error:
        relay.frontend.from_coreml(made)
    assert "`weights` is missing, first in `innerProduct 'a'`" in str(error.value)
    assert "`weights` has 7 elements for the shape (3, 3), first in `innerProduct 'b'`" in str(error.value)


def test_files_of_weights_that_are_missing(tmp_path):
    held, offsets = coreml_files.weight_file(("float32", np.ones(12, np.float32).tobytes()))
    weight = coreml_files.in_file(offsets[0], "float32", [3, 4], "@model_path/weights/other.bin")
    steps = [coreml_files.operation("const", [("w", "float32", [3, 4])], attributes={"val": weight}),
             coreml_files.operation("linear", [("y", "float32", [1, 3])], {"x": "x", "weight": "w"})]  # fmt: skip
    content = coreml_files.program_model(steps, [("x", "float32", [1, 4])], ["y"])
    said = refused(coreml_files.package(tmp_path / "net.mlpackage", content, held))
    assert "other.bin, which is missing, first in `const 'w'`" in said and "copy the whole .mlpackage" in said
    with pytest.raises(relay.CompileError, match="the model is not in a package, first in `const 'w'`"):
        relay.frontend.from_coreml(content)


def test_a_folder_of_a_variable_that_is_missing(network, tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "model.mlir").write_bytes((network / "oneflow" / "model.mlir").read_bytes())
    said = refused(folder)
    for name in ("w", "b", "m", "o"):
        assert f"{name}/meta of the variable `{name}` is missing, first in `{name}`" in said


def write_mxnet(folder, nodes):
    made = [{"op": kind, "name": name, "attrs": {}, "inputs": [[one, 0, 0] for one in reads]}
            for kind, name, reads in nodes]  # fmt: skip
    path = folder / "net-symbol.json"
    path.write_text(json.dumps({"nodes": made, "arg_nodes": [0], "heads": [[len(made) - 1, 0, 0]]}))
    return path


def test_a_symbol_without_its_arrays(tmp_path):
    path = write_mxnet(tmp_path, [("null", "x", []), ("null", "w", []), ("elemwise_add", "y", [0, 1])])
    said = refused(path, shapes={"x": [1, 4]})
    assert "`w` has no array in the parameters, and no shape" in said and "`x`" not in said
    assert "put the .params file with all weights beside the symbol" in said


def training_of(folder, form):
    """Writes a network with two nodes of its training; returns its file."""
    if form == "mxnet":
        return write_mxnet(folder, [("null", "x", []), ("_backward_relu", "a", [0, 0]), ("adam_update", "b", [1])])
    if form == "caffe2":
        (folder / "init_net.pb").write_bytes(net_def([("ConstantFill", [], ["w"], {"shape": [1, 4]})]))
        nodes = [("ReluGradient", ["x", "w"], ["a"], {}), ("MomentumSGDUpdate", ["a"], ["b"], {})]
        (folder / "predict_net.pb").write_bytes(net_def(nodes, ["x", "w"], ["b"]))
        return folder / "predict_net.pb"
    nodes = [("relu_grad", {"X": ["x"]}, {"Out": ["a"]}, {}), ("sgd", {"Param": ["a"]}, {"ParamOut": ["b"]}, {})]
    weights = {"w": np.ones((1, 4), np.float32)}
    (folder / "net.pdmodel").write_bytes(program(nodes, {"x": (1, 4)}, ["b"], weights))
    (folder / "net.pdiparams").write_bytes(parameters(weights))
    return folder / "net.pdmodel"


@pytest.mark.parametrize("form", ["mxnet", "caffe2", "paddle"])
def test_nodes_of_training(tmp_path, form):
    said = refused(training_of(tmp_path, form), shapes={"x": [1, 4]})
    assert said.count("it is a part of training") == 2 and "export the model for inference" in said


def test_all_variables_that_a_checkpoint_lacks(tmp_path):
    tf = one_network.tf
    kind = tf.Type("float32")
    nodes = [tf.placeholder("x", 1, 4)]
    for name, before in (("a", "x"), ("b", "sum_a")):
        nodes += [tf.node(name, "VarHandleOp", dtype=kind, shape=[1, 4], shared_name=name),
                  tf.node(f"read_{name}", "ReadVariableOp", name, dtype=kind),
                  tf.node(f"sum_{name}", "Add", before, f"read_{name}", T=kind)]  # fmt: skip
    inputs, outputs = {"x": ("x:0", "float32", [1, 4])}, {"y": ("sum_b:0", "float32", [1, 4])}
    folder = tf.saved_model(tmp_path / "net", tf.graph(nodes), inputs, outputs, {"c": np.ones((1, 4), np.float32)})
    assert "the variable `a` has no value in" in refused(folder)
    (tmp_path / "graph.pb").write_bytes(tf.graph(nodes))
    assert "graph.pb reads the variable `a`, and has none" in refused(tmp_path / "graph.pb")
