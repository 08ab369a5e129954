"""Shapes that are computed at run time: the messages of every executor for invalid ones."""

import numpy as np
import onnx
import onnx.helper as make
import pytest

import relay

HEAD = '#[version = "0.0.5"]\n'
EXECUTORS = ["vm", "aot"]


def int64(*values):
    return np.array(values, "int64")


X = np.arange(15, dtype="float32").reshape(3, 5)

# A parameter list, a body, inputs, and what the error says besides the place.
CASES = {
    "reshape": (
        "%x: Tensor[(3, 5), float32], %s: Tensor[(2), int64]",
        "dyn.reshape(%x, %s)",
        [X, int64(4, 4)],
        ["dyn.reshape: ", "`newshape` is [4, 4], of what must be: (rank,) integers with the same number of elements"],
    ),
    "topk": (
        "%x: Tensor[(n, 5), float32], %k: int64",
        "dyn.topk(%x, %k)",
        [X, np.int64(9)],
        [
            "dyn.topk: ",
            "`data` is float32[3, 5]",
            "`k` is 9, of what must be: () or (1,), an integer, at most the extent",
        ],
    ),
    "arange": (
        "%a: float32, %b: float32, %c: float32",
        "arange(%a, %b, %c)",
        [np.float32(0), np.float32(1.5), np.float32(0)],
        ["arange: ", "`stop` is 1.5,", "`step` is 0, of what must be: the distance between values, other than 0"],
    ),
    "arange of a constant step": (
        "%b: int32",
        "arange(0, %b, 0)",
        [np.int32(4)],
        [
            "arange: ",
            "`start` is 0,",
            "`stop` is 4,",
            "`step` is 0, of what must be: the distance between values, other than 0",
        ],
    ),
    "full": (
        "%s: Tensor[(2), int32]",
        "dyn.full(1f, %s)",
        [np.array([2, -3], "int32")],
        ["dyn.full: ", "`shape` is [2, -3], of what must be: (rank,) non-negative sizes"],
    ),
    "too large": (
        "%s: Tensor[(2), int64]",
        'dyn.zeros(%s, dtype="int8")',
        [int64(2**40, 2**40)],
        ["R0405", "dyn.zeros: ", "is too large: (1099511627776, 1099511627776)", "`shape` is [1099511627776, "],
    ),
    "strided_slice": (
        "%x: Tensor[(3, 5), float32], %b: Tensor[(1), int64]",
        "dyn.strided_slice(%x, %b, %b, %b)",
        [X, int64(0)],
        ["dyn.strided_slice: ", "`strides` is [0], of what must be: (axes,) integers, not zero"],
    ),
    "squeeze": (
        "%x: Tensor[(3, 5), float32], %a: Tensor[(1), int64]",
        "dyn.squeeze(%x, %a)",
        [X, int64(0)],
        ["dyn.squeeze: ", "`axes` is [0], of what must be: (count,) integers: different axes of extent 1"],
    ),
    "broadcast_to": (
        "%x: Tensor[(3, 5), float32], %s: Tensor[(2), int64]",
        "dyn.broadcast_to(%x, %s)",
        [X, int64(3, 4)],
        ["dyn.broadcast_to: ", "`data` is float32[3, 5]", "`shape` is [3, 4]"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_shape_is_for_is_said(name, tmp_path):
    parameters, body, inputs, said = CASES[name]
    module = relay.parse(f"{HEAD}def @main({parameters}) {{\n  {body}\n}}\n")
    runs = [lambda *given: relay.evaluate(module, list(given))]
    for executor in EXECUTORS:
        compiled = relay.compile(module, executor=executor)
        compiled.save(tmp_path / f"{executor}.rart")
        runs += [compiled, relay.load(tmp_path / f"{executor}.rart")]
    for run in runs:
        with pytest.raises(relay.errors.CompileError) as error:
            run(*inputs)
        text = str(error.value)
        assert all(part in text for part in said), text
    assert ":3:3" in text, text  # the line and column of the call


@pytest.mark.parametrize("executor", EXECUTORS)
def test_shapes_that_fit_are_made_as_before(executor):
    module = relay.parse(HEAD + "def @main(%x: Tensor[(n, 5), float32], %k: int64) { dyn.topk(%x, %k) }\n")
    compiled = relay.compile(module, executor=executor)
    for k in (1, 5, 0):
        values, places = compiled(X, np.int64(k))
        np.testing.assert_array_equal(values, X[:, ::-1][:, : k or 5])
        np.testing.assert_array_equal(places, np.arange(5)[None, ::-1][:, : k or 5].repeat(3, 0))


def onnx_model(node, inputs):
    ports = [make.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    graph = make.make_graph([node], "g", ports, [make.make_tensor_value_info("y", onnx.TensorProto.INT64, None)])
    if node.op_type not in ("Range",):
        graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 21)], ir_version=10)


INT64, FLOAT = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
NODES = {
    "Range": (
        [("a", INT64, []), ("b", INT64, []), ("c", INT64, [])],
        [np.int64(0), np.int64(5), np.int64(0)],
        "`step` is 0",
    ),
    "ConstantOfShape": ([("s", INT64, [2])], [int64(-1, 3)], "`shape` is [-1, 3]"),
    "Reshape": ([("x", FLOAT, ["N", 5]), ("s", INT64, [2])], [X, int64(4, 4)], "`newshape` is [4, 4]"),
    "Slice": (
        [("x", FLOAT, ["N", 5])] + [(name, INT64, [1]) for name in "seat"],
        [X, int64(0), int64(3), int64(1), int64(0)],
        "a value in steps is 0",
    ),
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("op", NODES)
def test_the_node_of_a_model_is_named(op, executor):
    inputs, given, said = NODES[op]
    node = make.make_node(op, [name for name, _, _ in inputs], ["y"], name="asked")
    compiled = relay.compile(onnx_model(node, inputs), executor=executor)
    with pytest.raises(relay.errors.CompileError, match="R0601") as error:
        compiled(*given)
    assert f"{op} 'asked'" in str(error.value) and said in str(error.value), str(error.value)
