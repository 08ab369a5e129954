"""Operators of domain com.microsoft for several streams of features, tables of n-grams, rotations and transforms,
compared with ONNX Runtime, or with NumPy if ONNX Runtime has no CPU kernel."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from microsoft_models import near, one_node, ours, theirs  # noqa: E402
from onnx import helper  # noqa: E402

import relay  # noqa: E402

draw = np.random.default_rng(9)


def f(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def case(name, inputs, results=1, **attributes):
    return pytest.param(name, inputs, results, attributes, id=f"{name}-{len(inputs)}-{len(attributes)}")


WORDS = np.array([[3, 1, 4, 1, 5, 0], [2, 0, 0, 0, 0, 0], [8, 8, 7, 6, 5, 4], [1, 2, 3, 0, 0, 0]], np.int32)
CACHES = [f(9, 4), f(9, 4)]
PLACES = draw.integers(0, 9, (3, 2, 5)).astype(np.int64)
CASES = [
    case("MRotaryEmbedding", [f(2, 5, 16), PLACES, *CACHES], mrope_section=[2, 1, 1], num_heads=2),
    case("MRotaryEmbedding", [f(2, 2, 5, 8), PLACES, *CACHES], mrope_section=[2, 1, 1], mrope_layout=1),
    case("MRotaryEmbedding", [f(2, 2, 5, 8), PLACES, *CACHES], mrope_section=[4, 0, 0], interleaved=1),
    case(
        "MRotaryEmbedding",
        [f(2, 5, 24), PLACES, *CACHES],
        **{"mrope_section": [1, 2, 1], "num_heads": 2, "rotary_embedding_dim": 8, "interleaved": 1},
    ),
    case("EngramGate", [f(2, 3, 4, 8), f(2, 3, 4, 8), f(2, 3, 8), f(4, 8), f(4, 8), f(4, 8)], 2),
    case("EngramGate", [f(2, 3, 4, 8), f(2, 3, 4, 8), f(2, 3, 8), f(4, 8), f(4, 8)], epsilon=0.1),
    case("HyperConnectionPreMix", [f(2, 3, 4, 8), f(2, 3, 4)], reduction_scale=0.5),
    case("HyperConnectionPreMix", [f(2, 3, 4, 8), f(2, 3, 4, 1)]),
    case("HyperConnectionPreMix", [f(2, 3, 32), f(2, 3, 32)], num_branches=4),
    case("HyperConnectionPreMix", [f(3, 32), f(3, 4)], num_branches=4),
    case("HyperConnectionPostMix", [f(2, 3, 4, 8), f(2, 3, 8), f(2, 3, 4), f(2, 3, 4, 4)]),
    case("HyperConnectionPostMix", [f(2, 3, 4, 8), f(2, 3, 8), f(2, 3, 4, 8)]),
    case("HyperConnectionPostMix", [f(2, 3, 32), f(2, 3, 8), f(2, 3, 4, 1), f(2, 3, 4, 4)], num_branches=4),
    case("SampleOp", [f(2, 3)]),
    case("WordConvEmbedding", [WORDS, f(7, 1, 3, 4), f(7), f(9, 4)]),
    case("WordConvEmbedding", [WORDS, f(7, 1, 2, 4), f(7), f(9, 4)], conv_window_size=2, embedding_size=7),
    *(
        case("MurmurHash3", [draw.integers(0, 1 << 31, (3, 4)).astype(dtype)], positive=positive, seed=17)
        for dtype in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
        for positive in (0, 1)
    ),
]


@pytest.mark.parametrize("name, inputs, results, attributes", CASES)
def test_operator(name, inputs, results, attributes):
    near(ours(name, inputs, results, **attributes), theirs(name, inputs, results, **attributes))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("resets", [0, 1])
@pytest.mark.parametrize("more", ["", "past", "offsets", "end", "segments", "past end segments"])
def test_ngrams(dtype, resets, more):
    ids = draw.integers(0, 50, (2, 7)).astype(dtype)
    ids[0, 2] = ids[1, 4] = 9
    sizes = draw.integers(50, 99, 6).astype(dtype)
    parts = {
        "past": draw.integers(0, 50, (2, 3)).astype(dtype),
        "offsets": np.arange(6).astype(dtype) * 99,
        "end": np.array(9, dtype),
        "segments": np.array([[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 3, 3, 3]], np.int32),
    }
    rest = [part if name in more.split() else None for name, part in parts.items()]
    inputs = [ids, draw.integers(1, 1 << 30, 4).astype(dtype) | 1, sizes, *rest]
    how = {"max_ngram_size": 4, "n_head_per_ngram": 2, "pad_id": 3, "reset_on_eos": resets}
    near(ours("NGramHashMapping", inputs, 2, **how), theirs("NGramHashMapping", inputs, 2, **how))


def test_ngrams_in_pieces():
    """The results of one call are inputs of the next."""
    ids, many = draw.integers(0, 50, (2, 9)), [np.arange(3, 6) | 1, np.full(2, 61)]
    how = {"max_ngram_size": 3, "n_head_per_ngram": 1, "pad_id": 3}
    whole = ours("NGramHashMapping", [ids, *many], **how)[0]
    first, past = ours("NGramHashMapping", [ids[:, :4].copy(), *many], 2, **how)
    [second] = ours("NGramHashMapping", [ids[:, 4:].copy(), *many, past], sizes={0: (2, "l")}, **how)
    np.testing.assert_array_equal(np.concatenate([first, second], 1), whole)


@pytest.mark.parametrize("pads", [[1, 0, 2, 1], [0, 0, 0, 0]])
@pytest.mark.parametrize("bias", [None, f(2)])
def test_transposed_convolution_with_pads(pads, bias):
    inputs = [f(1, 3, 4, 5), f(3, 2, 3, 3), np.array(pads), *([] if bias is None else [bias])]
    how = {"constants": (2,), "strides": [2, 1], "dilations": [1, 2], "output_padding": [1, 0]}
    near(ours("ConvTransposeWithDynamicPads", inputs, **how), theirs("ConvTransposeWithDynamicPads", inputs, **how))


@pytest.mark.parametrize("seed", range(4))
def test_copied_words(seed):
    """Few different words, so that sequences come again; compiled for all lengths."""
    draw = np.random.default_rng(seed)
    how = {"min_ngram_size": 1 + seed % 2, "max_ngram_size": 3}
    sizes = {0: ("n",), 1: ("l",), 3: ("p",)}
    for _ in range(6):
        source, current = draw.integers(0, 5, draw.integers(2, 9)), draw.integers(0, 5, draw.integers(1, 5))
        start = int(draw.integers(0, len(source)))
        predicted = np.append(source[start:], 9)
        predicted[draw.integers(0, len(predicted)) :] = 3
        inputs = [source, current, np.array([start]), predicted]
        want = theirs("BifurcationDetector", inputs, 2, **how)
        near(ours("BifurcationDetector", inputs, 2, sizes=sizes, **how), want)
        near(ours("BifurcationDetector", inputs[:3], 2, **how), theirs("BifurcationDetector", inputs[:3], 2, **how))


@pytest.mark.parametrize("shape", [(5, 7), (1, 9, 3), (1, 1), (1, 6), (6, 1)])
def test_time_warping(shape):
    costs = f(*shape)
    want = theirs("DynamicTimeWarping", [costs])
    near(ours("DynamicTimeWarping", [costs]), want)
    names = (1, "m", "n") if len(shape) == 3 else ("m", "n")
    near(ours("DynamicTimeWarping", [costs], sizes={0: names}), want)


@pytest.mark.parametrize("shape", [(8,), (2, 6), (2, 3, 16)])
def test_real_transforms(shape):
    x = f(*shape)
    wanted = np.fft.rfft(x)
    [got] = ours("Rfft", [x], signal_ndim=1, onesided=1, normalized=0)
    near([got], [np.stack([wanted.real, wanted.imag], -1).astype(np.float32)], atol=1e-5)
    near(ours("Irfft", [got], signal_ndim=1, onesided=1, normalized=0), [x])


def test_tables():
    table, places = f(5, 3), np.array([[1, 4], [0, 0]])
    near(ours("TorchEmbedding", [table, places]), [table[places]])
    emb, q, k, around = f(2, 5, 8), f(2, 3, 5, 8), f(2, 1, 5, 8), np.array([4, 5, 6, 7, 0, 1, 2, 3])
    sides = [e for x in (q, k) for e in (x, x[..., around].copy())]
    sin, cos = np.sin(emb)[:, None], np.cos(emb)[:, None]
    wanted = [sides[i] * cos + sides[i + 1] * sin for i in (0, 2)]
    near(ours("GemmaRotaryEmbedding", [emb, *sides], 2), wanted)


@pytest.mark.parametrize("turned", [0, 1])
def test_product_with_a_sparse_matrix(turned):
    dense = np.zeros((3, 4), np.float32)
    dense[[0, 2, 2], [1, 0, 3]] = 5, 7, -2
    b = f(3, 5) if turned else f(4, 5)
    places = onnx.numpy_helper.from_array(np.flatnonzero(dense))
    values = onnx.numpy_helper.from_array(dense[dense != 0], "a")
    sparse = onnx.SparseTensorProto(values=values, indices=places, dims=[3, 4])
    node = helper.make_node("SparseToDenseMatMul", ["a", "b"], ["y"], domain="com.microsoft", transA=turned, alpha=0.5)
    ports = [helper.make_tensor_value_info("b", 1, ["m", 5])], [onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph([node], "graph", *ports, sparse_initializer=[sparse])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    near([np.asarray(relay.compile(model)(b=b))], [(dense.T if turned else dense) @ b * np.float32(0.5)])


def test_what_is_not_supported_is_said():
    for name, inputs, how, said in (
        ("Rfft", [f(2, 8)], {"signal_ndim": 2}, "signal_ndim is 2"),
        ("MRotaryEmbedding", [f(2, 5, 16), PLACES, *CACHES], {"mrope_section": [2, 1, 2]}, "with the sum 4"),
        ("NGramHashMapping", [PLACES[0], PLACES[0, 0], PLACES[0, 0]], {"max_ngram_size": 1}, "max_ngram_size is 1"),
        ("HyperConnectionPreMix", [f(2, 9), f(2, 4)], {"num_branches": 4}, "num_branches 4 does not divide"),
    ):
        with pytest.raises(relay.CompileError, match=said):
            relay.load(one_node(name, inputs, **how)[0])


@pytest.mark.parametrize(
    ("name", "inputs", "how"),
    (
        ("MultiHeadAttention", [f(2, 5, 16)] * 3, {"num_heads": 2}),
        ("GroupQueryAttention", [f(2, 5, 16)] * 3 + [None, None, PLACES[:, 0], PLACES[0, 0]],
         {"num_heads": 2, "kv_num_heads": 2}),
        ("RotaryEmbedding", [f(2, 5, 16), PLACES[0], *CACHES], {}),
        ("LinearAttention", [f(2, 5, 16)] * 3, {"update_rule": "linear", "q_num_heads": 2, "kv_num_heads": 2}),
        ("ComplexMul", [f(3, 2)] * 2, {}),
    ),
)  # fmt: skip
def test_open_widths_ask_for_shapes(name, inputs, how):
    model, _ = one_node(name, inputs, sizes={0: [f"n{i}" for i in range(inputs[0].ndim)]}, **how)
    with pytest.raises(relay.CompileError, match="has no fixed size") as caught:
        relay.load(model)
    assert all("--shape" in diagnostic.help for diagnostic in caught.value.diagnostics)
