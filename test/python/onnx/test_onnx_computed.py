"""Sizes that are computed at run time: signals, windows and shapes, compared with ONNX Runtime or ONNX's reference, and
values that are refused then."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, parser  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import relay  # noqa: E402


def model_of(graph, opset):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> graph {graph}')


def draw(*shape):
    return np.random.default_rng(11).standard_normal(shape).astype(np.float32)


def close(got, wanted):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


SIGNALS = {
    "one side": ("(float[1,s,1] x) => (float[a,b,c] y) { y = DFT<axis=1, onesided=1>(x) }", [()]),
    "both sides": ("(float[n,s,2] x) => (float[a,b,c] y) { y = DFT<axis=1>(x) }", [()]),
    "back": ("(float[n,s,2] x) => (float[a,b,c] y) { y = DFT<axis=1, inverse=1>(x) }", [()]),
    "of a length": ("(float[n,9,2] x, int64 k) => (float[a,b,c] y) { y = DFT<axis=1>(x, k) }", [(12,), (5,)]),
    "frames": (
        '(float[1,s,1] x, int64 k) => (float[a,b,c,d] y) { by = Constant<value_int=3>() y = STFT(x, by, "", k) }',
        [(8,), (5,)],
    ),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_signals_of_any_length(name):
    graph, numbers = SIGNALS[name]
    model = model_of(graph, 17)
    compiled = relay.compile(model)
    channels = 1 if "1] x" in graph else 2
    for length in (9,) if "n,9" in graph else (9, 12):
        for more in numbers:
            inputs = [draw(1, length, channels), *(np.array(k) for k in more)]
            given = {port.name: value for port, value in zip(model.graph.input, inputs, strict=True)}
            close(compiled(*inputs), ReferenceEvaluator(model).run(None, given)[0])


@pytest.mark.parametrize("length", [2, 5, 6])
def test_the_other_side_of_any_length(length):
    """The inverse of one side, whose other side mirrors it, as numpy has it."""
    model = model_of("(float[n,s,2] x) => (float[a,b,c] y) { y = DFT<inverse=1, onesided=1>(x) }", 20)
    x = draw(2, length, 2)
    close(relay.compile(model)(x)[..., 0], np.fft.irfft(x[..., 0] + 1j * x[..., 1], axis=1).astype(np.float32))


COLUMNS = """(float[n,r,l] x, int64[2] image, int64[2] block) => (float[a,b,c,d] y) {
    y = Col2Im<pads=[1,0,0,1], strides=[1,2]>(x, image, block) }"""


def test_columns_of_any_window():
    model = model_of(COLUMNS, 18)
    compiled = relay.compile(model)
    for x, image, block in ((draw(2, 18, 18), [6, 6], [2, 3]), (draw(1, 4, 12), [4, 4], [2, 1])):
        inputs = {"x": x, "image": np.array(image), "block": np.array(block)}
        close(compiled(*inputs.values()), ReferenceEvaluator(model).run(None, inputs)[0])
    with pytest.raises(relay.CompileError, match="(?s)R0604.*Col2Im"):
        compiled(draw(2, 18, 17), np.array([6, 6]), np.array([2, 3]))


def test_places_of_maxima_in_a_larger_result():
    model = model_of(
        """(float[1,1,2,2] x, int64[1,1,2,2] i, int64[4] s) => (float[a,b,c,d] y) {
        y = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(x, i, s) }""",
        22,
    )
    compiled = relay.compile(model)
    x, places = draw(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]])
    got = compiled(x, places, np.array([1, 1, 5, 6]))
    wanted = np.zeros(16, np.float32)
    wanted[places.ravel()] = x.ravel()
    assert got.shape == (1, 1, 5, 6) and np.array_equal(got[0, 0, :4, :4], wanted.reshape(4, 4))
    assert not got[0, 0, 4:].any() and not got[0, 0, :, 4:].any()
    with pytest.raises(relay.CompileError, match="(?s)R0604.*MaxUnpool"):
        compiled(x, places, np.array([1, 1, 3, 4]))


def test_numbers_in_a_computed_shape_are_extents():
    """Behind it are operators that need them: heads without a fixed size could not be imported."""
    model = model_of(
        """(float[n,12] x, int64[1] k, float[4,5] w) => (float[a,3,5] y, float[b,c,12] z) {
        sizes = Constant<value_ints=[3, 4]>() s = Concat<axis=0>(k, sizes) r = Reshape(x, s) y = MatMul(r, w)
        one = Constant<value_ints=[1]>() t = Concat<axis=0>(k, one, one) z = Expand(x, t) }""",
        17,
    )
    result = str(relay.transform.InferType()(relay.load(model))["main"].ret_type)
    assert result == "(Tensor[(?, 3, 5), float32], Tensor[(?, ?, 12), float32])"
    inputs = {"x": draw(2, 12), "k": np.array([2]), "w": draw(4, 5)}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, wanted in zip(relay.compile(model)(*inputs.values()), session.run(None, inputs), strict=True):
        close(got, wanted)


@pytest.mark.parametrize(
    "x, scale, precision",
    [("float16", "float32", 0), ("float32", "float16", 0), ("float16", "float16", 1), ("int32", "float32", 0)],
)
def test_a_quotient_is_of_the_type_that_the_model_says(x, scale, precision):
    """That of the scale, or `precision`."""
    kind = {"float32": "float", "float16": "float16", "int32": "int32"}
    model = model_of(
        f"""({kind[x]}[64] x, {kind[scale]} s, uint8 z) => (uint8[64] y) {{
        y = QuantizeLinear<precision={precision}>(x, s, z) }}""",
        23,
    )
    values = (np.random.default_rng(2).uniform(-90, 90, 64)).astype(x)
    step, zero = np.array(0.7, scale), np.array(101, np.uint8)
    real = "float32" if precision else scale
    quotient = values.astype(real) / step.astype(real)
    wanted = np.clip(np.rint(quotient).astype(np.int32) + 101, 0, 255)
    assert np.array_equal(relay.compile(model)(values, step, zero), wanted)


# Numbers that are computed of the sizes of inputs: known at import, and not as numbers.
OF_SIZES = {
    "Pad": """(float[1,2,h,w] x) => (float[1,2,a,b] y) {
        s = Shape(x) two = Constant<value_ints=[2]>() h = Gather(s, two) k = Constant<value_ints=[8]>()
        z = Constant<value_ints=[0]>() n = Sub(z, h) p = Mod(n, k) zeros = Constant<value_ints=[0,0,0,0,0,0]>()
        pads = Concat<axis=0>(zeros, p, z) y = Pad(x, pads) }""",
    "Resize": """(float[1,2,h,w] x) => (float[1,2,a,b] y) {
        s = Shape<start=2>(x) one = Constant<value_ints=[1]>() t = Sub(s, one) f = Cast<to=1>(s) g = Cast<to=1>(t)
        d = Div(g, f) e = Constant<value_floats=[1.0, 1.0]>() k = Concat<axis=0>(e, d)
        y = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(x, "", k) }""",
    "Mul": """(float[1,2,h,w] x) => (float[1,2,h,w] y) {
        s = Shape<start=2, end=3>(x) f = Cast<to=1>(s) e = Constant<value_floats=[0.1]>() p = Mul(f, e)
        q = Sub(p, e) y = Mul(x, q) }""",
    "TopK": """(float[1,2,h,w] x) => (float[1,2,a,b] y, int64[1,2,a,b] i) {
        s = Shape<start=2, end=3>(x) two = Constant<value_ints=[2]>() k = Div(s, two) y, i = TopK<axis=2>(x, k) }""",
    "Split": """(float[1,2,h,w] x) => (float[1,2,a,b] y, float[1,2,c,d] z) {
        s = Shape<start=2, end=3>(x) two = Constant<value_ints=[2]>() k = Div(s, two) l = Sub(s, k)
        parts = Concat<axis=0>(k, l) y, z = Split<axis=2>(x, parts) }""",
    "OneHot": """(float[1,2,h,w] x, int64[3] i) => (float[a,b] y) {
        s = Shape<start=2, end=3>(x) none = Constant<value_ints=[0]>() d = Squeeze(s, none)
        v = Constant<value_floats=[0.0, 1.0]>() y = OneHot(i, d, v) }""",
    "Trilu": """(float[1,2,h,w] x) => (float[1,2,a,b] y) {
        s = Shape<start=2, end=3>(x) two = Constant<value_ints=[2]>() k = Div(s, two)
        none = Constant<value_ints=[0]>() d = Squeeze(k, none) y = Trilu(x, d) }""",
    "CenterCropPad": """(float[1,2,h,w] x) => (float[1,2,a,b] y) {
        s = Shape<start=2>(x) two = Constant<value_ints=[2, 1]>() k = Div(s, two) m = Add(k, two)
        y = CenterCropPad<axes=[2, 3]>(x, m) }""",
    "AffineGrid": """(float[1,2,h,w] x) => (float[a,b,c,d] y) {
        s = Shape(x) t = Constant<value = float[1,2,3] {1.0, 0.5, 0.0, 0.25, 2.0, 1.0}>() y = AffineGrid(t, s) }""",
    "SplitToSequence": """(float[1,2,h,w] x) => (float[1,2,a,b] y) {
        s = Shape<start=2, end=3>(x) two = Constant<value_ints=[2]>() k = Div(s, two) none = Constant<value_ints=[0]>()
        d = Squeeze(k, none) all = SplitToSequence<axis=2>(x, d)
        i = Constant<value_int=0>() y = SequenceAt(all, i) }""",
}


@pytest.mark.parametrize("name", OF_SIZES)
def test_numbers_of_sizes(name):
    model = model_of(OF_SIZES[name], 20)
    compiled = relay.compile(model)
    for h, w in ((6, 5), (9, 4)):
        inputs = {"x": draw(1, 2, h, w)} | ({"i": np.array([0, 5, -1])} if name == "OneHot" else {})
        # 6 elements at 5 / 6 are 5, as in ONNX Runtime: products of float32. The reference has 4.
        peer = (
            onnxruntime.InferenceSession(model.SerializeToString()) if name == "Resize" else ReferenceEvaluator(model)
        )
        wanted = peer.run(None, inputs)
        got = compiled(*inputs.values())
        for g, v in zip(got if len(wanted) > 1 else [got], wanted, strict=True):
            close(g, v)


def shaped_by(nodes, name, op, length):
    """x, of shape (2, 3), under a shape that `nodes` compute of the input s."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    s = helper.make_tensor_value_info("s", TensorProto.INT64, [length])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [*nodes, helper.make_node(op, ["x", name], ["y"])]
    return helper.make_model(helper.make_graph(nodes, "g", [x, s], [y]), opset_imports=[helper.make_opsetid("", 21)])


@pytest.mark.parametrize("op", ["Reshape", "Expand"])
def test_a_shape_behind_very_many_casts(op):
    kinds = [TensorProto.INT32, TensorProto.INT64]
    nodes = [helper.make_node("Cast", [f"c{i}" if i else "s"], [f"c{i + 1}"], to=kinds[i % 2]) for i in range(20_000)]
    module = relay.load(shaped_by(nodes, "c20000", op, 2))
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(relay.compile(module)(given, np.array([2, 3])), given)


@pytest.mark.parametrize("op", ["Reshape", "Expand"])
def test_a_shape_of_2_to_the_40_sizes(op):
    with pytest.raises(relay.CompileError, match="more than a tensor has axes|do not broadcast"):
        relay.load(shaped_by([], "s", op, 2**40))


# Rows that a run chooses: their number is unknown.
OF_CHOSEN_ROWS = {
    "what is left over": """(float[4,2,3,5] x, bool[4] keep) => (float[a,b,c] y) {
        z = Compress<axis=0>(x, keep) t = Constant<value_ints=[0, 0, -1]>() y = Reshape(z, t) }""",
    "products of both": """(float[4,2,3,5] x, bool[4] keep) => (float[a,b,c,d] y) {
        z = Compress<axis=0>(x, keep) t = Transpose<perm=[0,1,3,2]>(z) y = MatMul(z, t) }""",
    "products of chosen places": """(float[4,2,3,5] x, bool[4] keep) => (float[a,b,c,d] y) {
        z = Compress<axis=0>(x, keep) two = Constant<value = bool[3] {1, 0, 1}>() r = Compress<axis=2>(z, two)
        t = Transpose<perm=[0,1,3,2]>(r) y = MatMul(r, t) }""",
    "products with one for all": """(float[4,2,3,5] x, bool[4] keep) => (float[a,b,c,d] y) {
        z = Compress<axis=0>(x, keep) w = Constant<value = float[1,2,5,1] {1,2,3,4,5,6,7,8,9,10}>()
        y = MatMul(z, w) }""",
}


@pytest.mark.parametrize("name", OF_CHOSEN_ROWS)
def test_shapes_of_chosen_rows(name):
    model = model_of(OF_CHOSEN_ROWS[name], 13)
    compiled = relay.compile(model)
    for keep in ([True, False, True, True], [True] * 4):
        inputs = {"x": draw(4, 2, 3, 5), "keep": np.array(keep)}
        close(compiled(*inputs.values()), ReferenceEvaluator(model).run(None, inputs)[0])
    none = compiled(draw(4, 2, 3, 5), np.zeros(4, bool))
    assert none.shape[0] == 0 and none.shape[1] == 2


# A squeeze without axes of a size that is a name: what it means depends on the size.
SQUEEZES = {
    "another node needs 1": ("(float[n,2] x) => (float[k] y) { one = Constant<value = float[1,1] {7}>() "
                             "z = Concat<axis=1>(x, one) y = Squeeze(z) }", (1, 2), (3,)),
    "the outputs have the rank of 1": ("(float[n,2,1] x) => (float[k] y) { y = Squeeze(x) }", (1, 2, 1), (2,)),
    "the outputs have the rank of more": ("(float[n,2,1] x) => (float[k,2] y) { y = Squeeze(x) }", (3, 2, 1), (3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", SQUEEZES)
def test_squeezes_of_a_named_size(name):
    graph, shape, wanted = SQUEEZES[name]
    compiled = relay.compile(model_of(graph, 13))
    assert compiled(draw(*shape)).shape == wanted
    other = (4 - shape[0], *shape[1:])
    with pytest.raises(relay.CompileError, match="R0601"):
        compiled(draw(*other))


def test_an_axis_means_nothing_where_there_is_one_scale():
    """Quantisers write the scale of a bias as a vector of one, and no axis."""
    model = model_of(
        """(int8[3] x) => (float[3] y) { s = Constant<value = float[1] {0.5}>() z = Constant<value = int8[1] {2}>()
        y = DequantizeLinear(x, s, z) }""",
        13,
    )
    assert relay.compile(model)(np.array([1, 2, 4], np.int8)).tolist() == [-0.5, 0, 1]


@pytest.mark.parametrize("unknown", ["?", "-1"])
def test_what_names_nothing_is_not_one_size(unknown):
    shape = [unknown, 3, unknown, unknown]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    compiled = relay.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))
    assert compiled(draw(2, 3, 4, 5)).shape == (2, 3, 4, 5)


def test_one_name_of_two_sizes():
    """Exporters name sizes of state as they name those of a picture: where shapes are given, these hold."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "height"]) for name in ("x", "state")]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "k"]) for name in ("y", "z")]
    nodes = [helper.make_node("Relu", [name], [out]) for name, out in (("x", "y"), ("state", "z"))]
    model = helper.make_model(
        helper.make_graph(nodes, "g", ports, outputs), opset_imports=[helper.make_opsetid("", 13)]
    )
    y, z = relay.compile(relay.load(model, shapes={"x": (1, 4), "state": (1, 1)}))(draw(1, 4), draw(1, 1))
    assert y.shape == (1, 4) and z.shape == (1, 1)


# Graphs whose sizes are known only at run time, as written by current exporters.
OF_EXPORTERS = {
    "a spectrum of a signal without an axis of parts": """(float[1,s] x) => (float[a,b,c,d] y) {
        n = Constant<value_int=8>() by = Constant<value_int=3>() y = STFT(x, by, "", n) }""",
    "cut at both ends": """(float[1,s] x) => (float[a,b] y) {
        p = Constant<value_ints=[0, -2, 0, -1]>() y = Pad(x, p) }""",
    "cut at one end, padded at the other": """(float[1,s] x) => (float[a,b] y) {
        p = Constant<value_ints=[0, 3, 0, -1]>() y = Pad(x, p) }""",
    "a line of chosen places": """(float[1,s] x) => (float[a,b,c] y) {
        z = Constant<value_float=0.0>() over = Greater(x, z) f = Cast<to=1>(over) g = NonZero(f)
        i = Constant<value_int=1>() j = Gather<axis=0>(g, i) q = Gather<axis=1>(x, j) one = Constant<value_ints=[0]>()
        u = Unsqueeze(q, one) w = Constant<value = float[1,1,2] {1, 2}>() y = ConvTranspose(u, w) }""",
    "a picture of chosen rows, twice as large": """(float[1,s] x) => (float[a,b,c,d] y) {
        z = Constant<value_float=0.0>() over = Greater(x, z) f = Cast<to=1>(over) g = NonZero(f)
        i = Constant<value_int=1>() j = Gather<axis=0>(g, i) q = Gather<axis=1>(x, j)
        axes = Constant<value_ints=[0, 1]>() u = Unsqueeze(q, axes) k = Constant<value_floats=[1.0, 1.0, 2.0, 2.0]>()
        y = Resize<mode="linear", coordinate_transformation_mode="half_pixel">(u, "", k) }""",
    "a branch that only one size can take": """(float[1,c,s] x) => (float[a,b] y) {
        w = Constant<value = float[1] {2}>() z = Constant<value = float[1] {0}>() n = InstanceNormalization(x, w, z)
        k = Shape(n) i = Constant<value_int=1>() g = Gather(k, i) is = Equal(g, i)
        y = If(is) <then_branch = t () => (float[p,q] one) { one_axis = Constant<value_ints=[1]>()
        one = Squeeze(n, one_axis) }, else_branch = e () => (float[p,q,r] two) { two = Mul(n, n) }> }""",
}


@pytest.mark.parametrize("name", OF_EXPORTERS)
def test_what_exporters_write(name):
    model = model_of(OF_EXPORTERS[name], 18)
    compiled = relay.compile(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for length in (20, 33):
        x = draw(1, 1, length) if "c,s" in OF_EXPORTERS[name] else draw(1, length)
        close(compiled(x), session.run(None, {"x": x})[0])


def test_a_branch_that_no_size_can_take_is_refused():
    compiled = relay.compile(model_of(OF_EXPORTERS["a branch that only one size can take"], 18))
    with pytest.raises(relay.CompileError, match="R0601"):
        compiled(draw(1, 2, 20))


@pytest.mark.parametrize("op", ["RandomNormalLike", "RandomUniformLike"])
def test_numbers_are_drawn_for_open_sizes(op):
    """Covers sizes of inputs, and positions that a run chooses."""
    compiled = relay.compile(
        model_of(
            f"""(float[n,3] x, bool[n] keep) => (float[a,b] y, float[c,d] z) {{
            y = {op}(x) chosen = Compress<axis=0>(x, keep) z = {op}(chosen) }}""",
            18,
        )
    )
    y, z = compiled(draw(2000, 3), np.arange(2000) % 4 == 0)
    assert y.shape == (2000, 3) and z.shape == (500, 3)
    mean, deviation = (0, 1) if op == "RandomNormalLike" else (0.5, 12**-0.5)
    assert abs(y.mean() - mean) < 0.05 and abs(y.std() - deviation) < 0.05 and not np.array_equal(y[:500], z)
