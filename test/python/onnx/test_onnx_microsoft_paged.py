"""PagedAttention of domain com.microsoft, compared with NumPy sequence by sequence, because ONNX Runtime has no CPU
kernel for it."""

import numpy as np
import pytest

pytest.importorskip("onnx")
from microsoft_models import near, one_node, ours, softmax  # noqa: E402

import relay  # noqa: E402

draw = np.random.default_rng(21)
HEADS, KV_HEADS, SIZE, BLOCK, BLOCKS = 4, 2, 8, 4, 9


def f(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def rotated(x, places, cos, sin):
    """(tokens, heads, size), halves apart."""
    half = cos.shape[1]
    a, b = x[..., :half], x[..., half : 2 * half]
    c, s = cos[places][:, None], sin[places][:, None]
    return np.concatenate([a * c - b * s, b * c + a * s, x[..., 2 * half :]], -1)


def normal(x, weight):
    return x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6) * weight


class Case:
    """`lengths`: tokens of this call; `past`: those of before, in blocks of the cache."""

    def __init__(self, lengths, past, packed=False, **more):
        self.lengths, self.past, self.more, self.packed = lengths, past, more, packed
        self.tokens = sum(lengths)
        widths = [HEADS * SIZE, KV_HEADS * SIZE, KV_HEADS * SIZE]
        self.q, self.k, self.v = (f(self.tokens, w) for w in widths)
        self.caches = [f(BLOCKS, BLOCK, KV_HEADS, SIZE) for _ in range(2)]
        need = [-(-(n + p) // BLOCK) for n, p in zip(lengths, past, strict=True)]
        order, self.table = draw.permutation(BLOCKS), np.full((len(lengths), max(need)), -1, np.int32)
        for row, count in zip(self.table, need, strict=True):
            row[:count], order = order[:count], order[count:]
        turn = np.arange(32)[:, None] / 10.0 ** np.arange(SIZE // 2)
        self.angles = [np.cos(turn).astype(np.float32), np.sin(turn).astype(np.float32)]
        self.norms = [f(SIZE), f(SIZE)] if more.get("norms") else [None, None]
        self.sink = f(HEADS) if more.get("sink") else None
        self.how = {k: v for k, v in more.items() if k not in ("norms", "sink", "slots")}

    def slot(self, n, place):
        return self.table[n, place // BLOCK] * BLOCK + place % BLOCK

    def inputs(self):
        data = [np.concatenate([self.q, self.k, self.v], 1), None, None] if self.packed else [self.q, self.k, self.v]
        ends = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int32)
        rotary = self.angles if self.how.get("do_rotary") else [None, None]
        slots = [self.slots] if self.more.get("slots") else [None]
        return [
            *data,
            *self.caches,
            ends,
            np.array(self.past, np.int32),
            self.table,
            *rotary,
            *slots,
            self.sink,
            *self.norms,
        ]

    def wanted(self):
        how, flat = self.how, [c.reshape(-1, KV_HEADS, SIZE).copy() for c in self.caches]
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        step = np.concatenate([np.arange(n) for n in self.lengths])
        places = np.array(self.past)[owner] + step
        q, k, v = (x.reshape(self.tokens, -1, SIZE) for x in (self.q, self.k, self.v))
        if self.norms[0] is not None:
            q, k = normal(q, self.norms[0]), normal(k, self.norms[1])
        if how.get("do_rotary"):
            q, k = (rotated(x, places, *self.angles) for x in (q, k))
        self.slots = np.array([self.slot(n, p) for n, p in zip(owner, places, strict=True)], np.int32)
        if self.more.get("slots"):
            self.slots[-1] = -1
        for t, slot in enumerate(self.slots):
            if slot >= 0:
                flat[0][slot], flat[1][slot] = k[t], v[t]
        out = np.zeros((self.tokens, HEADS, SIZE))
        for t, (n, place) in enumerate(zip(owner, places, strict=True)):
            total = self.past[n] + self.lengths[n]
            first = max(0, place + 1 - how["local_window_size"]) if how.get("local_window_size", -1) > 0 else 0
            seen = [self.slot(n, p) for p in range(first, place + 1 if how.get("is_causal", 1) else total)]
            for h in range(HEADS):
                keys, values = (c[seen, h // (HEADS // KV_HEADS)].astype(np.float64) for c in flat)
                scores = keys @ q[t, h] * how.get("scale", 1 / np.sqrt(SIZE))
                if how.get("softcap"):
                    scores = np.tanh(scores / how["softcap"]) * how["softcap"]
                with_sink = scores if self.sink is None else np.append(scores, self.sink[h])
                out[t, h] = softmax(with_sink)[: len(scores)] @ values
        shape = self.caches[0].shape
        return [out.reshape(self.tokens, -1).astype(np.float32), *(np.float32(c).reshape(shape) for c in flat)]


@pytest.mark.parametrize(
    ("lengths", "past", "more"),
    [
        ([3, 1, 6], [0, 0, 0], {}),
        ([1, 1, 1], [2, 9, 4], {"do_rotary": 1}),
        ([2, 5], [6, 0], {"packed": True, "do_rotary": 1, "norms": True, "qk_norm_epsilon": 1e-6}),
        ([2, 5], [6, 1], {"local_window_size": 3, "scale": 0.4, "softcap": 1.5}),
        ([4, 2], [3, 1], {"is_causal": 0, "sink": True}),
        ([1, 3], [5, 2], {"slots": True}),
    ],
)
def test_paged_attention(lengths, past, more):
    case = Case(lengths, past, **more)
    want = case.wanted()
    how = {"num_heads": HEADS, "kv_num_heads": KV_HEADS, **case.how}
    sizes = {0: ("tokens", case.inputs()[0].shape[1]), 5: ("ends",), 6: ("n",), 7: ("n", "width")}
    near(ours("PagedAttention", case.inputs(), 3, sizes=sizes, **how), want)
    near(ours("PagedAttention", case.inputs(), 3, **how), want)


def test_what_is_not_supported_is_said():
    case = Case([1], [0])
    case.wanted()
    for more, said in (
        ({"kv_cache_layout": "LATENT"}, "kv_cache_layout is 'LATENT'"),
        ({"k_quant_type": "PER_TENSOR"}, "a cache of integers"),
        ({"rotary_offset": 8}, "rotary_offset is 8"),
        ({"num_heads": 3}, "kv_num_heads 2 does not divide"),
    ):
        how = {"num_heads": HEADS, "kv_num_heads": KV_HEADS, **more}
        with pytest.raises(relay.CompileError, match=said):
            relay.load(one_node("PagedAttention", case.inputs(), 3, **how)[0])
