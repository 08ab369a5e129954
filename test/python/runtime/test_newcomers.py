"""The Python package for first-time users."""

import copy
import importlib.metadata
import inspect
import pickle
import subprocess
import sys
import typing

import numpy as np
import pytest
from programs import CONV, DENSE, TWO_RESULTS

import relay

IDS = relay.parse("""#[version = "0.0.5"]
def @main(%ids: Tensor[(1, 2), int32], %keep: Tensor[(2), bool]) { (%ids, %keep) }
""")
DATA = np.arange(8, dtype=np.float32).reshape(2, 4)
WEIGHT = np.ones((8, 4), np.float32)


# --- inputs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "keep", "why"),
    [
        ([[1.7, 2.2]], [True, False], "1.7 is not a value of int32"),
        ([[1, float("nan")]], [True, False], "nan is not a value of int32"),
        ([[1, 2**40]], [True, False], "1099511627776 does not fit in int32"),
        ([[1, 2]], [0.5, 1], "0.5 is not a value of bool"),
        ([[1, 2]], [2, 1], "2 does not fit in bool"),
    ],
)
def test_an_integer_input_takes_no_other_number(ids, keep, why):
    with pytest.raises(relay.InputError, match=why):
        relay.compile(IDS)(ids, keep)
    with pytest.raises(relay.InputError):
        relay.evaluate(IDS, [ids, keep])


def test_whole_numbers_of_any_type_are_integers():
    ids, keep = relay.compile(IDS)([[1.0, -3]], [1, 0])
    assert ids.tolist() == [[1, -3]] and keep.tolist() == [True, False]


def test_one_dictionary_of_all_inputs():
    model = relay.compile(relay.parse(DENSE))
    expected = model(DATA, WEIGHT)
    np.testing.assert_array_equal(model({"x": DATA, "w": WEIGHT}), expected)
    assert model.profile({"x": DATA, "w": WEIGHT})
    with pytest.raises(relay.InputError, match="missing: w"):
        model({"x": DATA})
    with pytest.raises(relay.InputError, match="did you mean `w`"):
        model({"x": DATA, "W": WEIGHT})


def test_errors_of_inputs_are_errors_of_values_and_types():
    model = relay.compile(relay.parse(DENSE))
    for kind in (ValueError, TypeError, relay.CompileError, relay.InputError):
        with pytest.raises(kind):
            model(DATA[:, :3], WEIGHT)
        with pytest.raises(kind):
            relay.compile(relay.parse(DENSE), target="rocm")
    with pytest.raises(relay.CompileError) as wrong:
        relay.parse("def @main() { 1f }")
    assert not isinstance(wrong.value, ValueError)
    with pytest.raises(relay.InputError) as refused:
        model(DATA[:, :3], WEIGHT)
    again = pickle.loads(pickle.dumps(refused.value))
    assert type(again) is relay.InputError and again.diagnostics == refused.value.diagnostics


# --- operators --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message", "help"),
    [
        (lambda x: relay.nn.dense(x, x, unit=3), "'nn.dense' has no attribute 'unit'", "did you mean 'units'"),
        (
            lambda x: relay.nn.conv2d(x, x, Strides=1),
            "'nn.conv2d' has no attribute 'Strides'",
            "did you mean 'strides'",
        ),
        (lambda x: relay.nn.dense(x), "'nn.dense' lacks weight", "nn.dense(data, weight"),
        (lambda x: relay.nn.relu(x, x), "'nn.relu' takes 1 arguments, not 2", "nn.relu(data)"),
        (lambda x: relay.nn.relu(x, data=x), "is given 'data' twice", "nn.relu(data)"),
    ],
)
def test_misuse_of_an_operator_names_it(call, message, help):
    with pytest.raises(TypeError) as refused:
        call(relay.var("x", shape=(2, 2)))
    assert isinstance(refused.value, relay.InputError)
    (problem,) = refused.value.diagnostics
    assert message in problem.message and help in problem.help


def test_suggestions_of_operators():
    with pytest.raises(AttributeError, match="did you mean nn.relu"):
        relay.nn.rleu  # noqa: B018
    with pytest.raises(AttributeError, match="nn.conv2d"):
        relay.op.conv2d  # noqa: B018


# --- what compile() gives ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["relay", "te", "schedule", "loop", "c", "llvm", "asm", "program"])
def test_every_stage_is_text(stage):
    text = relay.compile(relay.parse(CONV)).emit(stage)
    assert len(text.splitlines()) > 2


def two_groups():
    return relay.compile(relay.parse(CONV), opt_level=0)


def test_schedules_of_all_groups_come_back_whole():
    first = two_groups()
    text, names = first.emit("schedule"), [group["name"] for group in first.report["groups"]]
    assert len(names) > 1
    by_name = {name: first.emit("schedule", name) for name in names}
    by_number = {number: first.emit("schedule", number) for number in range(len(names))}
    for schedules in (text, by_name, by_number):
        again = relay.compile(relay.parse(CONV), opt_level=0, schedules=schedules)
        assert again.emit("schedule") == text
        assert all(group["scheduled_by_hand"] for group in again.report["groups"])
    only = relay.compile(relay.parse(CONV), opt_level=0, schedules={1: by_number[1]}).report["groups"]
    assert [group["scheduled_by_hand"] for group in only] == [i == 1 for i in range(len(names))]


def test_schedules_for_groups_that_are_not_there():
    text = two_groups().emit("schedule", 0)
    with pytest.raises(relay.CompileError, match="there are"):
        relay.compile(relay.parse(CONV), opt_level=0, schedules={99: text})
    with pytest.raises(relay.CompileError, match="two schedules are given for group 0"):
        name = two_groups().report["groups"][0]["name"]
        relay.compile(relay.parse(CONV), opt_level=0, schedules={0: text, name: text})
    with pytest.raises(relay.CompileError, match="two schedules for group"):
        relay.compile(relay.parse(CONV), opt_level=0, schedules="# group 0 a\nx\n# group 1 a\nx\n")


def test_the_report_is_a_summary_and_a_dictionary(capsys):
    report = relay.compile(relay.parse(CONV)).report
    print(report)
    said = capsys.readouterr().out
    assert isinstance(report, dict) and len(said.splitlines()) < 20
    counts = report["counts"]
    for what in ("groups", "kernels"):
        assert f"{counts[what]} {what[:-1]}" in said
    assert report["groups"][0]["rule"] in said and all(name in said for name in report)
    assert eval(repr(report)) == report


def test_a_model_pickles():
    model = relay.compile(relay.parse(DENSE))
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again(DATA, WEIGHT), model(DATA, WEIGHT))
        assert again.report["counts"] == model.report["counts"] and again.inputs == model.inputs
    loaded = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model))))
    np.testing.assert_array_equal(loaded(DATA, WEIGHT), model(DATA, WEIGHT))


def test_a_model_with_state_pickles():
    module = relay.parse(TWO_RESULTS)
    model = relay.compile(module, donate={"a": 0})
    again = pickle.loads(pickle.dumps(model))
    a, b = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    total, _ = again(a, b)
    assert total is a


# --- PyTorch ----------------------------------------------------------------------------------------------------------


def test_a_module_of_pytorch_with_example_inputs(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
    x = torch.ones(2, 4)
    path = tmp_path / "net.pt"
    torch.jit.save(torch.jit.trace(net, (x,)), str(path))
    for model in (net, torch.jit.trace(net, (x,)), path, str(path)):
        for examples in ((x,), x, [x]):
            torch.testing.assert_close(relay.compile(model, examples)(x), net(x).detach())
    with pytest.raises(relay.InputError, match=r"relay\.compile\(model, \(example,\)\)"):
        relay.compile(net)
    with pytest.raises(relay.InputError, match="example_inputs are only for"):
        relay.compile(relay.parse(DENSE), (x,))


@pytest.mark.slow
def test_the_backend_is_found_without_an_import():
    """The environment that dev/setup leaves has the entry point."""
    pytest.importorskip("torch")
    found = importlib.metadata.entry_points(group="torch_dynamo_backends", name="relay")
    if not found:
        pytest.skip("this environment was not made by dev/setup")
    program = "import torch; print(torch.compile(lambda x: x + 1, backend='relay')(torch.ones(2)).tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[2.0, 2.0]\n", done.stderr


# --- results of ONNX models -------------------------------------------------------------------------------------------


def onnx_of(nodes, outputs, x=("x", 1, (3, 2)), constants=()):
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    graph = make.make_graph(
        [make.make_node(*node[:3], **node[3]) for node in nodes], "g", [make.make_tensor_value_info(*x)], outputs,
        [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants],
    )  # fmt: skip
    opsets = [make.make_opsetid("", 18), make.make_opsetid("ai.onnx.ml", 3)]
    return make.make_model(graph, opset_imports=opsets, ir_version=10)


def test_a_sequence_is_a_list(tmp_path):
    onnx = pytest.importorskip("onnx")
    info = onnx.helper.make_tensor_value_info
    nodes = [("SplitToSequence", ["x", "parts"], ["s"], {"axis": 0}), ("Neg", ["x"], ["y"], {})]
    outputs = [onnx.helper.make_tensor_sequence_value_info("s", 1, None), info("y", 1, (3, 2))]
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    both = relay.compile(onnx_of(nodes, outputs, constants=[("parts", [2, 1])]))
    both.save(tmp_path / "both.rart")
    for model in (both, relay.load(tmp_path / "both.rart")):
        s, y = model(x)
        assert isinstance(s, list) and [one.tolist() for one in s] == [x[:2].tolist(), x[2:].tolist()]
        np.testing.assert_array_equal(y, -x)
        assert [port.name for port in model.outputs] == ["s.0", "s.1", "y"]
    alone = relay.compile(onnx_of(nodes[:1], outputs[:1], constants=[("parts", [2, 1])]))(x)
    assert isinstance(alone, list) and len(alone) == 2


def test_the_evaluator_returns_sequences_as_compiled_models_do():
    onnx = pytest.importorskip("onnx")
    info = onnx.helper.make_tensor_value_info
    nodes = [("SplitToSequence", ["x", "parts"], ["s"], {"axis": 0}), ("Neg", ["x"], ["y"], {})]
    outputs = [onnx.helper.make_tensor_sequence_value_info("s", 1, None), info("y", 1, (3, 2))]
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    both, alone = (onnx_of(nodes[:count], outputs[:count], constants=[("parts", [2, 1])]) for count in (2, 1))
    s, y = relay.evaluate(relay.load(both), [x])
    assert isinstance(s, list) and [one.tolist() for one in s] == [x[:2].tolist(), x[2:].tolist()]
    np.testing.assert_array_equal(y, -x)
    result = relay.evaluate(relay.load(alone), {"x": x})
    assert isinstance(result, list) and [one.shape for one in result] == [(2, 2), (1, 2)]


@pytest.mark.parametrize("keys", [["a", "b"], [3, 5]])
def test_maps_are_dictionaries(keys):
    onnx = pytest.importorskip("onnx")
    types = onnx.TypeProto
    of = onnx.TensorProto.STRING if isinstance(keys[0], str) else onnx.TensorProto.INT64
    value = types(tensor_type=types.Tensor(elem_type=1))
    maps = types(sequence_type=types.Sequence(elem_type=types(map_type=types.Map(key_type=of, value_type=value))))
    name = "classlabels_strings" if isinstance(keys[0], str) else "classlabels_int64s"
    nodes = [("ZipMap", ["x"], ["y"], {"domain": "ai.onnx.ml", name: keys})]
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    model = onnx_of(nodes, [onnx.helper.make_value_info("y", maps)])
    for result in (relay.compile(model)(x), relay.evaluate(relay.load(model), [x])):
        assert isinstance(result, list) and result == [dict(zip(keys, row, strict=True)) for row in x.tolist()]
        np.testing.assert_array_equal(np.asarray(result), x)


# --- names that are not there -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda: relay.build_config, "PassContext"),
        (lambda: relay.complie, "did you mean compile"),
        (lambda: relay.frontend.from_onx, "did you mean from_onnx"),
    ],
)
def test_a_name_that_is_not_there_says_what_to_do(read, says):
    with pytest.raises(AttributeError, match=says):
        read()
    assert not hasattr(relay, "__wrapped__")


# --- types for editors and checkers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [relay.compile, relay.load, relay.evaluate, relay.parse, relay.Compiled.__call__, relay.Compiled.save,
     relay.Compiled.emit, relay.Compiled.profile],
    ids=lambda function: function.__qualname__,
)  # fmt: skip
def test_the_interface_has_types(function):
    hints = typing.get_type_hints(function)
    signature = inspect.signature(function)
    named = [name for name in signature.parameters if name != "self"]
    assert "return" in hints and all(name in hints for name in named), (named, hints)


def test_results_of_the_interface_have_real_types():
    hints = {name: typing.get_type_hints(getattr(relay, name))["return"] for name in ("compile", "load", "parse")}
    assert hints["compile"] is relay.Compiled and hints["parse"] is relay.IRModule
    assert set(typing.get_args(hints["load"])) == {relay.IRModule, relay.Compiled}
