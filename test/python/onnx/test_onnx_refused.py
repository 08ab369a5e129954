"""Requirements on inputs that are checked at run time: inputs that ONNX Runtime refuses end a run of Relay, with the
node in the message, and accepted inputs give the same results."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import parser  # noqa: E402

import relay  # noqa: E402


def draw(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def model_of(graph, opset):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> graph {graph}')


def check(graph, taken, refused, message, opset=18):
    """Both give the same results for `taken`, and neither gives any for `refused`."""
    model = model_of(graph, opset)
    session, compiled = session_of(model), relay.compile(model)
    names = [port.name for port in model.graph.input]
    for inputs in taken:
        wanted = session.run(None, dict(zip(names, inputs, strict=True)))
        got = compiled(*inputs)
        for one, other in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    for inputs in refused:
        with pytest.raises(Exception):  # noqa: B017
            session.run(None, dict(zip(names, inputs, strict=True)))
        with pytest.raises(relay.CompileError, match=f"(?s){message}"):
            compiled(*inputs)


# name: graph, inputs that are taken, inputs that are refused, what the message says
LISTS = {
    "Split": (
        "(float[n,5] x, int64[2] s) => (float[n,a] y, float[n,b] z) { y, z = Split<axis=1>(x, s) }",
        [(draw(2, 5), ints(2, 3)), (draw(2, 5), ints(0, 5))],
        [(draw(2, 5), ints(2, 2)), (draw(2, 5), ints(5, 9)), (draw(2, 5), ints(-3, 8))],
        "do not add up.*Split",
    ),
    "SplitToSequence": (
        "(float[n,5] x, int64[2] s) => (float[n,a] y) {"
        " q = SplitToSequence<axis=1>(x, s) i = Constant<value_int=1>() y = SequenceAt(q, i) }",
        [(draw(2, 5), ints(2, 3))],
        [(draw(2, 5), ints(4, 4)), (draw(2, 5), ints(2, 1000)), (draw(2, 5), ints(6, -1))],
        "do not add up.*SplitToSequence",
    ),
    "SplitToSequence of one size": (
        "(float[n,5] x, int64 s) => (float[n,a] y) {"
        " q = SplitToSequence<axis=1>(x, s) i = Constant<value_int=0>() y = SequenceAt(q, i) }",
        [(draw(2, 5), np.array(2))],
        [(draw(2, 5), np.array(0)), (draw(2, 5), np.array(-2))],
        "split is below 1.*SplitToSequence",
    ),
    "TopK": (
        "(float[n,5] x, int64[1] k) => (float[n,a] y, int64[n,a] i) { y, i = TopK(x, k) }",
        [(draw(3, 5), ints(2)), (draw(3, 5), ints(0)), (draw(3, 5), ints(5))],
        [(draw(3, 5), ints(6)), (draw(3, 5), ints(-1))],
        "k is negative, or more.*TopK",
    ),
    "Tile": (
        "(float[n,5] x, int64[2] r) => (float[a,b] y) { y = Tile(x, r) }",
        [(draw(2, 5), ints(2, 0)), (draw(2, 5), ints(1, 3))],
        [(draw(2, 5), ints(-1, 2))],
        "repeats is negative.*Tile",
    ),
    "Slice": (
        "(float[n,5] x, int64[k] s, int64[k] e, int64[k] a, int64[k] t) => (float[b,c] y) { y = Slice(x, s, e, a, t) }",
        [
            (draw(3, 5), ints(0), ints(3), ints(-1), ints(1)),
            (draw(3, 5), ints(9, 0), ints(-9, 2), ints(1, 0), ints(-2, 1)),
        ],
        [
            (draw(3, 5), ints(0), ints(3), ints(7), ints(1)),
            (draw(3, 5), ints(0), ints(3), ints(-3), ints(1)),
            (draw(3, 5), ints(0, 0), ints(3, 2), ints(1, -1), ints(1, 1)),
            (draw(3, 5), ints(0), ints(3), ints(1), ints(0)),
        ],
        "(axes|steps).*Slice",
    ),
    "ReduceSum": (
        "(float[n,5] x, int64[k] a) => (float[b,c] y) { y = ReduceSum(x, a) }",
        [(draw(3, 5), ints(1)), (draw(3, 5), ints(0, -1))],
        [(draw(3, 5), ints(5)), (draw(3, 5), ints(0, -3))],
        "a value in axes is outside.*ReduceSum",
    ),
    "CumSum": (
        "(float[n,5] x, int64 a) => (float[n,5] y) { y = CumSum(x, a) }",
        [(draw(3, 5), np.array(0)), (draw(3, 5), np.array(-1))],
        [(draw(3, 5), np.array(2)), (draw(3, 5), np.array(-3))],
        "axis is outside.*CumSum",
    ),
    "ReverseSequence": (
        "(float[t,2] x, int64[2] l) => (float[t,2] y) { y = ReverseSequence(x, l) }",
        [(draw(4, 2), ints(0, 4))],
        [(draw(4, 2), ints(5, 1)), (draw(4, 2), ints(1, -1))],
        "sequence_lens.*ReverseSequence",
    ),
    "Resize by scales": (
        '(float[n,1,5,5] x, float[4] s) => (float[a,b,c,d] y) { y = Resize(x, "", s) }',
        [(draw(1, 1, 5, 5), np.array([1, 1, 2, 0.5], np.float32))],
        [(draw(1, 1, 5, 5), np.array([1, 1, wrong, 2], np.float32)) for wrong in (-2, 0, np.nan)],
        "scales is not positive.*Resize",
    ),
    "Resize to sizes": (
        '(float[n,1,5,5] x, int64[4] s) => (float[a,b,c,d] y) { y = Resize(x, "", "", s) }',
        [(draw(1, 1, 5, 5), ints(1, 1, 7, 3)), (draw(0, 1, 5, 5), ints(0, 1, 7, 3))],
        [(draw(1, 1, 5, 5), ints(1, 1, 0, 5)), (draw(1, 1, 5, 5), ints(1, 1, -2, 5))],
        "sizes is below 1.*Resize",
    ),
    "DFT": (
        "(float[1,t,1] x, int64 n) => (float[1,a,2] y) { y = DFT<axis=1>(x, n) }",
        [(draw(1, 4, 1), np.array(3))],
        [(draw(1, 4, 1), np.array(0)), (draw(1, 4, 1), np.array(-3))],
        "dft_length is below 1.*DFT",
    ),
    "STFT": (
        '(float[1,t,1] x, int64 by, int64 n) => (float[1,a,b,2] y) { y = STFT(x, by, "", n) }',
        [(draw(1, 8, 1), np.array(2), np.array(4))],
        [(draw(1, 8, 1), np.array(0), np.array(4)), (draw(1, 8, 1), np.array(2), np.array(20))],
        "frame_(step|length exceeds).*STFT",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_a_run_tells(name):
    check(*LISTS[name], opset=17 if name in ("DFT", "STFT") else 18)


# mode: pads of (4, 3) that are taken, and refused
PADS = {
    "constant": ([[0, -2, 0, -1], [-9, 0, 9, 0]], [[0, 0, 0, -5], [0, -2, 0, -2]]),
    "edge": ([[9, 0, 9, 0]], [[0, -3, 0, 1], [0, 0, 0, -5]]),
    "wrap": ([[9, 0, 9, 0]], [[0, 0, 0, -5]]),
    "reflect": ([[3, 2, 3, 0], [-1, 0, 2, 0]], [[4, 0, 0, 0], [0, 0, 0, 3], [-1, 0, 3, 0], [0, 0, 0, -5]]),
}


@pytest.mark.parametrize("mode", PADS)
def test_pads_that_a_run_tells(mode):
    taken, refused = ([(draw(4, 3), ints(*pads)) for pads in lists] for lists in PADS[mode])
    if mode in ("edge", "reflect"):
        taken.append((draw(0, 3), ints(0, 0, 0, 0)))
        refused.append((draw(0, 3), ints(1, 0, 0, 0)))
    graph = f'(float[n,3] x, int64[4] p) => (float[a,b] y) {{ y = Pad<mode="{mode}">(x, p) }}'
    check(graph, taken, refused, "pads cut off more.*Pad", opset=19)


@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("steps", ["t", 5])
def test_lengths_of_sequences(op, gates, steps):
    graph = (
        f"(float[{steps},2,3] x, float[1,{4 * gates},3] w, float[1,{4 * gates},4] r, int32[2] l)"
        f" => (float[{steps},1,2,4] y) {{ y = {op}<hidden_size=4>(x, w, r, , l) }}"
    ).replace(", , l", ', "", l')
    weights = draw(1, 4 * gates, 3), draw(1, 4 * gates, 4)
    inputs = {lengths: (draw(5, 2, 3), *weights, np.array(lengths, np.int32)) for lengths in
              ((5, 3), (0, 1), (6, 1), (2, -1))}  # fmt: skip
    check(graph, [inputs[5, 3], inputs[0, 1]], [inputs[6, 1], inputs[2, -1]], f"sequence_lens.*{op}")


# name: graph, inputs that are taken, inputs that are refused, the condition that is checked at the entry
ENTRIES = {
    "given parts": (
        "(float[n,m] x) => (float[n,2] y, float[n,3] z) {"
        " s = Constant<value_ints=[2, 3]>() y, z = Split<axis=1>(x, s) }",
        [(draw(2, 5),)],
        [(draw(2, 7),), (draw(2, 4),)],
        "dimension 1 is ., but it must be 5",
    ),
    "given parts that are equal": (
        "(float[n,m] x) => (float[n,3] y, float[n,3] z) {"
        " s = Constant<value_ints=[3, 3]>() y, z = Split<axis=1>(x, s) }",
        [(draw(2, 6),)],
        [(draw(2, 8),)],
        "dimension 1 is 8, but it must be 6",
    ),
    "one given part": (
        "(float[n,m] x) => (float[n,5] y) { s = Constant<value_ints=[5]>() y = Split<axis=1>(x, s) }",
        [(draw(2, 5),)],
        [(draw(2, 6),)],
        "dimension 1 is 6, but it must be 5",
    ),
    "parts of a computed axis": (
        "(float[n,m] x) => (float[n,2] y, float[n,4] z) {"
        " s = Constant<value_ints=[2, 4]>() d = Concat<axis=1>(x, x) y, z = Split<axis=1>(d, s) }",
        [(draw(2, 3),)],
        [(draw(2, 4),)],
        r"Split.*m \* 2",
    ),
    "parts of as many as there are": (
        "(float[m] x) => (int64[1,2] y, int64[1,3] z) {"
        " s = Constant<value_ints=[2, 3]>() d = NonZero(x) y, z = Split<axis=1>(d, s) }",
        [(np.ones(5, np.float32),)],
        [(np.ones(7, np.float32),), (np.ones(4, np.float32),)],
        "Split",
    ),
    "parts of one number": (
        "(float[n,m] x) => (float[n,a] y, float[n,a] z) { y, z = Split<axis=1, num_outputs=2>(x) }",
        [(draw(2, 6),), (draw(2, 7),), (draw(2, 2),)],
        [],
        "",
    ),
    "three parts of one number": (
        "(float[n,m] x) => (float[n,a] y, float[n,a] z, float[n,b] w) { y, z, w = Split<axis=1, num_outputs=3>(x) }",
        [(draw(2, 6),), (draw(2, 7),), (draw(2, 8),), (draw(2, 3),)],
        [(draw(2, 1),)],
        r"dimension 1 is 1, but .*Split.* needs `m - \(m \+ 2\) / 3 \* 2 >= 0`",
    ),
    "three parts of as many as there are": (
        "(float[m] x) => (int64[1,a] y, int64[1,a] z, int64[1,b] w) {"
        " d = NonZero(x) y, z, w = Split<axis=1, num_outputs=3>(d) }",
        [(np.ones(n, np.float32),) for n in (6, 7, 8)],
        [(np.ones(1, np.float32),)],
        "do not add up.*Split",
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_parts_of_an_axis_of_any_size(name):
    check(*ENTRIES[name])


def test_equal_parts_before_opset_18():
    graph = "(float[n,m] x) => (float[n,a] y, float[n,a] z) { y, z = Split<axis=1>(x) }"
    check(graph, [(draw(2, 6),)], [(draw(2, 7),)], "m % 2 == 0", opset=13)


def test_an_axis_of_any_size_stays_unless_it_is_one():
    """Squeeze without axes: the number of axes of the result is that of sizes that are not 1."""
    model = model_of("(float[n,1,m] x) => (float[a,b] y) { y = Squeeze(x) }", 13)
    compiled = relay.compile(model)
    assert compiled(draw(2, 1, 3)).shape == (2, 3)
    for shape, name in (((1, 1, 3), "n"), ((2, 1, 1), "m")):
        with pytest.raises(relay.CompileError, match=f"(?s)Squeeze.*{name} >= 2"):
            compiled(draw(*shape))
    one = model_of("(float[n,1,m] x) => (float[m] y) { y = Squeeze(x) }", 13)
    assert relay.compile(one, shapes={"x": (1, 1, 3)})(draw(1, 1, 3)).shape == (3,)
    # Named axes leave the others whatever they are.
    named = model_of("(float[n,1,m] x) => (float[n,m] y) { a = Constant<value_ints=[1]>() y = Squeeze(x, a) }", 13)
    assert relay.compile(named)(draw(1, 1, 3)).shape == (1, 3)


# Nodes that cannot be imported, and the help of each.
HELP = {
    "a size that must be known": (
        "(float[n, 1, 2, 2] x, int64[n, 1, 2, 2] i) => (float[p, q, r, s] y)"
        " { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) }",
        "fixed sizes are needed",
        "give the inputs' shapes: --shape NAME=1,3,224,224",
    ),
    "parts of a number": (
        "(float[n, m, k] x) => (float[p, q, r] y) { y = DFT <axis = 1> (x) }",
        "axis 2 of the signal has no fixed size",
        "give the inputs' shapes: --shape NAME=1,3,224,224",
    ),
    "a form of an operator": (
        "(float[2, 3, 4, 5, 6] x) => (float[p, q, r, s, t] y) { y = AveragePool <kernel_shape = [2, 2, 2, 2]> (x) }",
        "the window has 4 axes",
        "export the model with another form of this operator",
    ),
}


@pytest.mark.parametrize("name", HELP)
def test_each_refusal_has_its_own_help(name):
    graph, message, help = HELP[name]
    with pytest.raises(relay.CompileError) as caught:
        relay.load(model_of(graph, 18))
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.code == "R0403" and message in diagnostic.message and diagnostic.help.startswith(help)
