"""Subgraphs (If, Loop, Scan), recurrent networks and model-local functions, compared with ONNX Runtime: evaluated,
compiled for the virtual machine, and compiled to machine code."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

import relay  # noqa: E402

TYPES = {
    np.dtype("float32"): TensorProto.FLOAT,
    np.dtype("int64"): TensorProto.INT64,
    np.dtype("bool"): TensorProto.BOOL,
}
node = helper.make_node


def port(name, dtype="float32", shape=None):
    return helper.make_tensor_value_info(name, TYPES[np.dtype(dtype)], shape)


def ports(text, dtype="float32"):
    return [port(name, dtype) for name in text.split()]


def constant(name, value, dtype="float32"):
    return onnx.numpy_helper.from_array(np.array(value, dtype), name)


def check(tmp_path, nodes, inputs, outputs, constants=(), shapes=None, functions=(), opset=18, more_opsets=()):
    """`outputs`: names of float32 results (or of another type: "n:int64")."""
    shapes = shapes or {}
    graph = helper.make_graph(
        nodes,
        "graph",
        [port(name, value.dtype, shapes.get(name, value.shape)) for name, value in inputs.items()],
        [port(name.split(":")[0], (name.split(":") + ["float32"])[1]) for name in outputs.split()],
        list(constants),
    )
    opsets = [helper.make_opsetid("", opset), *more_opsets]
    model = helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)
    path = str(tmp_path / "model.onnx")
    onnx.save(model, path)
    module = relay.load(path)
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)
    arguments = list(inputs.values())
    runs = {"evaluated": relay.evaluate(module, arguments)}
    for executor in ("vm", "aot"):
        runs[executor] = relay.compile(module, executor=executor)(*arguments)
    for how, got in runs.items():
        got = got if isinstance(got, tuple | list) else [got]
        assert len(got) == len(expected), how
        for g, e in zip(got, expected, strict=True):
            assert np.asarray(g).dtype == e.dtype, how
            if e.size == 0:  # ONNX Runtime forgets the axes of what no step gives
                assert np.asarray(g).size == 0, how
                continue
            np.testing.assert_allclose(np.asarray(g), e, rtol=1e-5, atol=1e-6, err_msg=how)
    return module


X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("condition", [True, False])
def test_branches_of_other_sizes(tmp_path, condition):
    then_branch = helper.make_graph(
        [node("Concat", ["x", "x"], ["a"], axis=0), node("Neg", ["x"], ["b"])], "t", [], ports("a b")
    )
    else_branch = helper.make_graph([node("Relu", ["x"], ["c"]), node("Exp", ["x"], ["d"])], "e", [], ports("c d"))
    nodes = [
        node("If", ["which"], ["y", "z"], then_branch=then_branch, else_branch=else_branch),
        node("Add", ["y", "one"], ["more"]),
    ]
    inputs = {"which": np.array(condition), "x": X}
    module = check(tmp_path, nodes, inputs, "more z", [constant("one", 1.0)], shapes={"x": ["n", 3]})
    assert "Tensor[(?, 3), float32]" in module.astext()


def test_branches_of_other_ranks_are_refused(tmp_path):
    branches = [
        helper.make_graph([node("Identity", ["x"], ["a"])], "t", [], ports("a")),
        helper.make_graph([node("ReduceSum", ["x"], ["b"], keepdims=0)], "e", [], ports("b")),
    ]
    nodes = [node("If", ["which"], ["y"], then_branch=branches[0], else_branch=branches[1])]
    said = (
        r"(?s)output 0 is Tensor\[\(\d, \d\), float32\] in then_branch and float32 in else_branch.*condition a constant"
    )
    with pytest.raises(relay.CompileError, match=said):
        check(tmp_path, nodes, {"which": np.array(True), "x": X}, "y")


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_a_branch_that_given_shapes_contradict_ends_the_run(executor):
    """It is not an error of the model: for other shapes the other branch would be impossible."""
    weights = [helper.make_tensor(name, 1, [n, 2], range(2 * n)) for name, n in (("four", 4), ("six", 6))]
    branches = [
        helper.make_graph([node("MatMul", ["x", "four"], ["a"]), node("Neg", ["x"], ["b"])], "t", [], ports("a b")),
        helper.make_graph([node("MatMul", ["x", "six"], ["c"]), node("Exp", ["x"], ["d"])], "e", [], ports("c d")),
    ]
    nodes = [node("If", ["which"], ["y", "z"], then_branch=branches[0], else_branch=branches[1])]
    inputs = [port("which", "bool", []), port("x", "float32", ["n", "m"])]
    graph = helper.make_graph(nodes, "graph", inputs, ports("y z"), weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for width, which in ((4, True), (6, False)):
        run = relay.compile(model, executor=executor, shapes={"x": (3, width)})
        x = np.random.default_rng(width).standard_normal((3, width)).astype(np.float32)
        for got, want in zip(
            run(np.array(which), x), session.run(None, {"which": np.array(which), "x": x}), strict=True
        ):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        taken, other = ("else_branch", "then_branch")[:: 1 if which else -1]
        said = rf"(?s)R0601.*selects {taken}, .* exclude \(x is \(3, {width}\)\): .*{width} against .*If"
        with pytest.raises(relay.CompileError, match=rf"{said}.*help: .*selects {other}"):
            run(np.array(not which), x)
        with pytest.raises(relay.CompileError, match=said):
            relay.evaluate(relay.load(model, shapes={"x": (3, width)}), [np.array(not which), x])
    with pytest.raises(relay.CompileError, match="MatMul"):  # neither branch can be
        relay.compile(model, shapes={"x": (3, 5)})


def loop_body(nodes, states, scans="", condition="go", constants=(), dtype="float32"):
    """`states`: names in and out, "s:t"; the condition is what came in, unless it is another name."""
    pairs = [pair.split(":") for pair in states.split()]
    inputs = [port("i", "int64", []), port("go", "bool", []), *ports(" ".join(a for a, _ in pairs), dtype)]
    if condition == "go":
        nodes, condition = [*nodes, node("Identity", ["go"], ["went"])], "went"
    outputs = [port(condition, "bool", []), *ports(" ".join(b for _, b in pairs), dtype), *ports(scans)]
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_loop(tmp_path, count):
    """A state, stacked outputs, a value from outside that is computed once."""
    body = loop_body(
        [
            node("Add", ["s", "twice"], ["t"]),
            node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            node("Mul", ["t", "f"], ["y"]),
        ],
        "s:t",
        "y",
    )
    nodes = [node("Add", ["x", "x"], ["twice"]), node("Loop", ["count", "", "x"], ["last", "all"], body=body)]
    check(tmp_path, nodes, {"count": np.array(count, np.int64), "x": X}, "last all")


def test_loop_of_a_known_number_of_steps(tmp_path):
    body = loop_body([node("Add", ["s", "x"], ["t"]), node("Neg", ["t"], ["y"])], "s:t", "y")
    nodes = [node("Loop", ["count", "yes", "x"], ["last", "all"], body=body), node("Reshape", ["all", "flat"], ["out"])]
    constants = [constant("count", 4, "int64"), constant("yes", True, "bool"), constant("flat", [4, -1], "int64")]
    module = check(tmp_path, nodes, {"x": X}, "last out", constants)
    assert "(4, 6)" in str(module["main"].ret_type)


@pytest.mark.parametrize(("limit", "begins"), [(3.0, True), (100.0, True), (-100.0, True), (3.0, False)])
def test_loop_until_a_condition_fails(tmp_path, limit, begins):
    nodes = [
        node("Add", ["s", "x"], ["t"]),
        node("ReduceMax", ["t"], ["top"], keepdims=0),
        node("Less", ["top", "limit"], ["more"]),
    ]
    body = loop_body([*nodes, node("Identity", ["t"], ["y"])], "s:t", "y" if begins else "", condition="more")
    outputs = ["last", "all"] if begins else ["last"]
    nodes = [node("Loop", ["count", "begins", "x"], outputs, body=body)]
    inputs = {"count": np.array(20, np.int64), "begins": np.array(begins), "x": X, "limit": np.array(limit, np.float32)}
    check(tmp_path, nodes, inputs, " ".join(outputs))


@pytest.mark.parametrize("begins", [True, False])
def test_loop_that_begins_or_not(tmp_path, begins):
    """The body hands the condition on as it came; the state grows."""
    body = loop_body([node("Concat", ["s", "x"], ["t"], axis=0)], "s:t")
    nodes = [node("Loop", ["count", "begins", "x"], ["last"], body=body)]
    check(tmp_path, nodes, {"count": np.array(3, np.int64), "begins": np.array(begins), "x": X}, "last")


def test_loop_without_a_count(tmp_path):
    body = loop_body(
        [
            node("Add", ["s", "x"], ["t"]),
            node("ReduceMax", ["t"], ["top"], keepdims=0),
            node("Less", ["top", "limit"], ["more"]),
        ],
        "s:t",
        condition="more",
    )
    nodes = [node("Loop", ["", "yes", "x"], ["last"], body=body)]
    check(tmp_path, nodes, {"x": X}, "last", [constant("limit", 50.0), constant("yes", True, "bool")])


def test_state_that_grows(tmp_path):
    body = loop_body([node("Concat", ["s", "x"], ["t"], axis=0)], "s:t")
    nodes = [
        node("Loop", ["count", "", "x"], ["last"], body=body),
        node("ReduceSum", ["last", "axes"], ["sum"], keepdims=0),
    ]
    inputs = {"count": np.array(3, np.int64), "x": X}
    check(tmp_path, nodes, inputs, "last sum", [constant("axes", [0], "int64")], shapes={"x": ["n", 3]})


def test_nested_loops_and_branches(tmp_path):
    inner = helper.make_graph(
        [node("Add", ["u", "s"], ["v"]), node("Identity", ["go2"], ["went2"])],
        "inner",
        [port("j", "int64", []), port("go2", "bool", []), port("u")],
        [port("went2", "bool", []), port("v")],
    )
    branches = [
        helper.make_graph([node("Sub", ["r", "outside"], ["a"])], "t", [], ports("a")),
        helper.make_graph([node("Mul", ["r", "outside"], ["b"])], "e", [], ports("b")),
    ]
    body = loop_body(
        [
            node("Loop", ["i", "", "s"], ["r"], body=inner),
            node("Mod", ["i", "two"], ["odd"]),
            node("Cast", ["odd"], ["is_odd"], to=TensorProto.BOOL),
            node("If", ["is_odd"], ["t"], then_branch=branches[0], else_branch=branches[1]),
        ],
        "s:t",
        constants=[constant("two", 2, "int64")],
    )
    nodes = [node("Exp", ["x"], ["outside"]), node("Loop", ["count", "", "x"], ["y"], body=body)]
    check(tmp_path, nodes, {"count": np.array(4, np.int64), "x": X}, "y")


@pytest.mark.parametrize("number_is_first", [True, False])
@pytest.mark.parametrize("form", ["loop", "loop with outputs", "nested loops", "scan", "branches"])
def test_a_number_found_elsewhere_is_the_size_of_a_state(tmp_path, form, number_is_first):
    """The state is x[m] + w[n], and another node is w[n] + k[4]."""
    step = node("Add", ["s", "w"], ["t"])
    product = node("Mul", ["t", "x"], ["y"])
    loop = node("Loop", ["two", "", "start"], ["last"], body=loop_body([step], "s:t"))
    if form == "loop with outputs":
        loop = node("Loop", ["two", "", "start"], ["last", "all"], body=loop_body([step, product], "s:t", "y"))
    if form == "nested loops":
        inner = node("Loop", ["i", "", "r"], ["u"], body=loop_body([step], "s:t"))
        loop = node("Loop", ["two", "", "start"], ["last"], body=loop_body([inner], "r:u"))
    if form == "scan":
        state, results = [port("s", shape=["a"]), port("row", shape=["a"])], [port("t", shape=["a"])]
        product = node("Mul", ["t", "row"], ["y"])
        body = helper.make_graph([step, product], "body", state, [*results, port("y", shape=["a"])])
        loop = node("Scan", ["start", "rows"], ["last", "all"], num_scan_inputs=1, body=body)
    if form == "branches":
        sides = [helper.make_graph([node("Neg", ["start"], ["a"])], "t", [], ports("a"))]
        sides.append(helper.make_graph([node("Max", ["w", "x"], ["b"])], "e", [], ports("b")))
        loop = node("If", ["which"], ["last"], then_branch=sides[0], else_branch=sides[1])
    nodes = [node("Add", ["x", "w"], ["start"]), loop]
    nodes.insert(0 if number_is_first else 2, node("Add", ["w", "k"], ["sum"]))
    inputs = {"x": np.arange(4, dtype=np.float32), "w": np.ones(4, np.float32)}
    shapes = {"x": ["m"], "w": ["n"], "rows": ["r", "m"]}
    if form == "scan":
        inputs["rows"] = np.ones((3, 4), np.float32)
    if form == "branches":
        inputs["which"] = np.array(True)
    outputs = f"last sum {'all' if form in ('loop with outputs', 'scan') else ''}"
    constants = [constant("two", 2, "int64"), constant("k", range(4))]
    module = check(tmp_path, nodes, inputs, outputs, constants, shapes=shapes)
    assert "%x: Tensor[(4), float32], %w: Tensor[(4), float32]" in module.astext()


def test_loop_that_never_ends_is_refused(tmp_path):
    body = loop_body([node("Neg", ["s"], ["t"])], "s:t")
    with pytest.raises(relay.CompileError, match="it never ends"):
        check(tmp_path, [node("Loop", ["", "", "x"], ["y"], body=body)], {"x": X}, "y")


@pytest.mark.parametrize("directions", [[0, 0], [1, 0], [0, 1]])
def test_scan(tmp_path, directions):
    """Two tensors along other axes and in other directions, and a second output along another axis."""
    body = helper.make_graph(
        [
            node("Add", ["s", "a"], ["p"]),
            node("Mul", ["p", "b"], ["t"]),
            node("Identity", ["t"], ["y"]),
            node("Neg", ["p"], ["z"]),
        ],
        "body",
        [port("s", shape=[3]), port("a", shape=[3]), port("b", shape=[3])],
        [port("t", shape=[3]), port("y", shape=[3]), port("z", shape=[3])],
    )
    scan = node(
        "Scan", ["first", "x", "w"], ["last", "ys", "zs"], body=body, num_scan_inputs=2, scan_input_axes=[0, 1],
        scan_input_directions=directions, scan_output_axes=[0, 1],
    )  # fmt: skip
    w = np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5)
    inputs = {"first": X[0], "x": np.tile(X, (3, 1))[:5], "w": w}
    check(tmp_path, [scan], inputs, "last ys zs", shapes={"x": ["t", 3], "w": [3, "t"]})


def numpy_lstm(x, w, r, b, h, c):
    for step in x:
        i, o, f, g = np.split(step @ w.T + h @ r.T + b[: len(b) // 2] + b[len(b) // 2 :], 4, axis=1)
        sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        yield h


@pytest.mark.parametrize("length", [1, 4, 7])
def test_lstm_of_any_length(tmp_path, length):
    """Two directions, compiled once for sequences of any length."""
    rng = np.random.default_rng(length)
    w, r, b = (rng.standard_normal(s).astype(np.float32) for s in ((2, 20, 3), (2, 20, 5), (2, 40)))
    x = rng.standard_normal((length, 2, 3)).astype(np.float32)
    lstm = node("LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=5, direction="bidirectional")
    constants = [constant(n, v) for n, v in {"w": w, "r": r, "b": b}.items()]
    graph = helper.make_graph([lstm], "g", [port("x", shape=["t", 2, 3])], ports("y h"), constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), tmp_path / "lstm.onnx")
    y, h = relay.compile(str(tmp_path / "lstm.onnx"))(x)
    zero = np.zeros((2, 5), np.float32)
    forward = np.stack(list(numpy_lstm(x, w[0], r[0], b[0], zero, zero)))
    backward = np.stack(list(numpy_lstm(x[::-1], w[1], r[1], b[1], zero, zero)))
    np.testing.assert_allclose(y, np.stack([forward, backward[::-1]], 1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(h, [forward[-1], backward[-1]], rtol=1e-5, atol=1e-5)


def function(name, inputs, outputs, nodes, attributes=(), defaults=()):
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    made = helper.make_function("own", name, inputs, outputs, nodes, opsets, list(attributes))
    made.attribute_proto.extend(defaults)
    return made


def reference(op, inputs, outputs, **attributes):
    """A node whose attributes are those of the function around it: name=name_there."""
    made = node(op, inputs, outputs)
    for name, (there, kind) in attributes.items():
        made.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=there, type=kind))
    return made


def test_functions(tmp_path):
    """Functions that call functions, with attributes that are handed down, defaults, and names that are the caller's
    too."""
    leaky = reference("LeakyRelu", ["x"], ["y"], alpha=("slope", onnx.AttributeProto.FLOAT))
    activation = function("Activation", ["x"], ["y"], [leaky], defaults=[helper.make_attribute("slope", 0.5)])
    inner = reference("Activation", ["t"], ["u"], slope=("by", onnx.AttributeProto.FLOAT))
    inner.domain = "own"
    block = function("Block", ["x", "w"], ["u", "t"], [node("Mul", ["x", "w"], ["t"]), inner], ["by"])
    nodes = [
        node("Block", ["x", "x"], ["t", "x2"], domain="own", by=0.125),
        node("Activation", ["t"], ["u"], domain="own"),
        node("Activation", ["x"], ["v"], domain="own", slope=3.0),
    ]
    check(
        tmp_path, nodes, {"x": X}, "u v x2", functions=[activation, block], more_opsets=[helper.make_opsetid("own", 1)]
    )  # fmt: skip


def function_model(tmp_path, functions, name):
    graph = helper.make_graph([node(name, ["x"], ["y"], domain="own")], "g", [port("x", shape=[2])], ports("y"))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=functions), path)
    return path


def test_functions_that_explode_are_refused(tmp_path):
    """Each calls the one before twice: 2^30 nodes in a small file."""
    functions = [function("F0", ["x"], ["y"], [node("Neg", ["x"], ["y"])])]
    for i in range(1, 31):
        twice = [node(f"F{i - 1}", [a], [b], domain="own") for a, b in (("x", "t"), ("t", "y"))]
        functions.append(function(f"F{i}", ["x"], ["y"], twice))
    with pytest.raises(relay.CompileError, match=r"R0405.*more than 250000 nodes"):
        relay.load(function_model(tmp_path, functions, "F30"))


def test_functions_that_call_themselves_are_refused(tmp_path):
    functions = [function(a, ["x"], ["y"], [node(b, ["x"], ["y"], domain="own")]) for a, b in (("A", "B"), ("B", "A"))]
    with pytest.raises(relay.CompileError, match=r"R0404.*calls itself"):
        relay.load(function_model(tmp_path, functions, "A"))


def test_functions_too_deep_are_refused(tmp_path):
    functions = [function("F0", ["x"], ["y"], [node("Neg", ["x"], ["y"])])]
    functions += [
        function(f"F{i}", ["x"], ["y"], [node(f"F{i - 1}", ["x"], ["y"], domain="own")]) for i in range(1, 50)
    ]
    with pytest.raises(relay.CompileError, match=r"R0405.*deep"):
        relay.load(function_model(tmp_path, functions, "F49"))


def test_function_whose_result_is_an_absent_input_is_refused(tmp_path):
    functions = [function("Second", ["a", "b"], ["b"], [])]
    with pytest.raises(relay.CompileError, match=r"R0404.*missing in its call"):
        relay.load(function_model(tmp_path, functions, "Second"))
