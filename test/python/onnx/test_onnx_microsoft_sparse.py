"""Attention of domain com.microsoft over a part of the keys, or over keys selected by flags, compared with ONNX
Runtime, or with NumPy if ONNX Runtime has no CPU kernel."""

import numpy as np
import pytest

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from microsoft_models import near, one_node, ours, softmax  # noqa: E402

import relay  # noqa: E402

draw = np.random.default_rng(11)


def f(*shape):
    return draw.standard_normal(shape).astype(np.float32)


BLOCK, BLOCKS, HEADS, KV_HEADS, SIZE = 16, 4, 4, 2, 16
LAYOUTS = np.tril(np.ones((2, BLOCKS, BLOCKS), bool))
LAYOUTS[0, 2, 0] = LAYOUTS[1, 3, 1] = LAYOUTS[1, 3, 2] = LAYOUTS[0, 3, 2] = False


def compressed(layouts):
    """Rows and columns of matrices in CSR form, columns padded with -1."""
    most = int(layouts.sum((1, 2)).max())
    rows = np.concatenate([np.zeros((len(layouts), 1)), np.cumsum(layouts.sum(2), 1)], 1)
    columns = [np.nonzero(one)[1] for one in layouts]
    columns = [np.concatenate([c, np.full(most - len(c), -1)]) for c in columns]
    return [rows.astype(np.int32), np.array(columns, np.int32)]


def sparse(length, lengths, packed=False, rotary=False):
    """Inputs of SparseAttention; `lengths`: how many keys each sequence has with those of this call."""
    places, n = BLOCK * BLOCKS, len(lengths)
    widths = [HEADS * SIZE, KV_HEADS * SIZE, KV_HEADS * SIZE]
    data = [f(n, length, sum(widths)), None, None] if packed else [f(n, length, w) for w in widths]
    caches = [np.zeros((n, KV_HEADS, places, SIZE), np.float32) for _ in range(2)]
    for cache in caches:
        for row, all_of_it in zip(cache, lengths, strict=True):
            row[:, : max(all_of_it - length, 0)] = f(KV_HEADS, max(all_of_it - length, 0), SIZE)
    turn = np.arange(places)[:, None] / 10.0 ** np.arange(SIZE // 2)
    angles = [np.cos(turn).astype(np.float32), np.sin(turn).astype(np.float32)] if rotary else []
    counts = [np.array([max(lengths)], np.int32), np.array(lengths, np.int32)]
    how = {"num_heads": HEADS, "kv_num_heads": KV_HEADS, "sparse_block_size": BLOCK, "scale": 0.25}
    return [*data, *caches, *compressed(LAYOUTS), *counts, *angles], how | ({"do_rotary": 1} if rotary else {})


@pytest.mark.parametrize(
    ("length", "lengths", "more"),
    [
        (40, [40, 40], {}),
        (64, [64], {"rotary": True}),
        (37, [37, 37], {"packed": True}),
        (1, [50, 50], {}),
        (1, [34, 34], {"rotary": True}),
    ],
)
def test_sparse_attention(length, lengths, more):
    inputs, how = sparse(length, lengths, **more)
    model, given = one_node("SparseAttention", inputs, 3, **how)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array.copy()) for name, array in given.items()}
    binding = session.io_binding()
    for name, one in values.items():
        binding.bind_ortvalue_input(name, one)
    binding.bind_output("y0")  # caches in and out are one buffer
    binding.bind_ortvalue_output("y1", values["x3"])
    binding.bind_ortvalue_output("y2", values["x4"])
    session.run_with_iobinding(binding)
    near(ours("SparseAttention", inputs, 3, **how), [one.numpy() for one in binding.get_outputs()])


@pytest.mark.parametrize(("length", "lengths"), [(1, [50, 33]), (20, [20, 11])])
def test_sparse_attention_of_different_lengths(length, lengths):
    """ONNX Runtime's kernel mixes sequences up here: its first row is not the first value."""
    inputs, how = sparse(length, lengths)
    got = ours("SparseAttention", inputs, **how)[0]
    q, k, v = inputs[:3]
    for n, total in enumerate(lengths):
        before, fresh = max(total - length, 0), min(length, total)
        for head in range(HEADS):
            at = slice(head // 2 * SIZE, (head // 2 + 1) * SIZE)
            keys, values = (
                np.concatenate([cache[n, head // 2, :before], new[n, :, at]])
                for cache, new in ((inputs[3], k), (inputs[4], v))
            )
            for row in range(fresh):
                seen = np.repeat(LAYOUTS[head % 2, (before + row) // BLOCK], BLOCK)[: before + row + 1]
                scores = q[n, row, head * SIZE : (head + 1) * SIZE] @ keys[: before + row + 1].T * 0.25
                want = softmax(np.where(seen, scores, -np.inf)) @ values[: before + row + 1]
                near([got[n, row, head * SIZE : (head + 1) * SIZE]], [want.astype(np.float32)])


def by_heads(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3).astype(np.float64)


def joined(y):
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1).astype(np.float32)


def attended(q, k, v, added=0.0):
    return softmax(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3]) + added) @ v


@pytest.mark.parametrize("sizes", [None, {0: ("n", "l", 8), 3: ("n", "l"), 6: ("n", "l")}])
def test_longformer(sizes):
    x, weights, biases = f(2, 12, 8), [f(8, 24) / 3, f(8, 24) / 3], [f(24), f(24)]
    mask, everywhere = np.zeros((2, 12), np.float32), np.zeros((2, 12), np.int32)
    mask[0, 9:], everywhere[0, 0], everywhere[1, [3, 7]] = -10000, 1, 1
    inputs = [x, weights[0], biases[0], mask, weights[1], biases[1], everywhere]
    got = ours("LongformerAttention", inputs, sizes=sizes, num_heads=2, window=2)[0]
    near_ones = np.abs(np.arange(12)[:, None] - np.arange(12)) <= 2
    local, full = (
        [by_heads(part, 2) for part in np.split(x @ w + b, 3, -1)] for w, b in zip(weights, biases, strict=True)
    )
    seen = near_ones | (everywhere[:, None, None] > 0)
    padding = mask[:, None, None]
    want = joined(attended(*local, np.where(seen, padding, -np.inf)))
    near([got], [np.where(everywhere[..., None] > 0, joined(attended(*full, padding)), want)])


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_attention_by_flags(cross, past, padded):
    query, key, q_weight, kv_weight, bias = f(3, 2, 8), f(5, 2, 8), f(8, 8) / 3, f(8, 16) / 3, f(24)
    caches = [f(2, 2, 4, 4), f(2, 2, 4, 4)]
    source = np.swapaxes(key if cross else query, 0, 1)
    q = by_heads(np.swapaxes(query, 0, 1) @ q_weight + bias[:8], 2)
    k, v = (by_heads(part, 2) for part in np.split(source @ kv_weight + bias[8:], 2, -1))
    if past:
        k, v = caches if cross else (np.concatenate([c, e], 2) for c, e in zip(caches, (k, v), strict=True))
    mask = np.zeros((2, k.shape[2]), bool)
    mask[0, 1:2], mask[1, 2:] = True, True
    flags = [np.array([flag]) for flag in (cross, past, True, padded)]
    inputs = [query, key, q_weight, kv_weight, bias, mask if padded else None, *(caches if past else [None] * 2)]
    got = ours("DecoderAttention", [*inputs, *flags], 3, constants=(8, 9, 10, 11), num_heads=2)
    y = joined(attended(q, k, v, np.where(mask, -1e4, 0)[:, None, None] if padded else 0.0))
    near(got, [np.swapaxes(y, 0, 1), np.float32(k), np.float32(v)])


def test_one_query_with_projections():
    x, weight, bias, past = f(2, 1, 6), f(6, 24) / 3, f(24), f(2, 2, 2, 3, 4)
    mask = np.array([[0, 1, 1, 1], [1, 1, 1, 1]], np.int32)
    inputs = [x, weight, bias, mask, past, None, np.array([3], np.int32)]
    got = ours("DecoderMaskedSelfAttention", inputs, 2, num_heads=2)
    q, k, v = (by_heads(part, 2) for part in np.split(x @ weight + bias, 3, -1))
    k, v = (np.concatenate([old, new], 2) for old, new in zip(past, (k, v), strict=True))
    near(got, [joined(attended(q, k, v, np.where(mask, 0, -1e4)[:, None, None])), np.float32(np.stack([k, v]))])
    with pytest.raises(relay.CompileError, match="a shared buffer"):
        relay.load(one_node("DecoderMaskedSelfAttention", inputs, 2, num_heads=2, past_present_share_buffer=1)[0])
