"""Models with batch 0, known at import or at run time, return empty results with the right shapes: evaluated, compiled
for the virtual machine, and compiled to machine code."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import relay  # noqa: E402

node = helper.make_node
draw = np.random.default_rng(0)


def weights(**shapes):
    return {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def model_of(nodes, shape, outputs, constants):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def results(model, x):
    runs = {"evaluated": relay.evaluate(relay.load(model), [x])}
    for executor in ("vm", "aot"):
        runs[executor] = relay.compile(model, executor=executor)(x)
    return {how: [np.asarray(g) for g in (got if isinstance(got, tuple) else [got])] for how, got in runs.items()}


def check(nodes, shape, outputs, constants, wanted):
    """`shape` has "n" where the batch is; `wanted`: the shapes of the results."""
    x = np.zeros([0 if extent == "n" else extent for extent in shape], np.float32)
    for told in (shape, x.shape):
        for how, got in results(model_of(nodes, told, outputs, constants), x).items():
            assert [g.shape for g in got] == wanted, how
            assert all(g.dtype == np.float32 for g in got), how


def test_a_network_of_pictures():
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        node("AveragePool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["d"], ["e"]),
        node("MatMul", ["e", "v"], ["f"]),
        node("Softmax", ["f"], ["y"]),
    ]
    check(nodes, ["n", 3, 16, 16], ["y"], weights(w=(8, 3, 3, 3), v=(128, 10)), [(0, 10)])


def test_other_operators_of_networks_of_pictures():
    nodes = [
        node("Conv", ["x", "w"], ["a"], group=8, strides=[2, 2]),
        node("BatchNormalization", ["a", "one", "two", "one", "four"], ["b"]),
        node("ConvTranspose", ["b", "back"], ["c"], strides=[2, 2]),
        node("InstanceNormalization", ["c", "one", "two"], ["d"]),
        node("Resize", ["d", "", "", "sizes"], ["e"], mode="linear", axes=[2, 3]),
        node("GlobalAveragePool", ["e"], ["y"]),
        node("ReduceMean", ["e", "channels"], ["z"], keepdims=0),
    ]
    constants = weights(w=(8, 1, 3, 3), one=8, two=8, back=(8, 8, 2, 2)) | {"four": np.full(8, 4, np.float32)}
    constants |= {"sizes": np.array([9, 5]), "channels": np.array([1])}
    check(nodes, ["n", 8, 16, 16], ["y", "z"], constants, [(0, 8, 1, 1), (0, 9, 5)])


def test_attention():
    nodes = [
        node("LayerNormalization", ["x", "scale"], ["a"]),
        node("MatMul", ["a", "w"], ["qkv"]),
        node("Split", ["qkv"], ["q", "k", "v"], axis=2, num_outputs=3),
        node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Softmax", ["scores"], ["p"]),
        node("MatMul", ["p", "v"], ["b"]),
        node("Add", ["b", "x"], ["c"]),
        node("Sigmoid", ["c"], ["y"]),
    ]
    check(nodes, ["n", 7, 16], ["y"], weights(scale=16, w=(16, 48)), [(0, 7, 16)])


def test_a_product_of_rows():
    nodes = [node("Einsum", ["x", "w"], ["y"], equation="bij,jk->bik")]
    check(nodes, ["n", 3, 8], ["y"], weights(w=(8, 4)), [(0, 3, 4)])


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(kind, direction):
    """Nodes, outputs and weights: 4 inputs, 8 units."""
    ways = 2 if direction == "bidirectional" else 1
    outputs = ["y", "h", "c"] if kind == "LSTM" else ["y", "h"]
    gates = GATES[kind] * 8
    made = weights(w=(ways, gates, 4), r=(ways, gates, 8), b=(ways, 2 * gates))
    return [node(kind, ["x", *made], outputs, hidden_size=8, direction=direction)], outputs, made, ways


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_recurrent_networks(kind, direction):
    nodes, outputs, made, ways = recurrent(kind, direction)
    check(nodes, [5, "n", 4], outputs, made, [(5, ways, 0, 8), *[(ways, 0, 8)] * (len(outputs) - 1)])


def test_no_steps_leave_the_state_as_it_was():
    nodes, outputs, made, _ = recurrent("LSTM", "forward")
    nodes[0].input.extend(["", "before", "cell"])
    made |= weights(before=(1, 2, 8), cell=(1, 2, 8))
    for steps in ("steps", 0):
        model = model_of(nodes, [steps, 2, 4], outputs, made)
        for how, (y, h, c) in results(model, np.zeros((0, 2, 4), np.float32)).items():
            assert y.shape == (0, 1, 2, 8), how
            assert np.array_equal(h, made["before"]) and np.array_equal(c, made["cell"]), how


def value(*elements, dtype=np.int64):
    return np.array(elements, dtype)


def step_of_scan():
    info = helper.make_tensor_value_info
    ports = [info(name, TensorProto.FLOAT, [2]) for name in "aeso"]
    return helper.make_graph([node("Add", ["a", "e"], ["s"]), node("Neg", ["e"], ["o"])], "step", ports[:2], ports[2:])


def endless_step():
    info = helper.make_tensor_value_info
    ports = [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("a", TensorProto.FLOAT, [3])]
    ends = [info("d", TensorProto.BOOL, []), info("b", TensorProto.FLOAT, [3])]
    nodes = [node("Identity", ["c"], ["d"]), node("Identity", ["a"], ["b"])]
    return helper.make_graph(nodes, "step", ports, ends)


# name: (the node, the shape of x, constants, the shapes of the results)
OTHERS = {
    "Hardmax": (node("Hardmax", ["x"], ["y"], axis=1), [3, 0], {}, [(3, 0)]),
    "Unique of no slices": (
        node("Unique", ["x"], ["y", "i", "v", "c"], axis=0), [0, 3], {}, [(0, 3), (0,), (0,), (0,)],
    ),
    "Unique of slices without elements": (
        node("Unique", ["x"], ["y", "i", "v", "c"], axis=0), [3, 0], {}, [(1, 0), (1,), (3,), (1,)],
    ),
    "NonMaxSuppression": (
        node("NonMaxSuppression", ["x", "s", "m"], ["y"]), [1, 0, 4],
        {"s": np.zeros((1, 2, 0), np.float32), "m": value(5)}, [(0, 3)],
    ),
    "Scan": (
        node("Scan", ["i", "x"], ["y", "s"], body=step_of_scan(), num_scan_inputs=1), [0, 2],
        {"i": np.ones(2, np.float32)}, [(2,), (0, 2)],
    ),
    "Loop whose condition does not hold": (
        node("Loop", ["", "c", "x"], ["y"], body=endless_step()), [3], {"c": np.array(False)}, [(3,)],
    ),
    "OneHot of depth 0": (
        node("OneHot", ["x", "d", "v"], ["y"]), [3], {"d": value(0), "v": value(0, 1, dtype=np.float32)}, [(3, 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_an_operator(name):
    made, shape, constants, wanted = OTHERS[name]
    for got in results(model_of([made], shape, list(made.output), constants), np.zeros(shape, np.float32)).values():
        assert [g.shape for g in got] == wanted


def test_a_loop_whose_condition_stays_true_is_refused():
    loop = node("Loop", ["", "c", "x"], ["y"], body=endless_step())
    with pytest.raises(relay.CompileError, match="it never ends: it has neither a count nor a condition"):
        relay.load(model_of([loop], [3], ["y"], {"c": np.array(True)}))
