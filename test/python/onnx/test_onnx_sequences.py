"""Sequences that are created and read in one graph, and operators without examples in ONNX, compared with ONNX
Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

import relay  # noqa: E402

node = helper.make_node
X = np.arange(24, dtype=np.float32).reshape(4, 6) - 11


def check(tmp_path, nodes, outputs="y", x=X, **constants):
    """`constants`: ints. `outputs`: float32, or "n:int64"."""
    types = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL}
    split = [(name.split(":") + ["float32"])[:2] for name in outputs.split()]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(name, types[dtype], None) for name, dtype in split],
        [onnx.numpy_helper.from_array(np.array(v, np.int64), name) for name, v in constants.items()],
    )
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    got = relay.compile(path)(x)
    for g, e in zip(got if isinstance(got, tuple | list) else [got], expected, strict=True):
        np.testing.assert_allclose(np.asarray(g), e, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("split", [[1, 3], [2, 2], 3, None])
def test_split_and_concatenate(tmp_path, split):
    given = {} if split is None else {"split": split}
    nodes = [
        node("SplitToSequence", ["x", *given], ["s"], axis=0),
        node("SequenceLength", ["s"], ["n"]),
        node("SequenceAt", ["s", "last"], ["e"]),
        node("ConcatFromSequence", ["s"], ["all"], axis=0),
        node("Sub", ["all", "x"], ["zero"]),
    ]
    check(tmp_path, nodes, "n:int64 e zero", last=-1, **given)


def test_insert_erase_and_stack(tmp_path):
    nodes = [
        node("Neg", ["x"], ["m"]),
        node("SequenceEmpty", [], ["none"]),
        node("SequenceInsert", ["none", "x"], ["s1"]),
        node("SequenceInsert", ["s1", "m", "zero"], ["s2"]),
        node("SequenceConstruct", ["x", "m", "m"], ["three"]),
        node("SequenceErase", ["three", "one"], ["two"]),
        node("ConcatFromSequence", ["s2"], ["y"], axis=1, new_axis=1),
        node("ConcatFromSequence", ["two"], ["z"], axis=-1),
    ]
    check(tmp_path, nodes, "y z", zero=0, one=1)


def test_map(tmp_path):
    def port(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)

    body = helper.make_graph([node("Mul", ["e", "by"], ["f"])], "body", [port("e"), port("by")], [port("f")])
    nodes = [
        node("SplitToSequence", ["x", "split"], ["s"], axis=1),
        node("ReduceMax", ["x"], ["top"], keepdims=0),
        node("SequenceMap", ["s", "top"], ["t"], body=body),
        node("ConcatFromSequence", ["t"], ["y"], axis=1),
    ]
    check(tmp_path, nodes, split=2)


def test_optional(tmp_path):
    nodes = [
        node("Optional", ["x"], ["o"]),
        node("OptionalHasElement", ["o"], ["has"]),
        node("OptionalGetElement", ["o"], ["y"]),
    ]
    check(tmp_path, nodes, "has:bool y")


def test_a_sequence_is_no_tensor(tmp_path):
    with pytest.raises(relay.CompileError, match="a sequence (or an optional value )?is used where a tensor is needed"):
        nodes = [node("SequenceConstruct", ["x"], ["s"]), node("Relu", ["s"], ["y"])]
        graph = helper.make_graph(
            nodes,
            "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        )
        onnx.save(helper.make_model(graph), tmp_path / "model.onnx")
        relay.load(str(tmp_path / "model.onnx"))


@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_norm_pool(tmp_path, p):
    check(tmp_path, [node("GlobalLpPool", ["x"], ["y"], p=p)], x=X.reshape(1, 2, 3, 4))


@pytest.mark.parametrize(("starts", "ends", "step"), [(1, 3, 1), (-3, -1, 1), (0, 100, 2), (-100, 2, 1), (3, 1, 1)])
def test_slice_with_computed_bounds(tmp_path, starts, ends, step):
    """Bounds that the model computes from its data: the sizes of the result are not known before."""
    nodes = [
        node("ReduceMax", ["x"], ["top"], keepdims=0),
        node("Cast", ["top"], ["number"], to=TensorProto.INT64),
        node("Sub", ["number", "number"], ["nothing"]),
        node("Add", ["nothing", "starts"], ["from"]),
        node("Add", ["nothing", "ends"], ["before"]),
        node("Slice", ["x", "from", "before", "axes", "steps"], ["y"]),
        node("Shape", ["y"], ["shape"]),
        node("Reshape", ["y", "shape"], ["z"]),
        node("Expand", ["one", "shape"], ["ones"]),
        node("ConstantOfShape", ["shape"], ["zeros"]),
    ]
    check(
        tmp_path, nodes, "y z ones:int64 zeros", starts=[starts], ends=[ends], axes=[0], steps=[step], one=[1]
    )  # fmt: skip


# --- sequences and optional values as inputs --------------------------------------------------------------------------
def tensors(*shapes):
    random = np.random.default_rng(0)
    return tuple(random.standard_normal(shape).astype(np.float32) for shape in shapes)


def value(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def listing(nodes, output, kind="sequence"):
    """A model whose input `s` is a sequence, optional, or an optional sequence."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    inside = helper.make_sequence_type_proto(tensor) if kind != "optional" else tensor
    given = inside if kind == "sequence" else helper.make_optional_type_proto(inside)
    graph = helper.make_graph(nodes, "graph", [helper.make_value_info("s", given)], [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.mark.parametrize("executor", ["compiled", "vm", "aot"])
def test_sequence_as_input(executor):
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = listing([node("ConcatFromSequence", ["s"], ["y"], axis=0)], output)
    given = tensors((2, 3), (4, 3), (1, 3))
    compiled = relay.compile(model, shapes={"s": [(2, 3), (4, 3), (1, 3)]}, executor=executor)
    np.testing.assert_array_equal(compiled(given), np.concatenate(given))
    by_name = relay.load(model, shapes={"s.0": (2, 3), "s.1": (4, 3), "s.2": (1, 3)})
    np.testing.assert_array_equal(relay.evaluate(by_name, [given]), np.concatenate(given))


def test_empty_sequence_as_input():
    model = listing([node("SequenceLength", ["s"], ["n"])], helper.make_tensor_value_info("n", TensorProto.INT64, []))
    assert relay.compile(model, shapes={"s": ()})(()) == 0
    assert relay.compile(model, shapes={"s": [(2,), (3,)]})(tensors((2,), (3,))) == 2


def test_optional_tensor_as_input():
    """An absent optional is not an input."""
    present = helper.make_graph([node("OptionalGetElement", ["s"], ["p"])], "present", [], [value("p")])
    absent = helper.make_graph([node("ConstantOfShape", ["two"], ["a"])], "absent", [], [value("a")])
    nodes = [
        node("Constant", [], ["two"], value_ints=[2]),
        node("OptionalHasElement", ["s"], ["there"]),
        node("If", ["there"], ["y"], then_branch=present, else_branch=absent),
    ]
    model = listing(nodes, value("y"), "optional")
    (x,) = tensors((3,))
    np.testing.assert_array_equal(relay.compile(model, shapes={"s": [(3,)]})(x), x)
    np.testing.assert_array_equal(relay.compile(model, shapes={"s": None})(), [0, 0])


@pytest.mark.parametrize(
    ("kind", "shapes", "code", "said"),
    [
        ("sequence", {}, "R0403", "'s' is a sequence, and its tensors are unknown"),
        ("optional", {}, "R0403", "'s' is optional, and it is unknown whether it is present"),
        ("sequence", {"s": (2, 3)}, "R0504", "is that of a single tensor"),
        ("optional", {"s": [(2,), (3,)]}, "R0504", "'s' is at most one tensor"),
        ("sequence", {"s.0": (2,), "s.2": (2,)}, "R0504", "'s.2', but the model has no such input"),
        ("sequence", {"s": [(-1, 3)]}, "R0504", "'s.0', whose sizes are not all known"),
        ("sequence", {"s": [(-2, 3)]}, "R0504", "'s.0', [-2, 3], has a negative size"),
        ("optional", {"s": None}, "R0404", "the optional value is absent"),
    ],
)
def test_what_is_told_of_sequences_is_checked(kind, shapes, code, said):
    nodes = [node("OptionalGetElement", ["s"], ["y"])]
    with pytest.raises(relay.CompileError) as refused:
        relay.load(listing(nodes, value("y"), kind), shapes=shapes)
    assert code in str(refused.value) and said in str(refused.value) and "help:" in str(refused.value)


@pytest.mark.parametrize(
    ("count", "work", "code"),
    [
        (1 << 60, [], "R0405"),  # steps that do nothing
        (None, [], "R0405"),  # and no end at all
        (1 << 60, [node("SequenceInsert", ["state", "x"], ["more"])], "R0405"),
    ],
)
def test_unrolled_loops_end(count, work, code):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    sequence = helper.make_tensor_sequence_value_info("state", TensorProto.FLOAT, None)
    results = [
        helper.make_tensor_value_info("on", TensorProto.BOOL, []),
        helper.make_tensor_sequence_value_info("more" if work else "state", TensorProto.FLOAT, None),
    ]
    step = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    body = helper.make_graph(work, "body", [step, results[0], sequence], results)
    nodes = [
        node("Constant", [], ["count"], value_int=count or 0),
        node("SequenceConstruct", ["x"], ["s"]),
        node("Loop", ["count" if count else "", "", "s"], ["all"], body=body),
        node("SequenceLength", ["all"], ["n"]),
    ]
    graph = helper.make_graph(nodes, "graph", [x], [helper.make_tensor_value_info("n", TensorProto.INT64, [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    with pytest.raises(relay.CompileError, match=code):
        relay.load(model)
