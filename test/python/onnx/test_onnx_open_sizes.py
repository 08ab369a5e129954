"""Models whose inputs leave sizes open: one compilation serves all sizes that the operators allow, and refuses others
on entry."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import relay  # noqa: E402

RNG = np.random.default_rng(3)


def model_of(node, inputs, constants=None):
    """`inputs`: (element type, shape) by name."""
    ports = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in inputs.items()
    ]
    stored = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph([node], "graph", ports, [helper.make_empty_tensor_value_info("y")], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def runs_of(model):
    """The ways to run a model."""
    module = relay.load(model)
    yield lambda *arguments: relay.evaluate(module, list(arguments))
    for executor, level in (("vm", 0), ("vm", 3), ("aot", 3)):
        yield relay.compile(module, executor=executor, opt_level=level)


# --- scales in blocks -------------------------------------------------------------------------------------------------
SCALES = RNG.uniform(0.1, 1, (3, 2)).astype(np.float32)
ZEROS = RNG.integers(0, 9, (3, 2)).astype(np.uint8)
BLOCK = 4


def along(e, x):
    """The values of blocks of rows of x."""
    return np.repeat(e, BLOCK, axis=0)[: len(x)]


@pytest.mark.parametrize("where", ["constants", "inputs"])
@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_a_last_block_is_short(op, where):
    inputs = {"x": ("float32" if op == "QuantizeLinear" else "uint8", ["n", "m"])}
    parameters = {"scale": SCALES, "zero": ZEROS}
    if where == "inputs":
        inputs |= {"scale": ("float32", ["b", "c"]), "zero": ("uint8", ["d", "e"])}
    node = helper.make_node(op, ["x", "scale", "zero"], ["y"], axis=0, block_size=BLOCK)
    model = model_of(node, inputs, {} if where == "inputs" else parameters)
    more = list(parameters.values()) if where == "inputs" else []
    for run in runs_of(model):
        for rows in (9, 10, 12):
            if op == "QuantizeLinear":
                x = (RNG.standard_normal((rows, 2)) * 20).astype(np.float32)
                wanted = np.clip(np.rint(x / along(SCALES, x)) + along(ZEROS, x), 0, 255).astype(np.uint8)
            else:
                x = RNG.integers(0, 256, (rows, 2)).astype(np.uint8)
                wanted = (x - along(ZEROS.astype(np.float32), x)) * along(SCALES, x)
            got = run(x, *more)
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
        for rows in (8, 13):  # two blocks, or four
            with pytest.raises(relay.CompileError, match="R0601|R0302"):
                run(np.zeros((rows, 2), inputs["x"][0]), *more)


def test_blocks_of_the_only_axis():
    node = helper.make_node("QuantizeLinear", ["x", "scale"], ["y"], axis=0, block_size=BLOCK)
    x = np.arange(9, dtype=np.float32)
    for run in runs_of(model_of(node, {"x": ("float32", ["n"])}, {"scale": SCALES[:, 0]})):
        np.testing.assert_array_equal(run(x), np.rint(x / along(SCALES[:, 0], x)))


def test_blocks_that_do_not_fit_are_refused():
    node = helper.make_node("QuantizeLinear", ["x", "scale"], ["y"], axis=0, block_size=BLOCK)
    with pytest.raises(relay.CompileError, match=r"scales Tensor\[\(3, 2\), .* for the data .* in blocks of 4"):
        relay.load(model_of(node, {"x": ("float32", [13, 2])}, {"scale": SCALES}))


# --- diagonals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("equation", "named"),
    [
        ("ii->i", [["n", "n"]]),
        ("ii->", [["n", "m"]]),
        ("ii->i", [[4, "n"]]),
        ("bii->bi", [["b", "n", "n"]]),
        ("iij", [["n", "n", "k"]]),
        ("iji->ji", [["n", "k", "m"]]),
        ("iii->i", [["n", "m", "k"]]),
        ("ijij->ji", [["a", "b", "c", "d"]]),
        ("...ii->...i", [["b", "n", "n"]]),
        ("ii,ij->j", [["n", "n"], ["m", "k"]]),
    ],
    ids=lambda value: value if isinstance(value, str) else "_".join(str(d) for shape in value for d in shape),
)
def test_diagonals(equation, named):
    terms = equation.split("->")[0].replace("...", "b").split(",")
    names = [f"x{i}" for i in range(len(terms))]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    model = model_of(node, {name: ("float32", shape) for name, shape in zip(names, named, strict=True)})
    sizes = [dict(zip("bijk", (2, 4, 3, 5), strict=True))]
    if 4 not in named[0]:
        sizes.append(dict(zip("bijk", (3, 1, 2, 2), strict=True)))
    for run in runs_of(model):
        for of in sizes:
            arguments = [RNG.standard_normal([of[letter] for letter in term]).astype(np.float32) for term in terms]
            wanted = np.einsum(equation, *arguments)
            assert np.shape(run(*arguments)) == wanted.shape
            np.testing.assert_allclose(run(*arguments), wanted, rtol=1e-5, atol=1e-5)


def test_a_diagonal_has_no_other_elements():
    """Infinite elements beside it do not become NaN."""
    x = np.full((3, 3), np.inf, np.float32)
    x[np.arange(3), np.arange(3)] = 1, 2, 3
    node = helper.make_node("Einsum", ["x"], ["y"], equation="ii->i")
    for shape in (["n", "n"], [3, 3]):
        for run in runs_of(model_of(node, {"x": ("float32", shape)})):
            np.testing.assert_array_equal(run(x), [1, 2, 3])


def test_a_diagonal_of_other_extents_is_refused():
    node = helper.make_node("Einsum", ["x"], ["y"], equation="ii->i")
    with pytest.raises(relay.CompileError, match="'i' names axes of 2 and 3 elements"):
        relay.load(model_of(node, {"x": ("float32", [2, 3])}))
    for run in runs_of(model_of(node, {"x": ("float32", ["n", "m"])})):
        with pytest.raises(relay.CompileError, match="R0601|R0302"):
            run(np.zeros((2, 3), np.float32))


# --- GatherND ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "indices", "shared"),
    [
        (["b", "n", "k"], ["b", "j", 1], 1),
        (["b", "n", "k"], ["c", "j", 2], 1),
        (["b", "n", "k"], ["c", "m", "j", 1], 2),
        (["b", "n", "k"], ["c", "m", "j", "depth"], 2),  # one axis is left, so the depth is 1
        (["b", "n", "k"], ["j", 3], 0),
    ],
    ids=str,
)
def test_gather_nd(data, indices, shared):
    node = helper.make_node("GatherND", ["x", "i"], ["y"], batch_dims=shared)
    model = model_of(node, {"x": ("float32", data), "i": ("int64", indices)})
    sizes = {"b": 2, "c": 2, "n": 3, "m": 3, "k": 4, "j": 5, "depth": 1}
    x, i = (np.zeros([sizes.get(name, name) for name in shape]) for shape in (data, indices))
    x = RNG.standard_normal(x.shape).astype(np.float32)
    i = RNG.integers(-2, 2, i.shape)
    wanted = ReferenceEvaluator(model).run(None, {"x": x, "i": i})[0]
    for run in runs_of(model):
        np.testing.assert_array_equal(run(x, i), wanted)


def test_gather_nd_needs_the_depth_of_indices():
    node = helper.make_node("GatherND", ["x", "i"], ["y"], batch_dims=1)
    with pytest.raises(relay.CompileError, match=r"(?s)last axis of the indices has no fixed size.*help: .*--shape"):
        relay.load(model_of(node, {"x": ("float32", ["b", "n", "k"]), "i": ("int64", ["b", "j", "depth"])}))
