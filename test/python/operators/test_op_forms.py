"""Forms of operators in programs of TVM's Relay, each with its result."""

import re

import numpy as np
import pytest
from programs import ROOT

import relay


def both(call, *values):
    """The compiled program's result, which is that of the evaluator."""
    module = relay.module(call)
    slow, fast = relay.evaluate(module, list(values)), relay.compile(module)(*values)
    assert np.allclose(np.asarray(slow, "float64"), np.asarray(fast, "float64"), rtol=1e-5, atol=1e-6)
    return fast


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def test_nearest_of_resize2d_without_a_rounding_method():
    call = relay.image.resize2d(
        var("x", 1, 1, 1, 4), size=(1, 8), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"
    )
    got = both(call, np.arange(4, dtype="float32").reshape(1, 1, 1, 4))
    assert got.ravel().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_reshape_like_of_some_axes():
    call = relay.reshape_like(var("x", 2, 12, 5), var("y", 9, 3, 4), lhs_begin=1, lhs_end=2, rhs_begin=1, rhs_end=3)
    value = np.random.default_rng(0).random((2, 12, 5), np.float32)
    assert np.array_equal(both(call, value, np.zeros((9, 3, 4), "float32")), value.reshape(2, 3, 4, 5))


def test_reshape_like_of_unknown_sizes():
    module = relay.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(2, ?, ?), float32], %y: Tensor[(2, ?, ?), float32]) { reshape_like(%x, %y) }""")
    value = np.arange(12, dtype="float32").reshape(2, 2, 3)
    model = relay.compile(module)
    assert np.array_equal(model(value, np.zeros((2, 3, 2), "float32")), value.reshape(2, 3, 2))
    with pytest.raises(relay.CompileError):
        model(value, np.zeros((2, 4, 2), "float32"))


def of_unknown_sizes(call, *types):
    inputs = ", ".join(f"%{name}: Tensor[{type}]" for name, type in zip("xy", types, strict=False))
    return relay.parse(f'#[version = "0.0.5"]\ndef @main({inputs}) {{ {call} }}')


def check_unknown_sizes(module, values, expected):
    for got in (relay.compile(module)(*values), relay.evaluate(module, list(values))):
        assert got.shape == expected.shape and np.allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_batch_matmul_of_unknown_sizes(transpose_a, transpose_b):
    attributes = f"transpose_a={transpose_a}, transpose_b={transpose_b}"
    module = of_unknown_sizes(f"nn.batch_matmul(%x, %y, {attributes})", *["(?, ?, ?), float32"] * 2)
    random = np.random.default_rng(0)
    a, b = random.random((2, 3, 5), np.float32), random.random((2, 5, 4), np.float32)
    values = a.transpose(0, 2, 1).copy() if transpose_a else a, b.transpose(0, 2, 1).copy() if transpose_b else b
    check_unknown_sizes(module, values, a @ b)
    with pytest.raises(relay.CompileError, match="dimension"):
        relay.compile(module)(values[0], np.zeros((2, 6, 6), "float32"))


def test_squeeze_of_unknown_sizes():
    value = np.arange(12, dtype="float32").reshape(1, 3, 1, 4)
    for axes, type in (([0, 2], "(?, ?, ?, ?), float32"), ([-2], "(?, 3, ?, ?), float32")):
        module = of_unknown_sizes(f"squeeze(%x, axis={axes})", type)
        check_unknown_sizes(module, [value], value.squeeze(tuple(axes)))
        with pytest.raises(relay.CompileError, match="squeeze"):
            relay.compile(module)(np.zeros((1, 3, 5, 4), "float32"))
    with pytest.raises(relay.CompileError, match="it is unknown whether axis 0 of data .* has extent 1"):
        relay.compile(of_unknown_sizes("squeeze(%x)", "(?, 3), float32"))


@pytest.mark.parametrize(
    ("attributes", "type"),
    [("", "(2, ?), int64"), (", index_rank=2", "(?, ?), int64"), (", batch_dims=1", "(1, ?), int64")],
)
def test_gather_nd_of_unknown_sizes(attributes, type):
    value = np.random.default_rng(0).random((4, 5, 3), np.float32)
    rows, columns = np.array([0, 1, 3, 2]), np.array([2, 4, 0, -1])
    batched = "batch_dims" in attributes
    indices, expected = (
        (columns[None], value[np.arange(4), columns]) if batched else (np.stack([rows, columns]), value[rows, columns])
    )
    module = of_unknown_sizes(f"gather_nd(%x, %y{attributes})", "(?, ?, ?), float32", type)
    check_unknown_sizes(module, [value, indices], expected)
    with pytest.raises(relay.CompileError, match="out of range|outside"):
        relay.compile(module)(value, indices + 5)


def test_defaults_of_axes():
    """The defaults for a program in text that does not name the axes: Relay's, and where it had none the first axis."""
    value = np.random.default_rng(0).random((3, 4), np.float32)
    indices = np.array([[2, 0, 1, 2]])
    gather = relay.module(relay.gather(var("x", 3, 4), 0, var("i", 1, 4, dtype="int64")))
    assert "axis" not in gather.astext()
    assert np.array_equal(relay.compile(gather)(value, indices), np.take_along_axis(value, indices, 0))
    reverse = relay.module(relay.reverse(var("x", 3, 4), 0))
    assert "axis" not in reverse.astext() and np.array_equal(relay.compile(reverse)(value), value[::-1])
    topk = relay.module(relay.topk(var("x", 3, 4), k=2, axis=-1, ret_type="values"))
    assert "axis" not in topk.astext()
    assert np.array_equal(relay.compile(topk)(value), -np.sort(-value, axis=-1)[:, :2])


def test_sums_of_bools():
    value = np.array([[True, False, False], [False, False, False]])
    for name, expected in (("sum", [True, False]), ("prod", [False, False])):
        got = both(getattr(relay, name)(var("x", 2, 3, dtype="bool"), axis=1), value)
        assert got.dtype == bool and got.tolist() == expected


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sqrt"])
def test_functions_of_integers(name):
    value = np.array([1, 2, 9, 17], "int32")
    got = both(getattr(relay, name)(var("x", 4, dtype="int32")), value)
    assert got.dtype == np.int32 and got.tolist() == np.trunc(getattr(np, name)(value.astype(float))).tolist()


def test_depth_to_space_as_relay_wrote_it():
    value = np.arange(16, dtype="float32").reshape(1, 8, 1, 2)
    x = var("x", 1, 8, 1, 2)
    old, new = (both(relay.nn.depth_to_space(x, block_size=2, mode=mode), value) for mode in ("CDR", "CRD"))
    assert np.array_equal(old, new)


def test_pools_of_one_place():
    value = np.random.default_rng(0).random((1, 2, 3, 3), np.float32)
    assert np.array_equal(both(relay.nn.max_pool2d(var("x", 1, 2, 3, 3)), value), value)


def test_layouts_in_blocks():
    random = np.random.default_rng(0)
    data, weight = random.random((2, 8, 6, 7), np.float32), random.random((8, 8, 3, 3), np.float32)
    plain = both(relay.nn.conv2d(var("x", *data.shape), var("w", *weight.shape), padding=(1, 1)), data, weight)
    blocked = data.reshape(2, 2, 4, 6, 7).transpose(0, 1, 3, 4, 2).copy()
    weights = weight.reshape(2, 4, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1).copy()
    call = relay.nn.conv2d(
        var("x", *blocked.shape),
        var("w", *weights.shape),
        padding=(1, 1),
        data_layout="NCHW4c",
        kernel_layout="OIHW4i4o",
        kernel_size=(3, 3),
        channels=8,
    )
    got = both(call, blocked, weights)
    assert np.allclose(got.transpose(0, 1, 4, 2, 3).reshape(plain.shape), plain, rtol=1e-5, atol=1e-5)
    images = np.random.default_rng(1).random((1, 2, 5, 5, 2, 4), np.float32)
    call = relay.nn.conv2d(
        var("x", *images.shape), var("w", *weight.shape), data_layout="NCHW2n4c", out_layout="NCHW", kernel_size=(3, 3)
    )
    flat = images.transpose(0, 4, 1, 5, 2, 3).reshape(2, 8, 5, 5).copy()
    plain = both(relay.nn.conv2d(var("x", *flat.shape), var("w", *weight.shape)), flat, weight)
    assert np.allclose(both(call, images, weight), plain, rtol=1e-5, atol=1e-5)


def test_output_padding_of_a_stride_or_more():
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    data, weight = random.random((1, 2, 3, 4), np.float32), random.random((2, 3, 3, 3), np.float32)
    call = relay.nn.conv2d_transpose(
        var("x", *data.shape), var("w", *weight.shape), strides=(2, 1), padding=(1, 1), output_padding=(3, 1)
    )
    full = torch.nn.functional.conv_transpose2d(torch.from_numpy(data), torch.from_numpy(weight), stride=(2, 1))
    full = torch.nn.functional.pad(full, (0, 1, 0, 3))[..., 1:-1, 1:-1]
    assert np.allclose(both(call, data, weight), full, rtol=1e-5, atol=1e-5)


def test_a_fixed_size_meets_a_symbolic_one():
    model = relay.compile(relay.module(relay.add(var("x", "n"), var("y", 3))))
    assert np.array_equal(model(np.ones(3, "float32"), np.ones(3, "float32")), [2, 2, 2])
    with pytest.raises(relay.CompileError, match="n"):
        model(np.ones(4, "float32"), np.ones(3, "float32"))


def computed(dtype="int64", **shapes):
    return [relay.var(name, shape=shape, dtype=dtype) for name, shape in shapes.items()]


def test_attributes_that_the_program_computes():
    (s,) = computed(s=(2,))
    assert both(relay.full(2.0, s, "float32"), np.array([3, 2])).tolist() == [[2, 2]] * 3
    (k,) = computed(k=())
    value = np.array([[3, 1, 2]], "float32")
    assert both(relay.topk(var("x", 1, 3), k, ret_type="values"), value, np.array(2)).tolist() == [[3, 2]]
    (p,) = computed(p=(2, 2))
    assert both(relay.nn.pad(var("x", 1, 3), p), value, np.array([[0, 1], [1, 0]])).tolist() == [[0, 3, 1, 2], [0] * 4]
    (size,) = computed(size=(2,))
    image = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    assert both(relay.image.resize2d(var("x", 1, 1, 2, 2), size), image, np.array([4, 3])).shape == (1, 1, 4, 3)
    begin, end = computed(begin=(2,), end=(2,))
    call = relay.strided_slice(var("x", 1, 3), begin, end)
    assert both(call, value, np.array([0, 1]), np.array([1, 3])).tolist() == [[1, 2]]


def test_fusion_classes_that_differ_from_the_reference_have_a_reason():
    """In the operator's file, "// Fusion of NAME: ..", and nowhere else."""
    ours, differ = {one["name"]: one["fusion"] for one in relay._core.operators()}, set()
    for line in (ROOT / "test/ops/reference_fusion.txt").read_text().splitlines():
        if not line.startswith("#"):
            fusion, _, names = line.partition(": ")
            differ |= {name for name in names.split() if name in ours and ours[name] != fusion}
    said = set()
    for path in (ROOT / "src/relay/op").rglob("*.cpp"):
        text = re.sub(r"\n *// *", " ", path.read_text().replace("// Fusion of", "\n// Fusion of"))
        for names in re.findall(r"Fusion of ([\w., ]+):", text):
            said |= set(names.split(", "))
    assert said == differ


PLACES = {
    "the last ones": ("begin=[2999999990], end=[3000000000]", range(2999999990, 3000000000)),
    "around 2^31": ("begin=[2147483640], end=[2147483650]", range(2147483640, 2147483650)),
    "from the end": ("begin=[-2999999999], end=[-2999999990]", range(1, 10)),
    "backwards": ("begin=[2999999999], end=[2147483648], strides=[-800000000]", (2999999999, 2199999999)),
    "to the end": ("begin=[2999999998], end=[2147483647]", (2999999998, 2999999999)),
    "by size": ('begin=[2999999998], end=[9223372036854775807], slice_mode="size"', (2999999998, 2999999999)),
}


@pytest.mark.parametrize("places", PLACES)
def test_slices_beyond_places_of_32_bits(places):
    """The elements are computed where they are used, so that no array is that large."""
    attributes, want = PLACES[places]
    mod = relay.parse(f"""#[version = "0.0.5"]
def @main() {{ strided_slice(arange(0i64, 3000000000i64, 1i64, dtype="int64"), {attributes}) }}
""")
    np.testing.assert_array_equal(relay.compile(mod)(), list(want))


@pytest.mark.parametrize("call", ["shape_of", "ndarray_size"])
def test_sizes_beyond_the_type_of_the_result_are_refused(call):
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1), float32]) {{ {}(broadcast_to(%x, shape=[3000000000]), dtype="{}") }}
"""
    x = np.ones(1, "float32")
    assert int(np.ravel(relay.compile(relay.parse(text.format(call, "int64")))(x))[0]) == 3000000000
    with pytest.raises(relay.CompileError, match="3000000000 does not fit in int32: set dtype="):
        relay.compile(relay.parse(text.format(call, "int32")))
