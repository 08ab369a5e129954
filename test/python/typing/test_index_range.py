"""Indices out of range are errors that name the index, its place and the number of rows, in every executor."""

import re

import numpy as np
import pytest
from programs import cli
from relay.errors import CompileError

import relay

VERSION = '#[version = "0.0.5"]\n'
EXECUTORS = ["graph", "vm", "aot", "artifact", "debug"]


@pytest.fixture(params=EXECUTORS)
def runner(request, tmp_path):
    """A program's text as a function."""

    def make(text):
        module = relay.parse(VERSION + text)
        if request.param == "debug":
            return lambda *args: relay.evaluate(module, list(args))
        if request.param == "artifact":
            relay.compile(module).save(tmp_path / "p.rart")
            return relay.load(tmp_path / "p.rart")
        return relay.compile(module, executor=request.param)

    return make


def refused(run, *args):
    with pytest.raises(CompileError) as error:
        run(*args)
    assert [d.code for d in error.value.diagnostics] == ["R0604"], error.value
    return error.value.diagnostics[0]


TAKE = 'def @main(%x: Tensor[({0}), float32], %i: Tensor[({1}), {2}]) {{ take(%x, %i, axis=1, mode="checked") }}'


@pytest.mark.parametrize("sizes", ["2, 5, 3", "b, n, 3"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_take(runner, sizes, dtype):
    run = runner(TAKE.format(sizes, "4, 2" if sizes[0] == "2" else "m, 2", dtype))
    x = np.arange(30, dtype=np.float32).reshape(2, 5, 3)
    good = np.array([[0, 4], [3, 2], [1, 1], [0, 0]], dtype)
    np.testing.assert_array_equal(run(x, good), x[:, good])
    if dtype != "uint8":
        np.testing.assert_array_equal(run(x, good - 5), x[:, good])
    for index in (5, 99, -6, -100):
        if dtype == "uint8" and index < 0:
            continue
        bad = good.copy()
        bad[2, 1] = index
        told = refused(run, x, bad)
        assert told.message == (
            f"take: index {index} at position (2, 1) of its indices is out of range for axis 1 of the data, "
            "which has 5 rows"
        )
        below = "" if dtype.startswith("u") else ", or from -5 to -1 to count from the end"
        assert told.help == f"give indices from 0 to 4{below}"
    np.testing.assert_array_equal(run(x, good), x[:, good])  # the next run is sound


def test_where_it_is_said(runner):
    told = refused(runner(TAKE.format("2, 5", "1", "int64")), np.ones((2, 5), np.float32), np.array([7]))
    assert re.search(r"--> .*:2:\d+\n", told.text + "\n"), told.text


def test_nothing_of_nothing(runner):
    run = runner(TAKE.format("2, n", "m", "int64"))
    assert run(np.ones((2, 0), np.float32), np.zeros(0, np.int64)).shape == (2, 0)
    assert run(np.ones((2, 3), np.float32), np.zeros(0, np.int64)).shape == (2, 0)
    told = refused(run, np.ones((2, 0), np.float32), np.zeros(1, np.int64))
    assert "which has 0 rows" in told.message and "without rows" in told.help


def test_gather(runner):
    run = runner("def @main(%x: Tensor[(n, 5), float32], %i: Tensor[(n, k), int32]) { gather(%x, %i, axis=1) }")
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    i = np.array([[0, -1], [4, 2], [-5, 3]], np.int32)
    np.testing.assert_array_equal(run(x, i), np.take_along_axis(x, i, 1))
    i[1, 0] = 5
    assert "index 5 at position (1, 0) of its indices is out of range for axis 1" in refused(run, x, i).message


def test_gather_nd(runner):
    run = runner("def @main(%x: Tensor[(b, n, 4), float32], %i: Tensor[(2, b, m), int64]) "
                 "{ gather_nd(%x, %i, batch_dims=1) }")  # fmt: skip
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    i = np.array([[[0, 2, -3], [1, 1, 0]], [[3, -4, 0], [2, 1, 0]]])
    np.testing.assert_array_equal(run(x, i), np.stack([x[b][i[0, b], i[1, b]] for b in range(2)]))
    i[0, 1, 2] = 3
    told = refused(run, x, i)
    assert "index 3 at position (0, 1, 2)" in told.message and "axis 1 of the data, which has 3 rows" in told.message
    i[0, 1, 2], i[1, 0, 1] = 0, -5
    told = refused(run, x, i)
    assert "index -5 at position (1, 0, 1)" in told.message and "axis 2 of the data, which has 4 rows" in told.message


def test_of_the_flattened_data(runner):
    run = runner('def @main(%x: Tensor[(2, 3), float32], %i: int64) { take(%x, %i, mode="checked") }')
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert run(x, np.int64(-1)) == 5
    told = refused(run, x, np.int64(6))
    assert told.message == "take: index 6 is out of range for the flattened data, which has 6 elements"


def test_indices_that_are_computed(runner):
    """From a chain that fuses, a concatenation, and images stored channels last; what is checked is used elsewhere
    too."""
    run = runner("""
def @main(%x: Tensor[(8, 3), float32], %i: Tensor[(n), int32], %image: Tensor[(1, 16, 6, 6), float32]) {
  let %c = cast(add(%i, 1), dtype="int64");
  let %all = concatenate((%c, cast(%i, dtype="int64")));
  let %w = nn.conv2d(%image, ones(shape=[32, 16, 3, 3], dtype="float32"), padding=[1, 1]);
  let %p = cast(nn.relu(%w), dtype="int32");
  (take(%x, %c, axis=0, mode="checked"), take(%x, %all, axis=0, mode="checked"), %c,
   take(%x, %p, axis=0, mode="checked"))
}""")
    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    image = np.zeros((1, 16, 6, 6), np.float32)
    i = np.array([0, 6, 3], np.int32)
    got = run(x, i, image)
    np.testing.assert_array_equal(got[0], x[i + 1])
    np.testing.assert_array_equal(got[1], x[np.concatenate([i + 1, i])])
    np.testing.assert_array_equal(got[2], i + 1)
    np.testing.assert_array_equal(got[3], np.broadcast_to(x[0], (1, 32, 6, 6, 3)))
    i[1] = 7
    assert "index 8 at position (1) of its indices" in refused(run, x, i, image).message
    i[1], image[0, 4, 5, 5] = 6, 9
    assert "index 9 at position (0, 0, 4, 4) of its indices" in refused(run, x, i, image).message


def test_indices_that_are_constants(runner):
    """In range: no check is left. Of an axis of any length: when it is known. Out of range: when the program is run."""
    run = runner('def @main(%x: Tensor[(n, 3), float32]) { take(%x, -2, axis=0, mode="checked") }')
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(run(x), x[2])
    assert "index -2 is out of range for axis 0 of the data, which has 1 row" in refused(run, x[:1]).message
    run = runner('def @main(%x: Tensor[(4, 3), float32]) { take(%x, 4, axis=0, mode="checked") }')
    assert "index 4 is out of range" in refused(run, x).message
    run = runner('def @main() { take(cast(ones(shape=[4]), dtype="int32"), 4, axis=0, mode="checked") }')
    assert "index 4 is out of range" in refused(run).message


def test_indices_that_a_primitive_function_computes(runner):
    """A form that fuse_ops never produces, but a program may be written in."""
    run = runner("""
def @main(%x: Tensor[(8, 3), float32], %i: Tensor[(n), int32]) {
  %0 = fn (%p: Tensor[(8, 3), float32], %q: Tensor[(n), int32], Primitive=1) -> Tensor[(n, 3), float32] {
    take(%p, add(%q, 1), axis=0, mode="checked")
  };
  %0(%x, %i)
}""")
    x, i = np.arange(24, dtype=np.float32).reshape(8, 3), np.array([1, 6, -9], np.int32)
    np.testing.assert_array_equal(run(x, i), x[i + 1])
    assert "index 8 at position (1) of its indices" in refused(run, x, i + np.array([0, 1, 0], np.int32)).message


def test_no_check_of_constants_in_range_is_left(tmp_path):
    for index, size, left in ((-4, 4, False), (3, 4, False), (4, 4, True), (3, "n", True)):
        text = f'def @main(%x: Tensor[({size}, 3), float32]) {{ take(%x, {index}, axis=0, mode="checked") }}'
        (tmp_path / "p.relay").write_text(VERSION + text)
        assert ("check indices" in cli("opt", tmp_path / "p.relay", "--emit", "program").stdout) == left


def test_other_modes_refuse_nothing(runner):
    x = np.arange(4, dtype=np.float32)
    for mode, want in (("clip", [0, 3]), ("wrap", [2, 1]), ("fast", [0, 3])):
        run = runner(f'def @main(%x: Tensor[(4), float32], %i: Tensor[(2), int64]) {{ take(%x, %i, mode="{mode}") }}')
        np.testing.assert_array_equal(run(x, np.array([-2, 9 if mode != "wrap" else 5])), want)


LOOP = """
def @sum(%x: Tensor[(n, 3), float32], %i: int64, %steps: int64, %s: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (equal(%steps, 0i64)) { %s }
  else { @sum(%x, add(%i, 1i64), subtract(%steps, 1i64), add(%s, take(%x, %i, axis=0, mode="checked"))) }
}
def @main(%x: Tensor[(n, 3), float32], %steps: int64) { @sum(%x, 0i64, %steps, zeros(shape=[3], dtype="float32")) }
"""


@pytest.mark.parametrize("executor", ["vm", "aot", "debug"])
def test_in_a_function_that_is_called_in_a_loop(executor):
    module = relay.parse(VERSION + LOOP)
    compiled = None if executor == "debug" else relay.compile(module, executor=executor)
    run = compiled or (lambda *args: relay.evaluate(module, list(args)))
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    np.testing.assert_array_equal(run(x, np.int64(5)), x.sum(0))
    assert "index 5 is out of range for axis 0 of the data, which has 5 rows" in refused(run, x, np.int64(6)).message
    np.testing.assert_array_equal(run(x, np.int64(4)), x[:4].sum(0))


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_in_calls_that_wait_for_one_another(executor):
    """The message is about the call at fault, as if it had been alone."""
    module = relay.parse(
        VERSION
        + """
type Tree { Leaf(Tensor[(1, 2), int32]), Node(Tree, Tree) }
def @f(%t: Tree, %w: Tensor[(512, 512), float32], %x: Tensor[(4, 3, 512), float32]) -> Tensor[(2, 512), float32] {
  match (%t) {
    Leaf(%i) => nn.dense(gather_nd(%x, concatenate((%i, %i))), %w),
    Node(%l, %r) => add(@f(%l, %w, %x), @f(%r, %w, %x)),
  }
}
def @main(%t: Tree, %w: Tensor[(512, 512), float32], %x: Tensor[(4, 3, 512), float32]) { @f(%t, %w, %x) }
"""
    )
    rng = np.random.default_rng(0)
    w, x = (rng.standard_normal(shape).astype(np.float32) for shape in [(512, 512), (4, 3, 512)])
    main = module["main"]
    module["main"] = relay.bind(main, {main.params[1]: relay.const(w), main.params[2]: relay.const(x)})
    run = relay.compile(module, executor=executor)

    def tree(leaves):
        nodes = [relay.Data("Leaf", np.array([leaf], np.int32)) for leaf in leaves]
        while len(nodes) > 1:
            nodes = [relay.Data("Node", *nodes[n : n + 2]) for n in range(0, len(nodes), 2)]
        return nodes[0]

    leaves = rng.integers(0, 3, (8, 2))
    want = sum(x[leaf, leaf] @ w.T for leaf in leaves)
    np.testing.assert_allclose(run(tree(leaves)), want, rtol=1e-3, atol=1e-3)
    leaves[5, 1] = 3  # of 4 rows, but not of 3
    told = refused(run, tree(leaves))
    assert "index 3 at position (1, 1) of its indices is out of range for axis 1 of the data, which has 3 rows" in (
        told.message
    )
    leaves[5, 1] = 0
    want = sum(x[leaf, leaf] @ w.T for leaf in leaves)
    np.testing.assert_allclose(run(tree(leaves)), want, rtol=1e-3, atol=1e-3)


def test_of_many_indices_the_first(tmp_path):
    run = relay.compile(relay.parse(VERSION + TAKE.format("1, n", "m", "int64")), threads=2)
    x, i = np.arange(1000, dtype=np.float32)[None], np.random.default_rng(0).integers(-1000, 1000, 300_000)
    np.testing.assert_array_equal(run(x, i), x[:, i])
    i[[299_999, 123_456, 123_460]] = 1000, -1001, 5000
    assert "index -1001 at position (123456)" in refused(run, x, i).message


@pytest.mark.parametrize("operator", ["Gather", "GatherElements", "GatherND"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_onnx(tmp_path, operator, dtype):
    """As in ONNX Runtime, negative indices count from the end, in axes of any length too; the node is named."""
    onnx = pytest.importorskip("onnx")
    make, types = onnx.helper, onnx.TensorProto
    x = make.make_tensor_value_info("x", types.FLOAT, ["b", "n"])
    shape = {"Gather": ["k", 2], "GatherElements": ["b", "n"], "GatherND": ["k", 2]}[operator]
    i = make.make_tensor_value_info("i", types.INT32 if dtype == "int32" else types.INT64, shape)
    y = make.make_tensor_value_info("y", types.FLOAT, None)
    if operator == "GatherND" and dtype == "int32":
        pytest.skip("ONNX has int64 only")
    axis = {} if operator == "GatherND" else {"axis": 1}
    graph = make.make_graph([make.make_node(operator, ["x", "i"], ["y"], name="look_up", **axis)], "g", [x, i], [y])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), tmp_path / "m.onnx")
    run = relay.compile(str(tmp_path / "m.onnx"))
    rng = np.random.default_rng(0)
    data = rng.standard_normal((3, 4)).astype(np.float32)
    good = rng.integers(-3, 3, (3, 4) if operator == "GatherElements" else (5, 2)).astype(dtype)
    want = {
        "Gather": lambda: data[:, good],
        "GatherElements": lambda: np.take_along_axis(data, good, 1),
        "GatherND": lambda: data[good[:, 0], good[:, 1]],
    }[operator]()
    np.testing.assert_array_equal(run(data, good), want)
    for index in (4, -5):
        good[1, 1] = index
        told = refused(run, data, good)
        assert f"index {index} at position (1, 1)" in told.message and "which has 4 rows" in told.message
        assert "look_up" in told.text


@pytest.mark.parametrize("shape", [(2, 120), (2, 5, 24), (2, 5, 4, 6), (2, 3, 5, 2, 3)])
def test_constant_indices_below_zero(runner, shape):
    """Rows whose places are read as one vector, though quotients and remainders of one number name them."""
    places = [1, 0, -1, -2]
    tensor = '{"relay.Constant": [{"shape": [4], "dtype": "int64", "values": [1, 0, -1, -2]}]}'
    call = 'take(%x, meta[relay.Constant][0], axis=0, mode="checked")'
    run = runner(f"def @main(%x: Tensor[{shape}, float32]) {{ {call} }}\n#[metadata]\n{tensor}\n")
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(run(x), x[places])


# A call, of which inputs; values that fit, and one that does not with its place; what is said.
REFUSED = {
    "adv_index": (
        "%d: Tensor[(4, 5), float32], %i: Tensor[(3), int64], %j: Tensor[(3), int32]",
        "adv_index((%d, %i, %j))",
        [np.ones((4, 5)), [0, -4, 3], [4, 0, -5]],
        (2, 1, 5),
        "index 5 at position (1) of its indices is out of range for axis 1 of the data, which has 5 rows",
    ),
    "nll_loss": (
        "%p: Tensor[(3, 4), float32], %t: Tensor[(3), int64], %w: Tensor[(4), float32]",
        "nn.nll_loss(%p, %t, %w)",
        [np.ones((3, 4)), [0, -100, 3], np.ones(4)],
        (1, 2, -1),
        "targets -1 at position (2) is out of range",
    ),
    "invert_permutation": (
        "%p: Tensor[(4), int32]",
        "invert_permutation(%p)",
        [[2, 0, 3, 1]],
        (0, 1, 4),
        "data 4 at position (1) is out of range",
    ),
    "invert_permutation of doubles": (
        "%p: Tensor[(4), int64]",
        "invert_permutation(%p)",
        [[2, 0, 3, 1]],
        (0, 1, 2),
        "data contains a number twice",
    ),
    "unravel_index": (
        "%n: Tensor[(3), int64], %s: Tensor[(2), int64]",
        "unravel_index(%n, %s)",
        [[0, 11, 5], [3, 4]],
        (0, 0, 12),
        "an element of data is outside of the shape",
    ),
    "sparse_to_dense": (
        "%i: Tensor[(2, 2), int32], %v: Tensor[(2), float32], %d: float32",
        "sparse_to_dense(%i, %v, %d, output_shape=[3, 4])",
        [[[0, 3], [2, 1]], [1, 2], 0],
        (0, (1, 0), 3),
        "sparse_indices.T 3 at position (0, 1) is out of range",
    ),
    "dyn.sparse_to_dense": (
        "%i: Tensor[(2, 2), int64], %v: Tensor[(2), float32], %d: float32, %s: Tensor[(2), int64]",
        "dyn.sparse_to_dense(%i, %v, %d, %s)",
        [[[0, 3], [2, 1]], [1, 2], 0, [3, 4]],
        (0, (0, 1), -1),
        "sparse_indices are outside of output_shape",
    ),
    "column of sparse_dense": (
        "%x: Tensor[(2, 5), float32], %v: Tensor[(3), float32], %c: Tensor[(3), int32], %r: Tensor[(3), int32]",
        "nn.sparse_dense(%x, %v, %c, %r)",
        [np.ones((2, 5)), [1, 2, 3], [0, 4, 2], [0, 1, 3]],
        (2, 1, 5),
        "sparse_indices 5 at position (1) is out of range",
    ),
    "pointer of sparse_dense": (
        "%x: Tensor[(2, 5), float32], %v: Tensor[(3), float32], %c: Tensor[(3), int32], %r: Tensor[(3), int32]",
        "nn.sparse_dense(%x, %v, %c, %r)",
        [np.ones((2, 5)), [1, 2, 3], [0, 4, 2], [0, 1, 3]],
        (3, 2, 4),
        "sparse_indptr 4 at position (2) is out of range",
    ),
    "column of sparse_transpose": (
        "%v: Tensor[(3), float32], %c: Tensor[(3), int32], %r: Tensor[(3), int32]",
        "nn.sparse_transpose(%v, %c, %r)",
        [[1, 2, 3], [0, 1, 1], [0, 1, 3]],
        (1, 2, 2),
        "sparse_indices 2 at position (2) is out of range",
    ),
    "roi_align": (
        "%x: Tensor[(2, 1, 4, 4), float32], %r: Tensor[(2, 5), float32]",
        "vision.roi_align(%x, %r, pooled_size=[2, 2], spatial_scale=1f)",
        [np.ones((2, 1, 4, 4)), [[1, 0, 0, 2, 2], [0, 1, 1, 3, 3]]],
        (1, (1, 0), 2),
        "the batch 2 at position (1) is out of range",
    ),
    "roi_pool": (
        "%x: Tensor[(2, 1, 4, 4), float32], %r: Tensor[(2, 5), float32]",
        "vision.roi_pool(%x, %r, pooled_size=[2, 2], spatial_scale=1f)",
        [np.ones((2, 1, 4, 4)), [[1, 0, 0, 2, 2], [0, 1, 1, 3, 3]]],
        (1, (0, 0), -1),
        "the batch -1 at position (0) is out of range",
    ),
    "non_max_suppression": (
        "%x: Tensor[(1, 3, 6), float32], %n: Tensor[(1), int32], %i: Tensor[(1, 3), int32]",
        "vision.non_max_suppression(%x, %n, %i, -1, 0.5f, return_indices=False)",
        [np.ones((1, 3, 6)), [3], [[0, 1, 2]]],
        (1, 0, 4),
        "valid_count 4 at position (0) is out of range",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_operator_that_takes_places(request, runner, name):
    if name.startswith("dyn.") and request.node.callspec.params["runner"] == "graph":
        pytest.skip("its size depends on values, which the graph executor does not run")
    inputs, call, good, (which, place, bad), said = REFUSED[name]
    run = runner(f"def @main({inputs}) {{ {call} }}")
    types = re.findall(r"(float32|int32|int64)", inputs)
    args = [np.array(value, dtype) for value, dtype in zip(good, types, strict=True)]
    run(*args)
    args[which] = args[which].copy()
    args[which][place] = bad
    told = refused(run, *args)
    assert said in told.message and told.message.startswith(re.match(r"[\w.]+", call)[0]), told.message
    assert told.help
