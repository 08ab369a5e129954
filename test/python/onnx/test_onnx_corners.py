"""Edge cases of ONNX models: counts of zero, optional inputs before required ones, sizes that only one branch
accepts, NaN in pools, integer images, lengths of sequences."""

import numpy as np
import pytest
from onnx import ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import relay

node = helper.make_node


def model_of(nodes, inputs, outputs, constants=None, opset=18):
    elements = helper.np_dtype_to_tensor_dtype
    infos = [helper.make_tensor_value_info(k, elements(np.dtype(d)), shape) for k, (d, shape) in inputs.items()]
    graph = helper.make_graph(
        nodes, "g", infos, [ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()],
    )  # fmt: skip
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def results(model, *args):
    got = relay.compile(model)(*args)
    return list(got) if isinstance(got, tuple) else [got]


def expect(model, args, want):
    for got in (results(model, *args), relay.evaluate(relay.load(model), list(args))):
        got = list(got) if isinstance(got, (tuple, list)) else [got]
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", (0, 2))
def test_topk(k):
    x = np.random.default_rng(0).standard_normal((3, 5)).astype("float32")
    model = model_of([node("TopK", ["x", "k"], ["v", "i"])], {"x": ("float32", [3, 5])}, ["v", "i"], {"k": [k]})
    places = np.argsort(-x, axis=1)[:, :k]
    expect(model, [x], [np.take_along_axis(x, places, 1), places])


@pytest.mark.parametrize("repeats", ((2, 0), (0, 1), (0, 0), (2, 3)))
def test_tile(repeats):
    x = np.arange(10, dtype="float32").reshape(5, 2)
    nodes = [node("Tile", ["x", "r"], ["y"]), node("ReduceSum", ["y", "a"], ["s"], keepdims=0)]
    model = model_of(nodes, {"x": ("float32", [5, 2])}, ["y", "s"], {"r": list(repeats), "a": [1]})
    expect(model, [x], [np.tile(x, repeats), np.tile(x, repeats).sum(1)])


@pytest.mark.parametrize("slopes", ((), (4,), (3, 1), (2, 3, 4)))
def test_prelu_multiplies_zeros_by_their_slopes(slopes):
    """The sign of a zero, and NaN, depend on the slope, as in ONNX's reference."""
    x = np.tile(np.array([-0.0, 0.0, -2, 2, np.nan, -np.inf], "float32"), 4).reshape(2, 3, 4)
    slope = np.resize(np.array([np.nan, -0.5, np.inf, 0, -0.0], "float32"), slopes)
    inputs = {"x": ("float32", x.shape), "s": ("float32", slopes)}
    model = model_of([node("PRelu", ["x", "s"], ["y"])], inputs, ["y"])
    with np.errstate(invalid="ignore"):
        [want] = ReferenceEvaluator(model).run(None, {"x": x, "s": slope})
    for got in (*results(model, x, slope), relay.evaluate(relay.load(model), [x, slope])):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


@pytest.mark.parametrize("extent", (0, 1, 3, 6))
def test_a_crop_of_an_open_axis(extent):
    model = model_of([node("CenterCropPad", ["a", "t"], ["y"], axes=[-1])],
                     {"a": ("float32", ["m", "n"]), "t": ("int64", ["k"])}, ["y"])  # fmt: skip
    x = np.arange(1, 2 * extent + 1, dtype="float32").reshape(2, extent)
    want, front = np.zeros((2, 4), "float32"), abs(4 - extent) // 2
    if extent <= 4:
        want[:, front : front + extent] = x
    else:
        want = x[:, front : front + 4]
    expect(model, [x, np.array([4])], [want])


@pytest.mark.parametrize("policy", ("not_larger", "not_smaller"))
@pytest.mark.parametrize("size", ((4, 8), (8, 4), (5, 3), (6, 6)))
def test_resize_with_a_policy(policy, size):
    height, width = size
    x = np.arange(height * width, dtype="float32").reshape(1, 1, height, width)
    for sizes in ((4, 4), (8, 8), (height, 2), (2, width), (height, width), (10, width)):
        pick = min if policy == "not_larger" else max
        scale = pick(sizes[0] / height, sizes[1] / width)
        model = model_of([node("Resize", ["x", "", "", "s"], ["y"], axes=[2, 3], keep_aspect_ratio_policy=policy)],
                         {"x": ("float32", x.shape)}, ["y"], {"s": list(sizes)}, opset=19)  # fmt: skip
        want = (1, 1, int(np.floor(scale * height + 0.5)), int(np.floor(scale * width + 0.5)))
        assert results(model, x)[0].shape == want


def quantised(op, inputs, constants, **attributes):
    return model_of([node(op, inputs, ["y"], domain="com.microsoft", **attributes)], {"x": ("uint8", [256])}, ["y"],
                    constants)  # fmt: skip


def test_zero_points_may_be_absent():
    x, s, u = np.arange(256, dtype="uint8"), np.float32(0.03125), np.float32(0.0625)
    real = x.astype(float) * s

    def integers(y, scale):
        return np.clip(np.rint(y / scale), 0, 255).astype("uint8")

    cases = (
        ("QLinearSigmoid", ["x", "s", "", "t", ""], {}, integers(1 / (1 + np.exp(-real)), 1 / 256)),
        ("QLinearLeakyRelu", ["x", "s", "", "u", ""], {"alpha": 0.1}, integers(real, u)),
        ("QLinearAdd", ["x", "s", "", "x", "s", "", "u", ""], {}, integers(2 * real, u)),
        ("QLinearMul", ["x", "s", "", "x", "s", "", "u", ""], {}, integers(real * real, u)),
        ("QLinearReduceMean", ["x", "s", "", "u", ""], {"axes": [0]}, integers(real.mean(keepdims=True), u)),
    )
    for op, inputs, attributes, want in cases:
        model = quantised(op, inputs, {"s": s, "t": np.float32(1 / 256), "u": u}, **attributes)
        np.testing.assert_array_equal(results(model, x)[0], want)
    with pytest.raises(relay.CompileError, match="input 3 is missing"):
        relay.compile(quantised("QLinearSigmoid", ["x", "s", "", "", ""], {"s": s}))


def test_embeddings_without_segments():
    r = np.random.default_rng(0)
    word, position = (r.standard_normal((6, 8)).astype("float32") for _ in range(2))
    gamma, beta = (r.standard_normal(8).astype("float32") for _ in range(2))
    ids = np.array([[1, 2, 0], [5, 4, 3]], "int32")
    sums = (word[ids] + position[None, :3]).astype(float)
    normal = (sums - sums.mean(-1, keepdims=True)) / np.sqrt(sums.var(-1, keepdims=True) + 1e-12) * gamma + beta
    model = model_of(
        [node("EmbedLayerNormalization", ["ids", "", "w", "p", "", "g", "b"], ["y", "m"], domain="com.microsoft",
              epsilon=1e-12)],
        {"ids": ("int32", [2, 3])}, ["y"], {"w": word, "p": position, "g": gamma, "b": beta},
    )  # fmt: skip
    expect(model, [ids], [normal])


def squeezed_or_kept(longer):
    def branch(name, *nodes):
        return helper.make_graph(list(nodes), name, [], [ValueInfoProto(name=f"{name}_y")])

    squeeze = [node("Squeeze", ["x", "one"], ["t"]), node("Neg", ["t"], ["squeezed_y"])]
    if not longer:
        squeeze = [node("Squeeze", ["x", "one"], ["squeezed_y"])]
    sides = [branch("kept", node("Identity", ["x"], ["kept_y"])), branch("squeezed", *squeeze)]
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["n"]), node("Equal", ["n", "one"], ["is"]),
             node("Not", ["is"], ["isnt"]),
             node("If", ["isnt"], ["y"], then_branch=sides[0], else_branch=sides[1])]  # fmt: skip
    return model_of(nodes, {"x": ("float32", ["n", "m", 4])}, ["y"], {"one": [1]})


@pytest.mark.parametrize("longer", (False, True))
def test_branches_of_other_ranks_name_the_way_out(longer):
    with pytest.raises(relay.CompileError, match="--shape"):
        relay.compile(squeezed_or_kept(longer))
    x = np.arange(8, dtype="float32").reshape(2, 1, 4)
    got = relay.compile(squeezed_or_kept(longer), shapes={"x": (2, 1, 4)})(x)
    np.testing.assert_array_equal(got, -x[:, 0] if longer else x[:, 0])


@pytest.mark.parametrize("domain", ("", "com.microsoft"))
@pytest.mark.parametrize("position", (-1, 3, 4))
def test_positions_beyond_a_table_are_refused(domain, position):
    x, table = np.ones((1, 1, 2, 4), "float32"), np.ones((4, 2), "float32")
    inputs = ["x", "p", "c", "s"] if domain else ["x", "c", "s", "p"]
    model = model_of([node("RotaryEmbedding", inputs, ["y"], domain=domain)],
                     {"x": ("float32", [1, 1, 2, 4]), "p": ("int64", [1, 2])}, ["y"], {"c": table, "s": table},
                     opset=23)  # fmt: skip
    places = np.array([[0, position]])
    if position == 3:
        assert results(model, x, places)[0].shape == (1, 1, 2, 4)
        return
    with pytest.raises(relay.CompileError, match="position_ids"):
        relay.compile(model)(x, places)


@pytest.mark.parametrize("length", (1, 2, 5))
def test_lengths_beyond_the_keys_are_refused(length):
    q, k = np.ones((1, 2, 8), "float32"), np.ones((1, 2, 4), "float32")
    model = model_of(
        [node("GroupQueryAttention", ["q", "k", "k", "", "", "l", "t"], ["y", "a", "b"], domain="com.microsoft",
              num_heads=2, kv_num_heads=1)],
        {"q": ("float32", [1, 2, 8]), "k": ("float32", [1, 2, 4]), "l": ("int32", [1])}, ["y"],
        {"t": np.int32(2)},
    )  # fmt: skip
    if length == 1:
        assert results(model, q, k, np.array([1], "int32"))[0].shape == (1, 2, 8)
        return
    with pytest.raises(relay.CompileError, match="seqlens_k"):
        relay.compile(model)(q, k, np.array([length], "int32"))


def windows(x, kernel, strides, pads, dilations):
    """The elements of each window that are inside of the images (N, C, H, W), by place of the result."""
    extents = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], kernel, strides, pads, dilations, strict=True)
    ]
    for place in np.ndindex(*extents):
        rows = [
            [t for k in range(size) if 0 <= (t := at * s - p + k * d) < n]
            for at, n, size, s, p, d in zip(place, x.shape[2:], kernel, strides, pads, dilations, strict=True)
        ]
        yield place, x[:, :, *np.ix_(*rows)].reshape(*x.shape[:2], -1)


@pytest.mark.parametrize("places", (False, True))
@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
@pytest.mark.parametrize("form", ("plain", "padded", "dilated", "line", "volume"))
def test_max_pool_ignores_nan(form, dtype, places):
    """As in ONNX's reference; a window that contains only NaN results in the value of padding."""
    axes = {"line": 1, "volume": 3}.get(form, 2)
    window = {"kernel_shape": [2] * axes, "strides": [1] * axes, "pads": [0] * axes, "dilations": [1] * axes}
    if form == "padded":
        window |= {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1]}
    if form == "dilated":
        window["dilations"] = [2, 1]
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 3, *[5] * axes)).astype(dtype)
    x[random.random(x.shape) < 0.4] = np.nan
    want, at = {}, tuple(window.values())
    for place, elements in windows(x, *at):
        want[place] = np.where(np.isnan(elements), -np.inf, elements).max(-1)
    attributes = {k: v * 2 if k == "pads" else v for k, v in window.items()}
    outputs = ["y", "i"] if places else ["y"]
    model = model_of([node("MaxPool", ["x"], outputs, **attributes)], {"x": (dtype, x.shape)}, outputs, opset=22)
    got = results(model, x)
    for place, value in want.items():
        np.testing.assert_array_equal(got[0][:, :, *place], value)
    if places:
        found = np.take(x.reshape(-1), got[1])
        np.testing.assert_array_equal(np.where(np.isnan(found), -np.inf, found), got[0])


@pytest.mark.parametrize("antialias", (0, 1))
@pytest.mark.parametrize("mode", ("linear", "cubic"))
@pytest.mark.parametrize("dtype", ("int8", "uint8", "int16", "int32", "int64"))
def test_integer_images_are_rounded_once(dtype, mode, antialias):
    """To the nearest even integer, within the type's range, after all axes: as in ONNX's reference."""
    random = np.random.default_rng(0)
    ends = np.iinfo(dtype)
    low, high = max(ends.min, -(2**20)), min(ends.max, 2**20)
    for size, by in (((5, 7), {"sizes": (10, 14)}), ((8, 6), {"sizes": (3, 11)}), ((6, 6), {"scales": (1.3, 0.7)})):
        x = random.integers(low, high + 1, (1, 2, *size)).astype(dtype)
        wide = {}
        for kind in (dtype, "float64"):
            which = ["", "s"] if "sizes" in by else ["s"]
            given = {"s": np.array(next(iter(by.values())), "int64" if "sizes" in by else "float32")}
            model = model_of([node("Resize", ["x", "", *which], ["y"], mode=mode, antialias=antialias, axes=[2, 3])],
                             {"x": (kind, x.shape)}, ["y"], given, opset=19)  # fmt: skip
            [wide[kind]] = results(model, x.astype(kind))
        exact = np.clip(wide["float64"], ends.min, ends.max)
        # A half that float64 cannot decide may go either way.
        off = np.abs(wide[dtype].astype("float64") - exact)
        assert wide[dtype].dtype == dtype and off.max() <= 0.5 + 1e-6


# The place of new element i, as a number of float32.
PLACES = {
    "asymmetric": lambda i, scale: i / scale,
    "half_pixel": lambda i, scale: (i + np.float32(0.5)) / scale - np.float32(0.5),
    "tf_half_pixel_for_nn": lambda i, scale: i if scale == 1 else (i + np.float32(0.5)) / scale,
}
ROUNDINGS = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda at: np.ceil(at - np.float32(0.5)),
    "round_prefer_ceil": lambda at: np.floor(at + np.float32(0.5)),
}


def nearest(x, scales, places="asymmetric", rounding=None):
    """Before opset 11, without a rounding: up along axes that shrink, down along the others."""
    for axis, scale in enumerate(np.float32(scales)):
        at = PLACES[places](np.arange(int(x.shape[axis] * scale), dtype="float32"), scale)
        at = ROUNDINGS[rounding or ("ceil" if scale < 1 else "floor")](at)
        x = np.take(x, np.clip(at, 0, x.shape[axis] - 1).astype(int), axis)
    return x


def expect_resized(op, opset, scales, want, **attributes):
    """By known scales, and by scales at run time."""
    x = np.arange(2 * 10 * 9, dtype="float32").reshape(1, 2, 10, 9)
    inputs, scales = {"x": ("float32", x.shape)}, [1, 1, *scales]
    if op == "Upsample" and opset < 9:
        return expect(model_of([node(op, ["x"], ["y"], scales=[float(s) for s in scales])], inputs, ["y"], {}, opset),
                      [x], [want(x, scales)])  # fmt: skip
    made, given = node(op, ["x", *[""] * (opset > 10), "s"], ["y"], **attributes), np.array(scales, "float32")
    expect(model_of([made], inputs, ["y"], {"s": given}, opset), [x], [want(x, scales)])
    expect(model_of([made], inputs | {"s": ("float32", [4])}, ["y"], {}, opset), [x, given], [want(x, scales)])


@pytest.mark.parametrize("scales", ((0.6, 0.6), (1.5, 0.6), (0.7, 0.75), (2.3, 1.0), (1, 1.25), (0.3, 0.4)))
@pytest.mark.parametrize("op, opset", (("Upsample", 7), ("Upsample", 9), ("Resize", 10)))
def test_nearest_elements_before_opset_11(op, opset, scales):
    expect_resized(op, opset, scales, nearest)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("places", PLACES)
def test_nearest_elements_of_scales_that_are_rounded(places, rounding):
    for scales in ((0.7, 0.75), (0.3, 1.3), (1.0, 3.0), (0.5, 1.0)):
        expect_resized("Resize", 11, scales, lambda x, s: nearest(x, s, places, rounding),
                       coordinate_transformation_mode=places, nearest_mode=rounding)  # fmt: skip


@pytest.mark.parametrize("open_width", ("w", None))
@pytest.mark.parametrize("reduction", ("none", "add"))
def test_scatter_with_an_open_number_of_indexed_axes(reduction, open_width):
    """The axes of the data that the updates lack are indexed."""
    shapes = {"x": [4, 5, 3], "i": [6, open_width], "u": [6, 3]}
    inputs = {name: ("int64" if name == "i" else "float32", shape) for name, shape in shapes.items()}
    model = model_of([node("ScatterND", ["x", "i", "u"], ["y"], reduction=reduction)], inputs, ["y"])
    random = np.random.default_rng(0)
    x, u = (random.standard_normal(shapes[name]).astype("float32") for name in "xu")
    places = np.array([[0, 1], [3, -1], [2, 2], [1, 0], [2, 4], [0, 0]])
    want = x.copy()
    (np.add.at if reduction == "add" else np.ndarray.__setitem__)(want, tuple(places.T), u)
    expect(model, [x, places, u], [want])
    with pytest.raises(relay.CompileError, match="i|indices"):
        relay.compile(model)(x, np.zeros((6, 1), "int64"), u)


def grouped(past, total):
    """A step of grouped attention over a cache of `past` rows: 4 heads of 8 that share 2 of keys."""
    shapes = {"q": (2, 1, 32), "k": (2, 1, 16), "v": (2, 1, 16), "pk": (2, 2, past, 8), "pv": (2, 2, past, 8)}
    inputs = {name: ("float32", shape) for name, shape in shapes.items()} | {"l": ("int32", [2])}
    made = node("GroupQueryAttention", [*inputs, "t"], ["y", "nk", "nv"], domain="com.microsoft", num_heads=4,
                kv_num_heads=2)  # fmt: skip
    model = model_of([made], inputs, ["y", "nk", "nv"], {"t": np.int32(total)})
    random = np.random.default_rng(past)
    return model, [random.standard_normal(shape).astype("float32") for shape in shapes.values()]


@pytest.mark.parametrize(
    ("lengths", "total"), (((5, 5), 5), ((5, 2), 5), ((1, 4), 5), ((1, 1), 5), ((4, 2), 4), ((1, 1), 4))
)
def test_sequences_of_unequal_lengths(lengths, total):
    """The new key of each sequence follows its old keys, in a cache of 4 or 5 rows."""
    model, args = grouped(4, total)
    q, k, v, keys, values = args
    got = results(model, *args, np.array(lengths, "int32") - 1)
    for n, length in enumerate(lengths):
        rows = []
        for past, new in ((keys, k), (values, v)):
            rows.append(np.concatenate([past[n, :, : length - 1], new[n].reshape(1, 2, 8).swapaxes(0, 1)], 1))
        for one, row in zip(got[1:], rows, strict=True):
            np.testing.assert_array_equal(one[n, :, :length], row)
        of, to = (row.astype("float64").repeat(2, 0) for row in rows)
        scores = np.einsum("hd,hld->hl", q[n].reshape(4, 8), of) / np.sqrt(8)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        want = np.einsum("hl,hld->hd", weights / weights.sum(-1, keepdims=True), to)
        np.testing.assert_allclose(got[0][n].reshape(4, 8), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("total", (4, 5))
def test_lengths_beyond_the_cache_are_refused(total):
    model, args = grouped(4, total)
    for lengths in ((total + 1, 1), (1, total + 1), (0, 1)):
        with pytest.raises(relay.CompileError, match="seqlens_k"):
            relay.compile(model)(*args, np.array(lengths, "int32") - 1)


def test_attention_keeps_nan_and_gives_zeros_where_nothing_is_visible():
    q = np.ones((1, 1, 3, 4), np.float32)
    q[0, 0, 2, 1] = np.nan
    mask = np.array([[True, False, False], [False, False, False], [True, True, True]])
    attention = helper.make_node("Attention", ["q", "k", "v", "m"], ["y"], is_causal=1)
    keys = {"k": np.ones_like(q), "v": np.ones_like(q), "m": mask}
    wanted = np.stack([np.ones(4), np.zeros(4), np.full(4, np.nan)]).astype(np.float32)
    expect(model_of([attention], {"q": ("float32", q.shape)}, ["y"], keys, opset=23), [q], [wanted.reshape(q.shape)])


@pytest.mark.parametrize("extent", (0, 3, 5))
@pytest.mark.parametrize("place", ("constant", "open", "computed"))
def test_a_backward_slice_that_begins_before_the_axis(extent, place):
    """It begins on the first element, as ONNX clamps starts to 0 .. n - 1; -1 is not the last element."""
    x, bounds = np.arange(1, extent + 1, dtype="float32"), {"b": [-6], "e": [-9], "a": [0], "s": [-1]}
    inputs = {"x": ("float32", ["n" if place == "open" else extent])}
    more = {k: ("int64", [1]) for k in bounds} if place == "computed" else {}
    model = model_of([node("Slice", ["x", "b", "e", "a", "s"], ["y"])], inputs | more, ["y"], {} if more else bounds)
    expect(model, [x, *(np.array(bounds[k]) for k in more)], [x[:1]])


@pytest.mark.parametrize("pads", ((-3, 5), (5, -3), (-1, -1), (-2, 0)))
def test_a_wrapped_pad_repeats_what_is_left(pads):
    x = np.arange(5, dtype="float32")
    left = x[max(-pads[0], 0) : 5 + min(pads[1], 0)]
    want = np.pad(left, [max(one, 0) for one in pads], mode="wrap")
    for constants, inputs in (({"p": pads}, {}), ({}, {"p": ("int64", [2])})):
        model = model_of([node("Pad", ["x", "p"], ["y"], mode="wrap")], {"x": ("float32", [5])} | inputs, ["y"],
                         constants, opset=19)  # fmt: skip
        expect(model, [x, *(np.array(pads) for _ in inputs)], [want])


def test_zeros_are_quantised_with_a_scale():
    model = model_of([node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], {"x": ("float32", [3])}, ["y", "s", "z"])
    expect(model, [np.zeros(3, "float32")], [np.zeros(3, "uint8"), np.float32(1), np.uint8(0)])


@pytest.mark.parametrize("start, limit, delta", ((2**60, 2**60 + 3, 1), (-(2**62), -(2**62) - 5, -2), (7, -3, 2)))
def test_ranges_of_large_integers_are_exact(start, limit, delta):
    bounds = {"a": start, "b": limit, "d": delta}
    want = np.arange(start, limit, delta)
    for inputs in ({}, {k: ("int64", []) for k in bounds}):
        model = model_of([node("Range", ["a", "b", "d"], ["y"])], inputs, ["y"], {} if inputs else bounds)
        for got in results(model, *(np.array(bounds[k]) for k in inputs)):
            np.testing.assert_array_equal(got, want)


def test_a_range_to_nan_is_refused():
    model = model_of([node("Range", ["a", "b", "a"], ["y"])], {k: ("float32", []) for k in "ab"}, ["y"])
    np.testing.assert_array_equal(results(model, np.float32(1), np.float32(3))[0], [1, 2])
    with pytest.raises(relay.CompileError, match="Range"):
        relay.compile(model)(np.float32(1), np.float32(np.nan))


@pytest.mark.parametrize("axis", ({}, {"axis": 0}))
def test_a_condition_longer_than_the_data(axis):
    model = model_of([node("Compress", ["x", "c"], ["y"], **axis)], {"x": ("float32", [2]), "c": ("bool", [4])}, ["y"])
    x = np.array([5, 7], "float32")
    expect(model, [x, np.array([False, True, False, False])], [x[1:]])
    with pytest.raises(relay.CompileError, match="index"):
        relay.compile(model)(x, np.array([False, True, False, True]))


@pytest.mark.parametrize("columns", (4, 5, "n"))
def test_boxes_have_four_numbers(columns):
    model = model_of([node("NonMaxSuppression", ["b", "s", "m"], ["y"])],
                     {"b": ("float32", [1, 2, columns]), "s": ("float32", [1, 1, 2])}, ["y"], {"m": [2]})  # fmt: skip
    scores = np.array([[[1, 2]]], "float32")
    if columns != 5:
        expect(model, [np.array([[[0, 0, 1, 1], [2, 2, 3, 3]]], "float32"), scores], [[[0, 0, 1], [0, 0, 0]]])
    if columns != 4:
        with pytest.raises(relay.CompileError, match=r"boxes, 4\)|4"):
            relay.compile(model)(np.ones((1, 2, 5), "float32"), scores)


@pytest.mark.parametrize("computed", (False, True))
@pytest.mark.parametrize("size", ((2, 1, 1, 3), (2, 1, 4, 1), (2, 1, 1, 2, 3)))
def test_a_grid_with_one_element_along_an_axis(size, computed):
    """With align_corners its place is -1, as in ONNX's reference."""
    axes = len(size) - 2
    theta = np.random.default_rng(0).standard_normal((2, axes, axes + 1)).astype("float32")
    inputs = {"t": ("float32", ["n", "m", "k"])} | ({"s": ("int64", [len(size)])} if computed else {})
    model = model_of([node("AffineGrid", ["t", "s"], ["y"], align_corners=1)], inputs, ["y"],
                     {} if computed else {"s": list(size)}, opset=20)  # fmt: skip
    args = [theta] + ([np.array(size)] if computed else [])
    with np.errstate(divide="ignore"):
        [want] = ReferenceEvaluator(model).run(None, {"t": theta} | ({"s": np.array(size)} if computed else {}))
    expect(model, args, [want])
    with pytest.raises(relay.CompileError, match=str(axes)):
        relay.compile(model)(theta[:, :, :-1], *args[1:])


@pytest.mark.parametrize("sizes", ((2, 2, 5, 4), (2, 2, 3, 4), (3, 2, 5, 4)))
@pytest.mark.parametrize("channels", ((0, 1), (0.5, 1)))
def test_a_crop_that_keeps_the_size(sizes, channels):
    """A region of interest is read in an image of the same size too, and along batch and channels."""
    x = np.random.default_rng(0).standard_normal((2, 2, 5, 4)).astype("float32")
    roi = np.array([0, channels[0], 0.2, 0.1, 1, channels[1], 0.9, 1.2], "float32")
    model = model_of([node("Resize", ["x", "r", "", "s"], ["y"], mode="linear", extrapolation_value=9.0,
                           coordinate_transformation_mode="tf_crop_and_resize")],
                     {"x": ("float32", x.shape)}, ["y"], {"r": roi, "s": list(sizes)}, opset=19)  # fmt: skip
    expect(model, [x], ReferenceEvaluator(model).run(None, {"x": x}))


@pytest.mark.parametrize("dtype", ("float32", "int8"))
def test_places_of_least_elements_are_inside_of_the_image(dtype):
    least = -np.inf if dtype == "float32" else -128
    x = np.full((1, 1, 2, 2), least, dtype)
    model = model_of([node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2], pads=[1, 1, 1, 1])],
                     {"x": (dtype, x.shape)}, ["y", "i"])  # fmt: skip
    got = relay.compile(model)(x)
    np.testing.assert_array_equal(got[0], np.full((1, 1, 3, 3), least, dtype))
    np.testing.assert_array_equal(got[1], [[[[0, 0, 1], [0, 0, 1], [2, 2, 3]]]])


def test_a_size_that_is_found_to_be_a_number():
    """The name n is another name's size first, and that is 4."""
    nodes = [node("Add", ["x", "c"], ["y"]), node("Add", ["w", "x"], ["z"])]
    constants = {"c": np.ones(4, "float32")}
    x, w = np.arange(8, dtype="float32").reshape(2, 4), np.arange(4, dtype="float32")
    model = model_of(nodes, {"x": ("float32", ["k", "m"]), "w": ("float32", ["n"])}, ["y", "z"], constants)
    expect(model, [x, w], [x + 1, w + x])


def test_values_of_one_hot_may_be_large():
    values = np.array([2**53 + 1, -(2**60) - 1])
    for constants, inputs in (({"v": values}, {}), ({}, {"v": ("int64", [2])})):
        model = model_of([node("OneHot", ["i", "d", "v"], ["y"])], {"i": ("int64", [1])} | inputs, ["y"],
                         {"d": [2]} | constants)  # fmt: skip
        for got in results(model, np.array([1]), *(values for _ in inputs)):
            np.testing.assert_array_equal(got, [values])
