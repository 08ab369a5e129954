"""Operators' constraints on sizes that are known only at run time are checked by every executor on entry to a program,
and the computation relies on them."""

import numpy as np
import onnx
import onnx.helper as make
import pytest
from onnx import numpy_helper
from programs import cli, cli_json

import relay

RNG = np.random.default_rng(7)
HEAD = '#[version = "0.0.5"]\n'
HALF = "nn.max_pool2d({}, pool_size=[2, 2], strides=[2, 2])"


def image(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def ways(text, tmp_path):
    """Everything that runs a program, by name."""
    module = relay.parse(HEAD + text)
    yield "evaluator", lambda *inputs: relay.evaluate(module, list(inputs))
    for executor in ("graph", "vm", "aot"):
        yield executor, relay.compile(module, executor=executor)
        file = tmp_path / f"{executor}.rart"
        relay.compile(module, executor=executor).save(file)
        yield f"{executor} of an artifact", relay.load(file)
    yield "as written", relay.compile(module, opt_level=0)


BOUND = "def @main(%x: Tensor[(1, 2, h, 9), float32]) { nn.avg_pool2d(%x, pool_size=[7, 7], strides=[7, 7]) }"
EQUALITY = f"""def @main(%x: Tensor[(1, 2, h, w), float32]) {{
  add(%x, nn.upsampling({HALF.format("%x")}, scale_h=2f, scale_w=2f)) }}"""
MULTIPLE = "def @main(%x: Tensor[(n), float32]) { sum(reshape(%x, newshape=[-1, 4]), axis=[1]) }"
TWO_INPUTS = """def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(m, 2), float32]) {
  add(reshape(%x, newshape=[-1]), reshape(%y, newshape=[-1])) }"""
SECTIONS = """def @main(%x: Tensor[(2, n), float32]) {
  let %parts = split(%x, indices_or_sections=2, axis=1); subtract(%parts.1, %parts.0) }"""

# The array of this size is part of the kernel of the concatenation.
BELOW_ZERO = """def @main(%x: Tensor[(n), float32], %y: Tensor[(m), float32]) {
  concatenate((broadcast_to(sum(%x), shape=[m - n]), %y)) }"""


def doubled(x):
    h, w = x.shape[2:]
    half = x.reshape(1, -1, h // 2, 2, w // 2, 2).max((3, 5))
    return x + half.repeat(2, 2).repeat(2, 3)


CASES = {
    "bound": (
        BOUND,
        [(1, 2, 3, 9)],
        ["input `x`: dimension 2 is 3, but nn.avg_pool2d (", "needs `h >= 7`: 3 is less than 7"],
        [(1, 2, 7, 9)],
        lambda x: x[:, :, :7, :7].mean((2, 3), keepdims=True),
    ),
    "equality": (
        EQUALITY,
        [(1, 2, 6, 5)],
        ["input `x`: dimension 3 is 5, but add (", "needs `w % 2 == 0`: 5 is not a multiple of 2"],
        [(1, 2, 6, 10)],
        doubled,
    ),
    "multiple": (
        MULTIPLE,
        [(10,)],
        ["input `x`: dimension 0 is 10, but reshape (", "needs `n % 4 == 0`: 10 is not a multiple of 4"],
        [(12,)],
        lambda x: x.reshape(-1, 4).sum(1),
    ),
    "two inputs": (
        TWO_INPUTS,
        [(4, 3), (5, 2)],
        ["input `x`: dimension 0 is 4; input `y`: dimension 0 is 5, but add (", "`n * 3 == m * 2`: 12 is not 10"],
        [(4, 3), (6, 2)],
        lambda x, y: x.ravel() + y.ravel(),
    ),
    "sections": (
        SECTIONS,
        [(2, 7)],
        ["input `x`: dimension 1 is 7, but split (", "needs `n % 2 == 0`: 7 is not a multiple of 2"],
        [(2, 8)],
        lambda x: x[:, 4:] - x[:, :4],
    ),
    "below zero": (
        BELOW_ZERO,
        [(4,), (2,)],
        ["input `x`: dimension 0 is 4; input `y`: dimension 0 is 2, but broadcast_to (", "`m - n >= 0`: -2 is less"],
        [(2,), (5,)],
        lambda x, y: np.concatenate([np.full(3, x.sum()), y]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_executor_checks_the_same(name, tmp_path):
    text, wrong, words, right, expected = CASES[name]
    messages = set()
    for way, run in ways(text, tmp_path):
        with pytest.raises(relay.CompileError) as caught:
            run(*(image(*shape) for shape in wrong))
        message = str(caught.value)
        assert "R0601" in message, way
        assert all(word in message for word in words), (way, message)
        messages.add(message)
        inputs = [image(*shape) for shape in right]
        np.testing.assert_allclose(np.asarray(run(*inputs)), expected(*inputs), rtol=1e-5, atol=1e-5, err_msg=way)
    assert len(messages) == 1, messages


def test_sizes_inside_are_checked_where_they_are_known(tmp_path):
    """A function that calls itself with ever smaller maps, and a branch: a run that does not get there is none that
    fails.
    """
    shrink = """
def @shrink(%x: Tensor[(1, 1, h, 4), float32], %n: int32) -> Tensor[(1, 1, ?, 4), float32] {
  if (equal(%n, 0)) { %x } else { @shrink(nn.max_pool2d(%x, pool_size=[3, 1]), subtract(%n, 1)) } }
def @main(%x: Tensor[(1, 1, h, 4), float32], %n: int32) { @shrink(%x, %n) }"""
    module = relay.parse(HEAD + shrink)
    runs = [lambda *inputs: relay.evaluate(module, list(inputs))]
    runs += [relay.compile(module, executor=executor) for executor in ("vm", "aot")]
    x = image(1, 1, 6, 4)
    for run in runs:
        assert np.asarray(run(x, np.int32(2))).shape == (1, 1, 2, 4)
        with pytest.raises(relay.CompileError, match="R0302.*nn.max_pool2d"):
            run(x, np.int32(3))


@pytest.fixture(scope="module")
def unet():
    """Three times halved, doubled and joined; and a window larger than small inputs."""

    def node(op, inputs, output, **attrs):
        return make.make_node(op, inputs, [output], name=output, **attrs)

    weight = RNG.standard_normal((2, 6, 3, 3)).astype(np.float32) / 8
    nodes = []
    for level in range(3):
        window = {"kernel_shape": [2, 2], "strides": [2, 2]}
        nodes.append(node("MaxPool", ["x" if level == 0 else f"down{level - 1}"], f"down{level}", **window))
    last = "down2"
    for level in (1, 0, -1):
        skip = f"down{level}" if level >= 0 else "x"
        nodes.append(node("Resize", [last, "", "scales"], f"up{level}", mode="nearest"))
        nodes.append(node("Add", [skip, f"up{level}"], f"sum{level}"))
        last = f"sum{level}"
    nodes.append(node("Concat", [last, "x"], "joined", axis=1))
    nodes.append(node("Conv", ["joined", "w"], "y", pads=[1, 1, 1, 1]))
    graph = make.make_graph(
        nodes,
        "unet",
        [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 3, "h", "w"))],
        [make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.float32([1, 1, 2, 2]), "scales"), numpy_helper.from_array(weight, "w")],
    )
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])


def test_a_network_of_two_strides(unet, tmp_path):
    file = tmp_path / "unet.onnx"
    onnx.save(unet, file)
    compiled = relay.compile(file)
    static = relay.compile(file, shapes={"x": (1, 3, 16, 24)})
    x = image(1, 3, 16, 24)
    np.testing.assert_allclose(compiled(x), static(x), rtol=1e-4, atol=1e-5)
    with pytest.raises(
        relay.CompileError, match="dimension 2 is 20, but add .*`h % 8 == 0`: 20 is not a multiple of 8"
    ):
        compiled(image(1, 3, 20, 24))
    checks = cli_json("check", file, "--json")["entry_checks"]
    assert sorted(check.split(" needs ")[1] for check in checks) == [
        "`h % 8 == 0`",
        "`h >= 8`",
        "`w % 8 == 0`",
        "`w >= 8`",
    ]
    assert "checked at entry: add (Add 'sum" in cli("check", file).stdout


def test_a_chain_has_one_check():
    body = "%x"
    for _ in range(200):
        body = f"nn.max_pool2d({body}, pool_size=[3, 1])"
    compiled = relay.compile(
        relay.parse(f"{HEAD}def @main(%x: Tensor[(1, 1, h, 2), float32]) {{ {body} }}"), opt_level=0
    )
    with pytest.raises(relay.CompileError, match="`h >= 401`: 400 is less than 401"):
        compiled(image(1, 1, 400, 2))
    assert np.asarray(compiled(image(1, 1, 401, 2))).shape == (1, 1, 1, 2)


def test_two_names_and_numbers_become_one(tmp_path):
    """Assumptions of an import about named sizes appear in the types, as in a program."""
    graph = make.make_graph(
        [make.make_node("Gemm", ["x", "w"], ["y"], name="dense"), make.make_node("Add", ["y", "z"], ["s"], name="sum")],
        "names",
        [
            make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ("n", "k")),
            make.make_tensor_value_info("z", onnx.TensorProto.FLOAT, ("m", 5)),
        ],
        [make.make_tensor_value_info("s", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones((4, 5), np.float32), "w")],
    )
    file = tmp_path / "names.onnx"
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), file)
    compiled = relay.compile(file)
    assert np.asarray(compiled(np.ones((3, 4), np.float32), np.zeros((3, 5), np.float32))).tolist() == [[4.0] * 5] * 3
    for wrong in [((3, 6), (3, 5)), ((3, 4), (2, 5))]:
        with pytest.raises(relay.CompileError, match="R0601.*dimension"):
            compiled(image(*wrong[0]), image(*wrong[1]))


def test_a_size_that_meets_1_is_not_1():
    """%p has an unknown size; together with %x, whose size is 1, and %y it is that of %y."""
    text = """def @main(%n: int64, %x: Tensor[(b, 1), int32], %y: Tensor[(b, ?), int32]) {
  let %p: Tensor[(?), int64] = arange(0i64, %n, 1i64, dtype="int64");
  if (less(%n, 2i64)) { %y } else { where(equal(%p, 3i64), %x, %y) } }"""
    x, y = np.ones((2, 1), np.int32), np.zeros((2, 5), np.int32)
    want = np.where(np.arange(5) == 3, x, y)
    module = relay.parse(HEAD + text)
    for executor in ("vm", "aot"):
        np.testing.assert_array_equal(np.asarray(relay.compile(module, executor=executor)(np.int64(5), x, y)), want)
