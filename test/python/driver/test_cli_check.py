"""`relay check`: reports all obstacles of a model at once."""

import re

import pytest
from programs import PROGRAM, ROOT, cli, cli_json, onnx_model

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")


def test_check(dense_file):
    assert cli("check", dense_file).returncode == 0
    report = cli_json("check", dense_file, "--json")
    assert report["ok"] and report["kernels"] >= 1


def test_check_tells_editors_the_places(tmp_path):
    path = tmp_path / "wrong.relay"
    path.write_text(
        '#[version = "0.0.5"]\ntype T { A, B }\n'
        "def @f(%x: T) { match (%x) { _ => 1, A => 2 } }\n"
        "def @main(%x: Tensor[(2), float32]) {\n  add(%x,\n      1)\n}\n"
    )
    report = cli_json("check", path, "--json")
    (problem,) = report["problems"]
    assert not report["ok"] and report["failed_stage"] == "import"
    assert problem["kind"] == "constraint" and problem["code"] == "R0302" and problem["file"] == str(path)
    assert [problem[k] for k in ("line", "column", "end_line", "end_column")] == [5, 3, 6, 9]
    assert problem["help"] == "write the number as 1f" and len(problem["notes"]) == 2
    # A library is read and typed; what is odd in it is a warning.
    path.write_text(path.read_text().partition("def @main")[0])
    report = cli_json("check", path, "--json")
    (warning,) = report["warnings"]
    assert report["ok"] and warning["severity"] == "warning" and warning["kind"] == "unreachable_clause"
    assert warning["labels"][0]["text"] and warning["labels"][0]["end_column"] == warning["labels"][0]["column"] + 1


def test_check_lists_all_problems_of_a_model(tmp_path):
    from onnx import helper

    nodes = [
        helper.make_node("Foo", ["x"], ["a"], domain="com.acme"),
        helper.make_node("Bar", ["a"], ["y"], domain="com.acme"),
    ]
    path = onnx_model(tmp_path / "bad.onnx", nodes, [("x", [1, 4])], [("y", [1, 4])])
    done = cli("check", path)
    assert done.returncode == 3  # right, but Relay cannot do it
    assert "Foo" in done.stderr and "Bar" in done.stderr
    assert "Foo that computes 'a'" in done.stdout and "reason: Relay has no converter for it" in done.stdout
    report = cli_json("check", path, "--json")
    assert report["verdict"] == "unsupported" and report["operators"][0]["remedy"].startswith("export the model with")
    assert not report["ok"] and {op["op"].rpartition(".")[2] for op in report["operators"] if not op["supported"]} == {
        "Foo",
        "Bar",
    }


def test_check_tells_the_malformed_from_the_unsupported(tmp_path):
    from onnx import helper

    nodes = [
        helper.make_node("Foo", ["x"], ["a"], domain="com.acme"),
        helper.make_node("Softmax", ["nowhere"], ["b"]),
        helper.make_node("Relu", ["x"], ["y"], slope=2.0),
    ]
    path = onnx_model(tmp_path / "bad.onnx", nodes, [("x", [1, 4])], [("y", [1, 4])])
    assert cli("check", path).returncode == 1
    report = cli_json("check", path, "--json")
    assert report["verdict"] == "malformed" and len(report["problems"]) >= 3
    relu = next(op for op in report["operators"] if op["op"] == "Relu")
    assert relu["supported"] and relu["count"] == 1 and relu["first"] == "Relu that computes 'y'"
    assert relu["reason"] == "Relu has no attribute 'slope'"


def test_check_looks_behind_a_failed_node(tmp_path):
    """The model declares the result types of a node that cannot be imported."""
    import onnx
    from onnx import parser

    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
        graph (float[n, 4] x, float[3, 3] w) => (float[n, 3] y, int64[n] z) <float[n, 4] a, int64[2] s, float[n, 4] c> {
          a = com.acme.Foo(x)
          b = Softmax<axes=1>(a)
          s = com.acme.Sizes(a)
          c = Reshape(b, s)
          y = MatMul(a, w)
          z = ArgMax<axis=7>(c)
        }""")
    path = tmp_path / "bad.onnx"
    onnx.save(model, path)
    messages = [problem["message"] for problem in cli_json("check", path, "--json")["problems"]]
    for wanted in ("Foo", "Sizes", "no attribute 'axes'", "MatMul that computes 'y'", "ArgMax that computes 'z'"):
        assert any(wanted in message for message in messages), (wanted, messages)
    assert len(messages) == 5  # and none about Reshape, whose inputs are unknown
    # Compiling reports the errors, but no consequences of a type that is only declared.
    done = cli("compile", path, "-o", tmp_path / "out.rart")
    assert "Foo" in done.stderr and "MatMul" not in done.stderr


def test_check_refuses_what_is_above_a_limit(tmp_path):
    """The form that its format requires."""
    from onnx import helper

    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(5)]
    path = onnx_model(tmp_path / "long.onnx", nodes, [("v0", [1, 4])], [("v5", [1, 4])])
    assert cli_json("check", path, "--json")["verdict"] == "ok"
    limits = ("--import-limit", "nodes=3")
    assert cli("check", path, *limits).returncode == 1
    report = cli_json("check", path, "--json", *limits)
    assert report["verdict"] == "refused" and report["problems"][0]["kind"] == "limit_exceeded"


@pytest.mark.parametrize(
    "opset, op, has, has_not",
    [
        (1, "Relu", "consumed_inputs", "no attributes"),
        (17, "Relu", "Relu has no attributes: leave it out", "consumed_inputs"),
        (13, "Reshape", "Reshape has no attributes", "allowzero"),
        (14, "Reshape", "allowzero", "shape"),
        (10, "Clip", "max, min", "consumed_inputs"),
    ],
)
def test_the_help_names_attributes_of_the_opset(tmp_path, opset, op, has, has_not):
    import onnx
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], zzzzzz=2.0)], "g", [x], [y])
    path = tmp_path / "bad.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
    (problem,) = (p for p in cli_json("check", path, "--json")["problems"] if "zzzzzz" in p["message"])
    assert has in problem["help"] and has_not not in problem["help"]


@pytest.mark.parametrize("domain", ["com.microsoft.nchwc", "com.ms.internal.nhwc"])
def test_check_knows_layouts_of_onnx_runtime(tmp_path, domain):
    from onnx import helper

    nodes = [helper.make_node("Conv", ["x"], ["y"], domain=domain)]
    path = onnx_model(tmp_path / "saved.onnx", nodes, [("x", [1, 8, 4, 4])], [("y", [1, 8, 4, 4])])
    (problem,) = cli_json("check", path, "--json")["problems"]
    assert "save it without layout optimisation" in problem["help"] and "ORT_ENABLE_EXTENDED" in problem["help"]


def test_the_page_has_every_field_of_check(tmp_path):
    from onnx import helper

    path = onnx_model(
        tmp_path / "bad.onnx", [helper.make_node("Foo", ["x"], ["y"], domain="com.acme")], [("x", [4])], [("y", [4])]
    )
    report = cli_json("check", path, "--json")
    section = (ROOT / "docs/cli.md").read_text().partition("## relay check")[2].partition("\n## ")[0]
    rows = {name for row in re.findall(r"(?m)^\| (`.*?) \|", section) for name in re.findall(r"`(\w+)`", row)}
    assert rows == {*report, *report["operators"][0], *report["problems"][0]}


@pytest.mark.parametrize("place", ["beside the model", "in the model"])
def test_check_reads_no_large_constant(tmp_path, place):
    """Bools whose bytes are 2: every reader refuses the model, as compiling does."""
    import onnx
    from onnx import TensorProto, helper

    weight = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[400, 250])
    if place == "in the model":
        weight.raw_data = b"\2" * 100_000
    else:
        weight.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "100000")):
            weight.external_data.add(key=key, value=value)
        (tmp_path / "w.bin").write_bytes(b"\2" * 99_999)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [400, 250]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Where", ["w", "x", "x"], ["y"])], "g", [x], [y], [weight])
    path = tmp_path / "large.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    if place == "beside the model":
        done = cli("check", path)
        assert done.returncode == 1 and "w.bin" in done.stderr  # one byte is missing
        (tmp_path / "w.bin").write_bytes(b"\2" * 100_000)
    assert cli("check", path).returncode == 0
    done = cli("compile", path, "-o", tmp_path / "out.rart")
    assert done.returncode == 1 and "contains the byte 2" in done.stderr
