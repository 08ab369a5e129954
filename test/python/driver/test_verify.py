"""relay verify and relay bisect on the command line. src/relay/driver/verify_test.cpp tests their findings."""

import re
import shlex
import subprocess

import numpy as np
import onnx
import programs
import pytest
from onnx import helper as make
from programs import cli, cli_json
from relay.tools import reference

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
    assert "to blame: no single pass or schedule rule" in bisect.stdout


def test_bad_arguments(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE)
    assert "--tolerance must be positive" in cli("verify", tmp_path / "dense.relay", "--tolerance", "0").stderr
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
    assert "--reference tensorrt is neither an engine nor a .npz file" in said


LIST = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @sum(%l: List[Tensor[(2), float32]]) -> Tensor[(2), float32] {
  match (%l) { Cons(%x, %rest) => add(nn.relu(%x), @sum(%rest)), Nil => zeros(shape=[2], dtype="float32") }
}
def @main(%pair: (List[Tensor[(2), float32]], Tensor[(2), float32])) {
  multiply(@sum(%pair.0), %pair.1)
}
"""


def planted(fault, *arguments, **where):
    """relay with a fault planted (test/tools/planted_faults.cpp)."""
    program = programs.PROGRAM.with_name("relay_planted_faults")
    return subprocess.run([program, *fault, "--", *arguments], capture_output=True, text=True, timeout=120, **where)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (["pass"], "to blame: the pass without_first_relu"),
        (["refusal"], "no result: R0304"),
        (["crash"], "no result: SIGSEGV: the process ended while running the pass crash_at_relu"),
    ],
)
def test_what_bisect_writes_repeats_a_fault_of_a_program_of_lists(tmp_path, fault, said):
    (tmp_path / "list.relay").write_text(LIST)
    value = "pair=expr:(Cons(arange(1f, 3f, 1f), Cons(arange(-3f, 1f, 2f), Nil)), arange(5f, 7f, 1f))"
    folder = tmp_path / "found"
    found = planted(fault, "bisect", tmp_path / "list.relay", "--input", value, "-O", "1", "-o", folder)
    assert found.returncode == 1 and said in found.stdout, found.stdout + found.stderr
    assert f"sh command.txt, in {folder}, reproduces it" in found.stderr
    command = shlex.split((folder / "command.txt").read_text())
    assert command[:2] == ["relay", "bisect"] and "-O 1 --mode inference" in (folder / "command.txt").read_text()
    again = planted(fault, *command[1:], cwd=folder)
    assert again.returncode == 1 and said in again.stdout, again.stdout + again.stderr


def test_the_command_has_the_options_that_were_given(tmp_path):
    (tmp_path / "dense.relay").write_text(DENSE.replace("tanh", "nn.relu"))
    schedule = cli("opt", tmp_path / "dense.relay", "--emit", "schedule").stdout
    group = re.search(r"# (\S+)", schedule)[1]
    (tmp_path / "group.txt").write_text(schedule)
    given = [f"--schedule={group}={tmp_path / 'group.txt'}", "--no-batch-calls", "--strict", "--threads=1"]
    found = planted(["refusal"], "bisect", tmp_path / "dense.relay", *given, "-o", tmp_path / "found")
    assert found.returncode == 1, found.stderr
    command = (tmp_path / "found" / "command.txt").read_text()
    for option in ["--no-batch-calls", "--strict", "--threads 1", f"--schedule '{group}={group}.schedule'"]:
        assert option in command
    assert (tmp_path / "found" / f"{group}.schedule").read_text() == schedule
    again = planted(["refusal"], *shlex.split(command)[1:], cwd=tmp_path / "found")
    assert "to blame: the pass refuse_relu" in again.stdout, again.stdout + again.stderr


TRAINED = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 4), float32], %g: Tensor[(4), float32], %v: Tensor[(4), float32]) {
  %0 = nn.batch_norm(%x, %g, %g, %g, %v);
  %1 = nn.dropout(nn.relu(%0.0), rate=0.5f);
  (%1.0, %0.1)
}
"""


def test_batch_norm_and_dropout_are_verified_in_the_meaning_of_training(tmp_path):
    (tmp_path / "m.relay").write_text(TRAINED)
    model = [tmp_path / "m.relay", "--mode", "training", "--input", "v=1"]
    verified = cli("verify", *model)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "`rng` is not given" in verified.stderr
    blamed = planted(["pass"], "bisect", *model)
    assert "to blame: the pass without_first_relu" in blamed.stdout, blamed.stdout + blamed.stderr
    refused = cli("verify", *model, "--reference", "onnxruntime")
    assert refused.returncode == 1 and "is for ONNX models" in refused.stderr


def test_an_engine_is_no_reference_of_training(tmp_path):
    leaky(tmp_path / "m.onnx")
    refused = cli("verify", tmp_path / "m.onnx", "--reference", "onnx", "--mode", "training")
    assert refused.returncode == 1 and "in inference mode, not in training mode" in refused.stderr


def test_an_input_may_be_an_expression_in_a_file(tmp_path):
    (tmp_path / "list.relay").write_text(LIST)
    (tmp_path / "pair.relay").write_text("(Cons(arange(1f, 3f, 1f), Nil), arange(5f, 7f, 1f))")
    done = cli("run", tmp_path / "list.relay", "--input", f"pair={tmp_path / 'pair.relay'}")
    assert done.returncode == 0 and "5" in done.stdout and "12" in done.stdout, done.stdout + done.stderr
    (tmp_path / "wrong.relay").write_text("(Cons(1f")
    wrong = cli("run", tmp_path / "list.relay", "--input", f"pair={tmp_path / 'wrong.relay'}")
    assert wrong.returncode == 1 and "wrong.relay:1:" in wrong.stderr
