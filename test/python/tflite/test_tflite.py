"""TFLite models, operator by operator, against values derived in numpy. test/frontends/tflite_run.py compares the same
models with LiteRT."""

import struct

import elementwise_cases  # noqa: F401
import example
import moved_cases  # noqa: F401
import numpy as np
import place_cases  # noqa: F401
import pytest
import quantised_cases  # noqa: F401
import recurrent_cases  # noqa: F401
import segment_cases  # noqa: F401
import shape_cases  # noqa: F401
import wide_cases
import window_cases  # noqa: F401
from lite_cases import CASES, i32
from writer import SAME, Model, flexible, texts

import relay

DERIVED = [case for case in CASES if case.expect]
assert len({case.name for case in CASES}) == len(CASES)


def results(content, inputs):
    result = relay.compile(content)(*inputs)
    return [np.asarray(one) for one in (result if isinstance(result, (list, tuple)) else [result])]


@pytest.mark.parametrize("case", DERIVED, ids=lambda case: case.name)
def test_an_operator_computes_the_derived_values(case):
    content, inputs = case.model()
    wanted = case.expect(*inputs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for ours, theirs in zip(results(content, [*inputs, *case.states]), wanted, strict=not case.states):
        theirs = np.asarray(theirs)
        ours = ours.astype(theirs.dtype) if theirs.dtype.kind == "U" else ours
        assert ours.shape == theirs.shape
        if case.step:  # integers that stand for reals: at most one step away
            assert np.abs(ours.astype(np.float64) - theirs).max() <= 1
        elif case.exact:
            np.testing.assert_array_equal(ours, theirs)
        else:  # sums of tens of products in float32
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def small():
    m = Model()
    x = m.input("x", [1, 4, 4, 2])
    w = m.constant("w", np.ones((3, 1, 1, 2), np.float32))
    y = m.op("CONV_2D", [x, w, m.constant("b", np.float32([1, 2, 3]))], [m.tensor("y", [1, 4, 4, 3])],
             padding=SAME, stride_w=1, stride_h=1)  # fmt: skip
    m.outputs(y)
    return m


def test_a_model_is_known_by_its_content(tmp_path):
    content, x = small().bytes(), np.ones((1, 4, 4, 2), np.float32)
    (tmp_path / "model.bin").write_bytes(content)
    (tmp_path / "net.onnx").write_bytes(content)
    for path in (tmp_path / "model.bin", tmp_path / "net.onnx"):
        np.testing.assert_allclose(relay.compile(path)(x)[0, 0, 0], [3, 4, 5])
    with open(tmp_path / "model.bin", "rb") as file:
        assert [p.name_hint for p in relay.load(file)["main"].params] == ["x"]


def test_from_tflite_takes_the_arguments_of_tvm():
    m = Model()
    x = m.input("x", [1, 3], signature=[-1, 3])
    m.outputs(m.op("EXP", [x], [m.tensor("y", [1, 3], signature=[-1, 3])]))
    module, params = relay.frontend.from_tflite(m.bytes(), shape_dict={"x": (5, 3)}, dtype_dict={"x": "float32"})
    assert params == {}
    assert module["main"].params[0].type_annotation.shape == [5, 3] or "(5, 3)" in str(module)
    open_batch = relay.compile(m.bytes())
    for n in (1, 4):
        np.testing.assert_allclose(open_batch(np.zeros((n, 3), np.float32)), np.ones((n, 3)))
    with pytest.raises(relay.CompileError, match="no such input|no input"):
        relay.frontend.from_tflite(m.bytes(), shape_dict={"z": (5, 3)})
    with pytest.raises(relay.CompileError, match="not a TFLite model"):
        relay.frontend.from_tflite(b'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { %x }')


def test_all_missing_operators_are_reported_at_once():
    m = small()
    y = m.outs.pop()
    a = m.op("LSH_PROJECTION", [y], [m.tensor("a", [1, 4, 4, 3])])
    b = m.op("", [a], [m.tensor("b", [1, 4, 4, 3])], custom="FlexErf")
    m.outputs(m.op("LSH_PROJECTION", [b], [m.tensor("c", [1, 4, 4, 3])]))
    with pytest.raises(relay.CompileError) as raised:
        relay.load(m.bytes())
    text = str(raised.value)
    assert "LSH_PROJECTION" in text and "FlexErf" in text and "SELECT_TF_OPS" in text and "#1 that computes 'a'" in text


def custom(options=b"", result="float32"):
    m = Model()
    x, y = m.input("x", [3], "int8", scale=0.5, zero=-3), m.tensor("y", [3], result)
    m.outputs(m.op("", [x], [y], custom="Mine", custom_options=options))
    return m.bytes()


def test_a_custom_operator_gets_its_meaning_from_a_function():
    given = []

    def mine(inputs, attributes):
        given.append(attributes)
        scale, zero = attributes["input_scales"][0]
        real = (relay.op.cast(inputs[0], "float32") - relay.const(float(zero))) * relay.const(scale)
        return real * relay.const(attributes["factor"]) if attributes["on"] else real

    options = flexible({"factor": 4.0, "on": True, "count": -7})
    module, params = relay.frontend.from_tflite(custom(options), custom_operators={"Mine": mine})
    np.testing.assert_array_equal(relay.compile(module)(np.int8([-3, 0, 1])), [0, 6, 8])
    attributes = given[0]
    assert attributes["count"] == -7 and attributes["custom_options"] == options
    assert str(attributes["result_types"][0]) == "Tensor[(3), float32]" and attributes["result_scales"] == [None]
    assert params == {}


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (None, "Mine.*custom operator"),
        (lambda inputs, attributes: 1 / 0, "Mine #0 that computes 'y': the given function: ZeroDivisionError"),
        (lambda inputs, attributes: "y", "Mine #0 that computes 'y': the given function"),
        (lambda inputs, attributes: [], "returns 0 results, but the operator has 1"),
        (lambda inputs, attributes: inputs[0], "is Tensor.*int8.*, but the model declares Tensor.*float32"),
        (lambda inputs, attributes: relay.op.nn.dense(inputs[0], inputs[0]), "Mine #0 that computes 'y': nn.dense"),
    ],
)
def test_a_wrong_function_for_a_custom_operator_is_told_with_its_place(function, says):
    functions = {"Mine": function} if function else {"Other": function}
    with pytest.raises(relay.CompileError, match=says) as raised:
        relay.frontend.from_tflite(custom(), custom_operators=functions)
    assert function or "custom_operators={'Mine': function}" in str(raised.value)


def test_damaged_options_of_a_custom_operator_are_bytes():
    """Options with any byte changed are options, or only bytes: never a crash."""
    sound = flexible({"factor": 4.0, "on": True, "count": -7})
    for place in range(len(sound)):
        for value in (0, 1, 127, 255):
            damaged, found = bytearray(sound), []
            damaged[place] = value

            def mine(inputs, attributes, found=found):
                found.append(attributes)
                return relay.op.cast(inputs[0], "float32")

            relay.frontend.from_tflite(custom(bytes(damaged)), custom_operators={"Mine": mine})
            assert found[0]["custom_options"] == damaged


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\2\0\0", "its texts are cut off"),
        (struct.pack("<3i", 9, 12, 12), "9 texts in 12 bytes"),
        (struct.pack("<3i", 1, 12, 12), "1 texts for the shape .2."),
        (struct.pack("<4i", 2, 16, 99, 16), "text 0 is from byte 16 to 99 of 16"),
        (struct.pack("<4i", 2, 16, 12, 16), "text 0 is from byte 16 to 12 of 16"),
    ],
)
def test_damaged_texts_are_refused(data, says):
    m = Model()
    x = m.input("x", [2], "string")
    words = m.tensor("words", [2], "string", data=data)
    m.outputs(m.op("EQUAL", [x, words], [m.tensor("y", [2], "bool")]))
    with pytest.raises(relay.CompileError, match=says):
        relay.load(m.bytes())


def test_texts_are_moved_and_compared_but_not_read():
    m = Model()
    x = m.input("x", [2, 2], "string")
    word = m.tensor("word", [1], "string", data=texts("sun"))
    flat = m.op("RESHAPE", [x, m.constant("shape", i32(4))], [m.tensor("flat", [4], "string")])
    m.outputs(flat, m.op("EQUAL", [flat, word], [m.tensor("y", [4], "bool")]))
    model = relay.compile(m.bytes())
    moved, equal = model(np.array([["sun", "moon"], ["", "sun"]]))
    assert list(moved) == ["sun", "moon", "", "sun"] and list(equal) == [True, False, False, True]
    m = Model()
    m.outputs(m.op("NEG", [m.input("x", [2], "string")], [m.tensor("y", [2], "string")]))
    with pytest.raises(relay.CompileError, match="whose letters a compiled model cannot read"):
        relay.load(m.bytes())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.nodes[0].update({1: ("ints", [0, 1, 99])}), "tensor 99 of subgraph 0"),
        (lambda m: m.nodes[0].update({0: ("uint", 7)}), "operator code 7 of 1"),
        (lambda m: m.nodes[0].update({1: ("ints", [0])}), "CONV_2D #0 that computes 'y'.*input 1 is missing"),
        (lambda m: m.nodes[0].update({3: ("ubyte", 9)}), "options of number 9 .SoftmaxOptions., not Conv2DOptions"),
        (lambda m: m.tensors[1].update({2: ("uint", 50)}), "buffer 50 of"),
        (lambda m: m.tensors[1].update({0: ("ints", [3, 1, 1, 5])}), "needs 60 bytes by its shape and type"),
        (lambda m: m.tensors[1].update({0: ("ints", [3, 1, 1, -2])}), "negative or too large"),
        (lambda m: m.tensors[0].update({1: ("byte", 77)}), "number 77"),
        (lambda m: m.outs.append(2 + 40), "tensor 42 of subgraph 0"),
        (lambda m: m.nodes.append(dict(m.nodes[0])), "'y' is defined twice"),
        (lambda m: m.nodes[0].update({1: ("ints", [3, 1, 2])}), "input 'y' is made by a later operator"),
    ],
)  # fmt: skip
def test_a_contradictory_model_is_refused_with_a_place(change, says):
    m = small()
    change(m)
    with pytest.raises(relay.CompileError, match=says):
        relay.load(m.bytes())


def test_a_cut_file_is_refused_wherever_it_ends():
    content = small().bytes()
    for size in range(8, len(content), 3):
        with pytest.raises(relay.CompileError):
            relay.load(content[:size])


def test_variables_pass_from_run_to_run():
    """A counter, in a variable that starts at 10 and is increased by the input."""
    m = Model()
    x = m.input("x", [2])
    number, first = m.subgraph()
    handle = first.op("VAR_HANDLE", [], [first.tensor("h0", [], "resource")], shared_name="count")
    first.op("ASSIGN_VARIABLE", [handle, first.constant("start", np.full(2, 10, np.float32))], [])
    m.op("CALL_ONCE", [], [], init_subgraph_index=number)
    handle = m.op("VAR_HANDLE", [], [m.tensor("h", [], "resource")], shared_name="count")
    before = m.op("READ_VARIABLE", [handle], [m.tensor("before", [2])])
    after = m.op("ADD", [before, x], [m.tensor("after", [2])])
    m.op("ASSIGN_VARIABLE", [handle, after], [])
    m.outputs(m.op("NEG", [before], [m.tensor("y", [2])]))
    module = relay.load(m.bytes())
    assert (module["main"].attrs["state_names"], module["main"].attrs["state_starts"]) == (["count"], [10])
    model = relay.compile(module)
    assert [port.name for port in model.inputs] == ["x", "count"]
    assert [port.name for port in model.outputs] == ["y", "count"]
    count = np.full(2, 10, np.float32)
    for step in range(3):
        y, count = model(np.float32([1, 2]), count)
        np.testing.assert_array_equal(y, [-10 - step, -10 - 2 * step])


def test_a_subgraph_that_contains_itself_is_refused():
    m = Model()
    condition, x = m.input("c", [], "bool"), m.input("x", [3])
    number, branch = m.subgraph()
    c, inner = branch.input("c", [], "bool"), branch.input("x", [3])
    again = {"then_subgraph_index": number, "else_subgraph_index": number}
    branch.outputs(branch.op("IF", [c, c, inner], [branch.tensor("y", [3])], **again))
    m.outputs(m.op("IF", [condition, condition, x], [m.tensor("y", [3])], **again))
    with pytest.raises(relay.CompileError, match="which contains it"):
        relay.load(m.bytes())


def test_hybrid_weights_are_dequantised():
    content, (x,) = quantised_cases.HYBRID.model()
    assert relay.compile(content)(x).shape == (5, 20)
    content, (x,) = wide_cases.HYBRID_MATRICES.model()
    assert relay.compile(content)(x).shape == (2, 5, 7)


def test_quantised_data_without_an_integer_form_is_refused():
    m = Model()
    x = m.input("x", [8], "int8", scale=0.1)
    m.outputs(m.op("SIN", [x], [m.tensor("y", [8], "int8", scale=0.1)]))
    with pytest.raises(relay.CompileError, match="SIN #0 that computes 'y': input 0 .'x'. is quantised int8"):
        relay.load(m.bytes())


def test_names_of_tensors_are_made_unique():
    m = Model()
    x = m.input("", [2])
    a = m.op("NEG", [x], [m.tensor("t", [2])])
    m.outputs(m.op("EXP", [a], [m.tensor("t", [2])]))
    model = relay.compile(m.bytes())
    np.testing.assert_allclose(model(np.float32([0, 1])), np.exp(np.float32([0, -1])), rtol=1e-6)
    assert i32(1).shape == (1,)


def test_the_example_of_the_page_is_what_its_script_writes():
    assert example.PATH.read_bytes() == example.content()


@pytest.mark.parametrize(
    ("op", "mean", "deviation"), [("RANDOM_UNIFORM", 0.5, 12**-0.5), ("RANDOM_STANDARD_NORMAL", 0, 1)]
)
def test_random_numbers_have_their_distribution(op, mean, deviation):
    m = Model()
    m.outputs(m.op(op, [m.constant("shape", i32(100, 100))], [m.tensor("y", [100, 100])], seed=3, seed2=7))
    model = relay.compile(m.bytes())
    y = model()
    np.testing.assert_allclose([y.mean(), y.std()], [mean, deviation], atol=0.03)  # three standard errors
    np.testing.assert_array_equal(y, model())


def test_classes_are_drawn_with_their_probabilities():
    m = Model()
    x = m.input("x", [2, 3])
    y = m.tensor("y", [2, 4000], "int64")
    m.outputs(m.op("MULTINOMIAL", [x, m.constant("n", np.int32(4000))], [y], seed=1))
    p = np.float32([[0.2, 0.5, 0.3], [0.9, 0.1, 0]])
    counts = np.stack(
        [np.bincount(row, minlength=3) for row in np.asarray(relay.compile(m.bytes())(np.log(p + 1e-30)))]
    )
    np.testing.assert_allclose(counts / 4000, p, atol=0.03)
