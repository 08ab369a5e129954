"""Model-local functions with graphs as attributes: names in such a graph refer to values at the call, not to values of
the function."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import AttributeProto, TensorProto, helper, parser  # noqa: E402

import relay  # noqa: E402

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]


def graph_of(text, outputs):
    """Nodes as a graph without inputs."""
    nodes = parser.parse_graph(f"g () => (float y) {{ {text} }}").node
    return helper.make_graph(
        nodes, "g", [], [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    )


def given(node, **attributes):
    """The node with attributes that are those of the enclosing function."""
    for name, of_function in attributes.items():
        node.attribute.append(AttributeProto(name=name, ref_attr_name=of_function, type=AttributeProto.GRAPH))
    return node


def function(name, inputs, outputs, nodes, attributes):
    return helper.make_function("own", name, inputs, outputs, nodes, OPSETS, attributes)


# y = x > 0 in sum ? yes : no. Its own names are those that the graphs use for other things.
CHOOSE = function(
    "Choose", ["x"], ["y"],
    [
        helper.make_node("ReduceSum", ["x"], ["a"], keepdims=0),
        helper.make_node("Constant", [], ["b"], value_float=0.0),
        helper.make_node("Greater", ["a", "b"], ["c"]),
        given(helper.make_node("If", ["c"], ["y"]), then_branch="yes", else_branch="no"),
    ],
    ["yes", "no"],
)  # fmt: skip
# Hands its graphs on.
OUTER = function(
    "Outer", ["b"], ["c"],
    [
        helper.make_node("Neg", ["b"], ["a"]),
        given(helper.make_node("Choose", ["a"], ["c"], domain="own"), yes="first", no="second"),
    ],
    ["first", "second"],
)  # fmt: skip


def run(nodes, functions, *arrays):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "ab"]
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "main", ports, [out])
    model = helper.make_model(graph, opset_imports=OPSETS, functions=functions, ir_version=8)
    return relay.compile(model)(*arrays)


A, B = np.array([1, 2, 3], np.float32), np.array([10, 20, 30], np.float32)
YES, NO = graph_of("t = Add(a, b)", ["t"]), graph_of("t = Sub(a, b)", ["t"])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_graph_sees_the_names_of_its_call(sign):
    call = helper.make_node("Choose", ["a"], ["out"], domain="own", yes=YES, no=NO)
    a = sign * A
    np.testing.assert_array_equal(run([call], [CHOOSE], a, B), a + B if sign > 0 else a - B)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_function_hands_a_graph_on(sign):
    call = helper.make_node("Outer", ["a"], ["out"], domain="own", first=YES, second=NO)
    a = sign * A
    np.testing.assert_array_equal(run([call], [CHOOSE, OUTER], a, B), a - B if sign > 0 else a + B)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_graph_that_calls_the_function_it_is_given_to(sign):
    inner = helper.make_graph(
        [helper.make_node("Choose", ["b"], ["u"], domain="own", yes=YES, no=NO)], "inner", [],
        [helper.make_tensor_value_info("u", TensorProto.FLOAT, None)],
    )  # fmt: skip
    call = helper.make_node("Choose", ["a"], ["out"], domain="own", yes=inner, no=NO)
    a = sign * A
    np.testing.assert_array_equal(run([call], [CHOOSE], a, B), a + B if sign > 0 else a - B)


@pytest.mark.parametrize("times", [0, 3])
def test_a_graph_in_a_loop_of_the_function(times):
    """The body of the function's loop has the graph in it, which uses a value computed in front of the call."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["goes"]),
            given(helper.make_node("If", ["go"], ["t"]), then_branch="yes", else_branch="no"),
            helper.make_node("Add", ["s", "t"], ["s2"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [3]),
        ],
        [
            helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s2", TensorProto.FLOAT, [3]),
        ],
    )
    again = function(
        "Again", ["x"], ["y"],
        [
            helper.make_node("Constant", [], ["n"], value_int=times),
            helper.make_node("Constant", [], ["zero"], value_float=0.0),
            helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
            helper.make_node("Greater", ["most", "zero"], ["go"]),
            helper.make_node("Loop", ["n", "go", "x"], ["y"], body=body),
        ],
        ["yes", "no"],
    )  # fmt: skip
    nodes = [
        helper.make_node("Exp", ["b"], ["e"]),
        helper.make_node("Again", ["a"], ["sum"], domain="own", yes=graph_of("t = Mul(e, a)", ["t"]), no=NO),
        helper.make_node("Add", ["sum", "e"], ["out"]),
    ]
    small = B / 30
    np.testing.assert_allclose(run(nodes, [again], A, small), A + times * np.exp(small) * A + np.exp(small), rtol=1e-5)


def test_a_graph_does_not_see_the_names_of_the_function():
    call = helper.make_node("Choose", ["a"], ["out"], domain="own", yes=graph_of("t = Identity(c)", ["t"]), no=NO)
    with pytest.raises(relay.CompileError, match="(?s)R0404.*Identity.*uses 'c', which is not defined"):
        run([call], [CHOOSE], A, B)
