"""Sequences whose length is known only at run time, and optional inputs, compared with ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

import relay  # noqa: E402

node, graph_of = helper.make_node, helper.make_graph
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.arange(24, dtype=np.float32).reshape(4, 6) - 11


def tensor(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def sequence(name, shape=None):
    return helper.make_tensor_sequence_value_info(name, FLOAT, shape)


def model_of(nodes, inputs, outputs, **constants):
    """`constants`: ints."""
    held = [onnx.numpy_helper.from_array(np.array(v, np.int64), name) for name, v in constants.items()]
    made = graph_of(nodes, "graph", inputs, outputs, held)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def check(model, *tries, shapes=None, executors=("vm", "aot")):
    """Each of `tries` is what the inputs are, in order; also the oracle of this project computes the same."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    module = relay.load(model, shapes=shapes)
    runs = [relay.compile(model, shapes=shapes, executor=executor) for executor in executors]
    for given in tries:
        expected = session.run(None, dict(zip(names, given, strict=True)))
        for run in [*runs, lambda *of: relay.evaluate(module, [as_value(one) for one in of])]:
            got = run(*given)
            got = got if isinstance(got, tuple) and len(expected) > 1 else [got]
            for g, e in zip(got, expected, strict=True):
                if isinstance(e, list):
                    g = g if isinstance(g, list) else relay.values.as_list(g)
                    assert len(g) == len(e)
                    for one, other in zip(g, e, strict=True):
                        np.testing.assert_allclose(one, other, rtol=1e-6)
                else:
                    np.testing.assert_allclose(np.asarray(g), e, rtol=1e-6)


def as_value(given):
    return given


def collecting(step, extra=(), axis=0, **attributes):
    """A Loop of `n` steps whose state is a sequence, empty at first, and operators on it afterwards."""
    body = graph_of(
        [node("Identity", ["go"], ["on"]), *step, node("SequenceInsert", ["all", "part"], ["more"])],
        "body",
        [tensor("i", INT, []), tensor("go", BOOL, []), sequence("all")],
        [tensor("on", BOOL, []), sequence("more")],
    )
    return [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["n", "", "none"], ["parts"], body=body),
        node("ConcatFromSequence", ["parts"], ["y"], axis=axis, **attributes),
        *extra,
    ]


N = tensor("n", INT, [])


@pytest.mark.parametrize("new_axis", [0, 1])
def test_a_loop_collects(new_axis):
    step = [node("Cast", ["i"], ["f"], to=FLOAT), node("Mul", ["x", "f"], ["part"])]
    extra = [node("SequenceLength", ["parts"], ["length"]), node("SequenceAt", ["parts", "back"], ["last"])]
    nodes = collecting(step, extra, new_axis=new_axis)
    outputs = [tensor("y"), tensor("length", INT), tensor("last")]
    model = model_of(nodes, [tensor("x", FLOAT, [4, 6]), N], outputs, back=-1)
    check(model, *((X, np.array(n)) for n in (1, 2, 5, 8)))


def test_a_loop_collects_tensors_of_other_sizes():
    step = [
        node("Add", ["i", "one"], ["end"]),
        node("Unsqueeze", ["end", "zero"], ["ends"]),
        node("Slice", ["x", "zero", "ends", "zero"], ["part"]),
    ]
    model = model_of(collecting(step), [tensor("x", FLOAT, [4, 6]), N], [tensor("y")], one=1, zero=[0])
    check(model, *((X, np.array(n)) for n in (1, 3, 4)))


def test_insert_and_erase_at_places_of_the_run():
    step = [node("Cast", ["i"], ["f"], to=FLOAT), node("Add", ["x", "f"], ["part"])]
    extra = [
        node("SequenceInsert", ["parts", "x", "at"], ["longer"]),
        node("SequenceErase", ["longer", "out"], ["shorter"]),
        node("SequenceErase", ["shorter"], ["shortest"]),
        node("ConcatFromSequence", ["shortest"], ["z"], axis=1),
    ]
    nodes = collecting(step, extra)
    inputs = [tensor("x", FLOAT, [4, 6]), N, tensor("at", INT, []), tensor("out", INT, [])]
    model = model_of(nodes, inputs, [tensor("z"), tensor("y")])
    places = [(3, 0, 1), (3, -1, -2), (4, 2, 0), (2, 2, -1), (5, -5, 3)]
    check(model, *((X, *map(np.array, place)) for place in places))


def test_a_place_that_is_not_there_is_refused():
    nodes = collecting([node("Identity", ["x"], ["part"])], [node("SequenceAt", ["parts", "at"], ["z"])])
    inputs = [tensor("x", FLOAT, [4, 6]), N, tensor("at", INT, [])]
    compiled = relay.compile(model_of(nodes, inputs, [tensor("z")]))
    np.testing.assert_array_equal(compiled(X, np.array(3), np.array(-3)), X)
    for at in (3, -4):
        with pytest.raises(relay.CompileError):
            compiled(X, np.array(3), np.array(at))


@pytest.mark.parametrize("split", [3, [1, 2, 1], None])
def test_split_of_a_size_that_varies(split):
    """The parts go through a SequenceMap and together again."""
    given = {} if split is None else {"split": split}
    body = graph_of([node("Mul", ["e", "by"], ["f"])], "body", [tensor("e"), tensor("by")], [tensor("f")])
    nodes = [
        node("SplitToSequence", ["x", *given], ["s"], axis=0),
        node("ReduceMax", ["x"], ["top"], keepdims=0),
        node("SequenceMap", ["s", "top"], ["t"], body=body),
        node("SequenceLength", ["t"], ["length"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    model = model_of(nodes, [tensor("x", FLOAT, ["rows", 6])], [tensor("y"), tensor("length", INT)], **given)
    rows = [4] if isinstance(split, list) else [1, 3, 4, 7]
    check(model, *((np.resize(X, (n, 6)),) for n in rows))


def test_a_map_over_two_sequences():
    body = graph_of(
        [node("Add", ["a", "b"], ["c"]), node("ReduceSum", ["a"], ["d"], keepdims=0)],
        "body",
        [tensor("a"), tensor("b")],
        [tensor("c"), tensor("d")],
    )
    nodes = [
        node("SplitToSequence", ["x", "two"], ["s"], axis=1),
        node("SplitToSequence", ["y", "two"], ["t"], axis=1),
        node("SequenceMap", ["s", "t"], ["u", "v"], body=body),
        node("ConcatFromSequence", ["u"], ["z"], axis=1),
        node("ConcatFromSequence", ["v"], ["w"], axis=0, new_axis=1),
    ]
    both = [tensor("x", FLOAT, [4, "n"]), tensor("y", FLOAT, [4, "n"])]
    model = model_of(nodes, both, [tensor("z"), tensor("w")], two=2)
    check(model, (X, -2 * X), (X[:, :2], X[:, 2:4]))


def test_sequences_come_in_and_go_out():
    nodes = [node("SequenceInsert", ["s", "x"], ["t"]), node("SequenceLength", ["s"], ["n"])]
    inputs = [sequence("s", [None, 6]), tensor("x", FLOAT, [4, 6])]
    model = model_of(nodes, inputs, [sequence("t", [None, 6]), tensor("n", INT)])
    check(model, ([X, X[:2]], X), ([X[1:]], -X))
    anonymous = model_of(nodes, [sequence("s"), inputs[1]], [sequence("t"), tensor("n", INT)])
    check(anonymous, ([X, X[:2]], X), shapes={"s.*": (-1, 6)})


def test_a_branch_chooses_a_sequence():
    then_branch = graph_of([node("SequenceConstruct", ["x", "x"], ["a"])], "then", [], [sequence("a")])
    else_branch = graph_of([node("SequenceConstruct", ["part"], ["b"])], "else", [], [sequence("b")])
    nodes = [
        node("Slice", ["x", "zero", "two", "zero"], ["part"]),
        node("If", ["which"], ["s"], then_branch=then_branch, else_branch=else_branch),
        node("SequenceLength", ["s"], ["n"]),
        node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    model = model_of(
        nodes,
        [tensor("x", FLOAT, [4, 6]), tensor("which", BOOL, [])],
        [tensor("y"), tensor("n", INT)],
        zero=[0],
        two=[2],
    )
    check(model, (X, np.array(True)), (X, np.array(False)))


def test_optional_input_that_may_be_there():
    inside = helper.make_tensor_type_proto(FLOAT, [2, 3])
    given = helper.make_value_info("o", helper.make_optional_type_proto(inside))
    there = graph_of([node("OptionalGetElement", ["o"], ["p"])], "there", [], [tensor("p")])
    absent = graph_of([node("ConstantOfShape", ["shape"], ["a"])], "absent", [], [tensor("a")])
    nodes = [
        node("OptionalHasElement", ["o"], ["has"]),
        node("If", ["has"], ["y"], then_branch=there, else_branch=absent),
    ]
    model = model_of(nodes, [given], [tensor("y"), tensor("has", BOOL)], shape=[2, 3])
    for executor in ("vm", "aot"):
        compiled = relay.compile(model, executor=executor)
        x = X[:2, :3]
        y, has = compiled(x)
        np.testing.assert_array_equal(y, x)
        assert has
        y, has = compiled(None)
        np.testing.assert_array_equal(y, np.zeros((2, 3)))
        assert not has


def test_what_nothing_is_known_of_is_refused():
    body = graph_of(
        [node("Identity", ["go"], ["on"]), node("Identity", ["all"], ["same"])],
        "body",
        [tensor("i", INT, []), tensor("go", BOOL, []), sequence("all")],
        [tensor("on", BOOL, []), sequence("same")],
    )
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["n", "", "none"], ["s"], body=body),
        node("SequenceLength", ["s"], ["y"]),
    ]
    with pytest.raises(relay.CompileError, match="the tensors of value 0 of its state are unknown"):
        relay.load(model_of(nodes, [N], [tensor("y", INT)]))


def test_tensors_of_other_ranks_are_refused():
    nodes = [
        node("SplitToSequence", ["x", "sizes"], ["parts"]),
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("SequenceInsert", ["parts", "sum"], ["all"]),
        node("SequenceLength", ["all"], ["y"]),
    ]
    inputs = [tensor("x", shape=["n", 6]), tensor("sizes", INT, ["k"])]
    said = r"(?s)float32 is inserted into a sequence of Tensor\[\(\?, 6\), float32\].*--shape"
    with pytest.raises(relay.CompileError, match=said):
        relay.load(model_of(nodes, inputs, [tensor("y", INT)]))


@pytest.mark.parametrize("first", ["low", "n", "below"])
def test_slices_are_cut_to_what_there_is(first):
    """Bounds that are sizes of another input: beyond the end, and below zero."""
    nodes = [
        node("Shape", ["like"], ["n"]),
        node("Sub", ["n", "three"], ["below"]),
        node("Sub", ["n", "n"], ["low"]),
        node("Mul", ["n", "three"], ["high"]),
        node("Slice", ["x", first, "high"], ["a"]),
        node("Slice", ["x", first, "below", "zero", "steps"], ["b"]),
        node("Slice", ["x", "low", "below", "zero"], ["c"]),
    ]
    inputs = [tensor("x", FLOAT, ["rows", 6]), tensor("like", FLOAT, ["n"])]
    model = model_of(nodes, inputs, [tensor(name) for name in "abc"], three=[3], zero=[0], steps=[2])
    tries = [(np.resize(X, (rows, 6)), np.zeros(n, np.float32)) for rows in (1, 2, 7) for n in (0, 1, 2, 4, 9)]
    check(model, *tries, executors=["compiled"])
