"""Operators of domain com.microsoft in fused transformers for which ONNX Runtime has no CPU kernels, compared with
NumPy code written from their descriptions."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

import relay  # noqa: E402

draw = np.random.default_rng(5)


def f(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def run(name, inputs, results=1, sizes=None, **attributes):
    """`sizes`: shapes with names, by the input's place; the model is compiled for all of them."""
    dtype = helper.np_dtype_to_tensor_dtype
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    given = {n: a for n, a in zip(names, inputs, strict=True) if n}
    outputs = [f"y{i}" for i in range(results)]
    node = helper.make_node(name, names, outputs, domain="com.microsoft", **attributes)
    shapes = {f"x{i}": shape for i, shape in (sizes or {}).items()}
    ports = [helper.make_tensor_value_info(n, dtype(a.dtype), shapes.get(n, a.shape)) for n, a in given.items()]
    graph = helper.make_graph([node], "graph", ports, [onnx.ValueInfoProto(name=y) for y in outputs])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    got = relay.compile(helper.make_model(graph, opset_imports=imports, ir_version=10))(**given)
    return [np.asarray(g) for g in (got if results > 1 else [got])]


def near(got, want):
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


LENGTHS = np.array([1, 2, 4], np.int32)


def offsets(lengths, longest):
    """The places of words, those of paddings after them, and where the sequences end."""
    counts = np.arange(longest) < lengths[:, None]
    places = np.arange(counts.size)
    order = np.concatenate([places[counts.ravel()], places[~counts.ravel()]])
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return order.reshape(counts.shape).astype(np.int32), ends.astype(np.int32), counts


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attended(q, k, v, ends, heads, scale=None, bias=None):
    """Each sequence alone: rows of it, by heads."""
    out = []
    for n, (begin, end) in enumerate(zip(ends, ends[1:], strict=False)):
        of_head = [
            x[begin:end].reshape(end - begin, heads, -1).transpose(1, 0, 2).astype(np.float64) for x in (q, k, v)
        ]
        scores = of_head[0] @ of_head[1].swapaxes(1, 2) * (scale or 1 / np.sqrt(of_head[0].shape[2]))
        if bias is not None:
            scores = scores + bias[n % bias.shape[0], :, : end - begin, : end - begin]
        out.append((softmax(scores) @ of_head[2]).transpose(1, 0, 2).reshape(end - begin, -1))
    return np.concatenate(out)


@pytest.mark.parametrize(("attributes", "bias"), [({}, None), ({"scale": 0.3}, f(1, 2, 4, 4)), ({}, f(3, 1, 4, 4))])
def test_packed_attention(attributes, bias):
    order, ends, _ = offsets(LENGTHS, 4)
    x, weight, add = f(7, 6), f(6, 8 + 8 + 4) / 3, f(20)
    got = run(
        "PackedAttention",
        [x, weight, add, order, ends, *([] if bias is None else [bias])],
        sizes={0: ("tokens", 6), 3: ("n", "l"), 4: ("ends",)},
        num_heads=2,
        qkv_hidden_sizes=[8, 8, 4],
        **attributes,
    )
    q, k, v = np.split(x @ weight + add, [8, 16], 1)
    near(got[0], attended(q, k, v, ends, 2, attributes.get("scale"), bias))


@pytest.mark.parametrize("lengths", [LENGTHS, np.array([3, 3], np.int32)])
def test_packed_multi_head_attention(lengths):
    order, ends, _ = offsets(lengths, 5)
    tokens = int(ends[-1])
    q, k, v, add = f(tokens, 8), f(tokens, 8), f(tokens, 4), f(20)
    want = attended(q + add[:8], k + add[8:16], v + add[16:], ends, 2)
    near(run("PackedMultiHeadAttention", [q, k, v, add, order, ends], num_heads=2)[0], want)
    all_in_one = f(tokens, 2, 3, 4)
    parts = [all_in_one[:, :, i].reshape(tokens, 8) for i in range(3)]
    got = run("PackedMultiHeadAttention", [all_in_one, None, None, None, order, ends], num_heads=2, scale=0.4)
    near(got[0], attended(*parts, ends, 2, 0.4))


def test_paddings():
    order, ends, counts = offsets(LENGTHS, 5)
    x = f(3, 5, 6)
    got = run("RemovePadding", [x, LENGTHS], 4, {0: ("n", "l", 6), 1: ("n",)})
    for g, w in zip(got, [x[counts], order, ends, np.array([4], np.int32)], strict=True):
        np.testing.assert_array_equal(g, w)
        assert g.dtype == w.dtype
    rows = f(7, 6)
    want = np.zeros((3, 5, 6), np.float32)
    want[counts] = rows
    np.testing.assert_array_equal(run("RestorePadding", [rows, order], sizes={0: ("t", 6), 1: ("n", "l")})[0], want)


@pytest.mark.parametrize("both", [0, 1])
def test_relative_positions(both):
    """The buckets as Hugging Face's T5 has them."""
    buckets, heads, farthest, queries, keys = 32, 3, 128, 5 if both else 150, 150
    table = f(heads, buckets)
    lengths = [np.array([n], np.int64) for n in (queries, keys)]
    got = run(
        "RelativePositionBias",
        [table.reshape(buckets, heads), *lengths],
        is_bidirectional=both,
        max_distance=farthest,
    )
    ahead = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    each = buckets // 2 if both else buckets
    distance = np.abs(ahead) if both else np.maximum(-ahead, 0)
    exact = each // 2
    ratio = np.log(np.maximum(distance, 1).astype(np.float32) / exact) / np.log(farthest / exact)
    far = np.minimum(exact + (ratio * (each - exact)).astype(np.int64), each - 1)
    bucket = np.where(distance < exact, distance, far) + (ahead > 0) * each * both
    near(got[0], table[:, bucket][None])


def test_gated_relative_positions():
    q, add, places, weight, gate, eco = f(2, 5, 8), f(8), f(1, 2, 5, 5), f(4, 6), f(6), f(1, 2, 1, 1)
    by_head = (q + add).reshape(2, 5, 2, 4).transpose(0, 2, 1, 3)
    gates = (by_head @ weight + gate).reshape(2, 2, 5, 2, 3).sum(-1)
    u, r = np.split(1 / (1 + np.exp(-gates)), 2, -1)
    want = (u * (r * eco - 1) + 2) * places
    near(run("GatedRelativePositionBias", [q, add, places, weight, gate, eco], num_heads=2)[0], want)


@pytest.mark.parametrize("scale", [None, (6,), (4, 6), (24,)])
@pytest.mark.parametrize("flat", [False, True])
def test_norms_of_branches(scale, flat):
    x = f(2, 3, 4, 6)
    gamma = None if scale is None else f(*scale)
    want = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5)
    if gamma is not None:
        want = want * (gamma.reshape(4, 6) if scale == (24,) else gamma)
    given = [x.reshape(2, 3, 24) if flat else x, *([] if gamma is None else [gamma])]
    more = {"num_branches": 4} if flat else {}
    near(run("BranchwiseRMSNorm", given, epsilon=1e-5, **more)[0], want.reshape(given[0].shape))


def weight(rows, k, block=16):
    """Packed numbers of 4 bits with scales, and what they stand for."""
    numbers = draw.integers(0, 16, (rows, k // block, block))
    packed = (numbers[..., ::2] | numbers[..., 1::2] << 4).astype(np.uint8)
    scales = np.abs(f(rows, k // block)) / 8
    return packed, scales, ((numbers - 8) * scales[..., None]).reshape(rows, k)


def normalised(x, gamma, epsilon=1e-5):
    return x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + epsilon) * gamma


@pytest.mark.parametrize("with_sum", [False, True])
def test_two_products_of_few_bits(with_sum):
    x, skip, gamma, add = f(2, 3, 32), f(2, 3, 32), f(32), f(5)
    (gate, gate_scale, gate_real), (up, up_scale, up_real) = weight(5, 32), weight(5, 32)
    inputs = [x, skip if with_sum else None, gamma, gate, gate_scale, add, up, up_scale, None]
    how = {"K": 32, "N": 5, "bits": 4, "block_size": 16, "activation": "silu"}
    got = run("MatMulNBitsMlp", inputs, 2 if with_sum else 1, **how)
    total = x + skip if with_sum else x
    inside = normalised(total, gamma)
    front = inside @ gate_real.T + add
    near(got[0], front / (1 + np.exp(-front)) * (inside @ up_real.T))
    if with_sum:
        near(got[1], total)


def test_three_products_of_few_bits():
    x, gamma = f(2, 3, 32), f(32)
    parts = [weight(n, 32) for n in (6, 4, 4)]
    inputs = [x, None, gamma, *(one for packed, scales, _ in parts for one in (packed, scales, None))]
    got = run("MatMulNBitsQkv", inputs, 3, K=32, Nq=6, Nkv=4, bits=4, block_size=16)
    for g, (_, _, real) in zip(got, parts, strict=True):
        near(g, normalised(x, gamma) @ real.T)


def mixed(scores):
    """The shares of each row's two experts: softmax over those whose distance to the greatest is at most 2 % of
    the larger magnitude; the second softmax leaves the first expert out."""
    shares = np.zeros(scores.shape)
    for row, share in zip(scores.astype(np.float64), shares, strict=True):
        gone = np.zeros(len(row), bool)
        for _ in range(2):
            best = int(np.argmax(np.where(gone, -np.inf, row)))
            far = (row[best] - row) > 0.02 * np.maximum(np.abs(row), row[best])
            e = np.where(far | gone, 0, np.exp(row - row[best]))
            share[best] += e[best] / e.sum()
            gone[best] = True
    return shares


def test_sparse_mixer():
    x, scores, inner, outer = f(9, 6), f(9, 8), f(8, 10, 6), f(8, 6, 10)
    scores[:4] = 3 + f(4, 8) / 40  # several near the greatest
    hidden = np.maximum(np.einsum("ri,eoi->ero", x, inner), 0)
    want = np.einsum("re,ero->ro", mixed(scores), np.einsum("eri,eoi->ero", hidden, outer))
    inputs = [x, scores, inner, None, outer]
    near(run("MoE", inputs, k=2, activation_type="relu", use_sparse_mixer=1)[0], want)
