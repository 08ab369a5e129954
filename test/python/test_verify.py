"""relay verify and relay bisect on the command line. What they name is tested in src/relay/driver/verify_test.cpp."""

import numpy as np
import onnx
from onnx import helper as make
from programs import cli, cli_json

from relay import reference

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 64), float32]) { nn.softmax(tanh(%x)) }
"""


def test_a_result_is_compared_with_double_precision(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    report = cli_json("verify", tmp_path / "dense.relay", "--json")
    (result,) = report["results"]
    assert result["right"] and 0 < result["absolute"] < 1e-6 and result["ulps"] < 100 and result["elements"] == 0
    assert "right" in cli("verify", tmp_path / "dense.relay").stdout


def test_a_tolerance_below_rounding_is_not_met_and_nothing_is_blamed(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    verify = cli("verify", tmp_path / "dense.relay", "--tolerance", "1e-12")
    assert verify.returncode != 0 and "R0605" in verify.stderr and "relay bisect" in verify.stderr
    assert "different" in verify.stdout
    bisect = cli("bisect", tmp_path / "dense.relay", "--tolerance", "1e-12")
    assert bisect.returncode != 0 and "as written: different" in bisect.stderr
    assert "to blame: no pass and no schedule rule alone" in bisect.stdout


def test_bad_arguments(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    assert "is not above 0" in cli("verify", tmp_path / "dense.relay", "--tolerance", "0").stderr
    assert "R0405" not in cli("bisect", tmp_path / "none.relay").stderr


def leaky(path, alpha=0.1):
    """conv, LeakyRelu, then the sum with the input."""
    weight = np.random.default_rng(0).standard_normal((3, 3, 3, 3)).astype(np.float32) / 5
    nodes = [
        make.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        make.make_node("LeakyRelu", ["c"], ["a/b"], name="leaky", alpha=alpha),
        make.make_node("Identity", ["a/b"], ["same"], name="same"),
        make.make_node("Add", ["same", "x"], ["y"], name="sum"),
    ]
    info = make.make_tensor_value_info
    graph = make.make_graph(
        nodes,
        "g",
        [info("x", 1, (1, 3, 5, "w"))],
        [info("y", 1, (1, 3, 5, "w"))],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9), path)


def test_a_model_is_compared_with_another_engine(tmp_path):
    path = tmp_path / "m.onnx"
    leaky(path)
    for engine in ("onnxruntime", "onnx"):
        done = cli("verify", path, "--reference", engine, "--shape", "x=1,3,5,6")
        assert done.returncode == 0, done.stderr
        done = cli("bisect", path, "--reference", engine, "--shape", "x=1,3,5,6")
        assert done.returncode == 0 and "as imported: 4 values are right" in done.stderr, done.stderr


def test_the_import_of_a_node_is_named(tmp_path):
    """The reference says that LeakyRelu has another alpha: what a converter would do that misreads it."""
    right, wrong, x = tmp_path / "right.onnx", tmp_path / "wrong.onnx", tmp_path / "x.npy"
    leaky(right), leaky(wrong, 0.2)
    np.save(x, np.random.default_rng(1).standard_normal((1, 3, 5, 6)).astype(np.float32))
    values = reference.onnxruntime_values(onnx.load(wrong), {"x": np.load(x)}, ["c", "a/b", "same", "y"])
    np.savez(tmp_path / "values.npz", **values)
    found = tmp_path / "found"
    done = cli("bisect", right, "--reference", tmp_path / "values.npz", "--input", f"x={x}", "-o", found)
    assert done.returncode != 0 and "R0605" in done.stderr
    assert "to blame: the import of LeakyRelu 'leaky'" in done.stdout
    assert sorted(f.name for f in found.iterdir()) == ["command.txt", "input0.npy", "node.onnx"]
    assert (found / "command.txt").read_text().startswith("relay bisect node.onnx --reference onnxruntime --input ")
    again = cli("bisect", found / "node.onnx", "--input", f"c={found}/input0.npy", "--reference", "onnxruntime")
    assert again.returncode == 0, again.stderr


def test_references_that_are_none(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    assert "is a Relay program" in cli("bisect", tmp_path / "dense.relay", "--reference", "onnx").stderr
    leaky(tmp_path / "m.onnx")
    said = cli("verify", tmp_path / "m.onnx", "--shape", "x=1,3,5,6", "--reference", "tensorrt").stderr
    assert "--reference tensorrt is neither an engine nor an .npz file" in said
