"""Operators of domain com.microsoft for integers with an order of rows and columns, and for block-wise weights of
few-bit floats, compared with NumPy, because ONNX Runtime has no CPU kernels for them."""

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnx")
from microsoft_models import near, one_node, ours, softmax  # noqa: E402

import relay  # noqa: E402

draw = np.random.default_rng(31)


def f(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def s8(*shape):
    return draw.integers(-128, 128, shape).astype(np.int8)


def scale(value):
    return np.array(value, np.float32)


def integers(x, s):
    return np.clip(np.rint(x / s), -128, 127).astype(np.int8)


def rounded(x, s):
    return integers(x, s).astype(np.float32) * s


def in_columns(weight):
    """The weight (K, N) stored column by column, in its own shape."""
    return np.ascontiguousarray(weight.T).reshape(weight.shape)


def alike(got, want):
    """Accepts either integer if a real is halfway between two."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert np.abs(got.astype(int) - want.astype(int)).max() <= 1
    assert (got == want).mean() > 0.97


def test_to_integers_and_back():
    x, s = f(2, 3, 8), scale(0.02)
    [got] = ours("QuantizeWithOrder", [x, s], order_input=1, order_output=1)
    alike(got, integers(x, s))
    for to, dtype in ((1, np.float32), (10, np.float16)):
        [back] = ours("DequantizeWithOrder", [got, s], to=to, order_input=1, order_output=1)
        near([back], [(got * s).astype(dtype)], rtol=1e-3)
    with pytest.raises(relay.CompileError, match="order_output is 2, a layout of one library's kernels"):
        relay.load(one_node("QuantizeWithOrder", [x, s], order_input=1, order_output=2)[0])


def test_curve_and_norm():
    import torch

    x, s, to = s8(2, 3, 16), scale(0.03), scale(0.02)
    real = torch.from_numpy(x * s)
    alike(ours("QOrderedGelu", [x, s, to])[0], integers(torch.nn.functional.gelu(real).numpy(), to))
    gamma, beta = f(16), f(16)
    normal = torch.nn.functional.layer_norm(real, (16,), torch.from_numpy(gamma), torch.from_numpy(beta), 1e-5).numpy()
    alike(ours("QOrderedLayerNormalization", [x, s, gamma, beta, to], epsilon=1e-5)[0], integers(normal, to))


@pytest.mark.parametrize("more", ["", "bias", "added", "columns"])
def test_product(more):
    a, b, s, t = s8(2, 5, 16), s8(16, 6), scale(0.02), scale(0.3)
    of_b = np.abs(f(6)) / 50 if more == "columns" else scale(0.01)
    real, rest = (a.astype(np.int64) @ b.astype(np.int64)) * s * of_b, []
    if more == "bias":
        rest = [f(6)]
        real = real + rest[0]
    if more == "added":
        rest = [None, s8(2, 5, 6), scale(0.05)]
        real = real + rest[1] * rest[2]
    got = ours("QOrderedMatMul", [a, s, in_columns(b), of_b, t, *rest], order_A=1, order_B=0, order_Y=1)
    alike(got[0], integers(real, t))


def by_heads(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def joined(y):
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)


@pytest.mark.parametrize(("causal", "masked"), [(0, False), (1, True)])
def test_attention(causal, masked):
    x, weights, biases = s8(2, 5, 16), [s8(16, 8) for _ in range(3)], [f(8) for _ in range(3)]
    of_x, of_parts, of_weights = (
        scale(0.02),
        [scale(v) for v in (0.05, 0.06, 0.04)],
        [scale(0.01), np.abs(f(8)) / 60, scale(0.02)],
    )
    of_scores, of_weight, to = scale(0.1), scale(1 / 127), scale(0.03)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    inputs = [x, of_x, *of_parts, *map(in_columns, weights), *of_weights, *biases, of_scores, of_weight, to]
    how = {"num_heads": 2, "unidirectional": causal, "order_input": 1, "order_weight": 0, "order_output": 1}
    got = ours("QOrderedAttention", [*inputs, *([mask] if masked else [])], **how)[0]
    q, k, v = (
        by_heads(rounded(x.astype(np.int64) @ w.astype(np.int64) * of_x * s + b, p), 2)
        for w, s, b, p in zip(weights, of_weights, biases, of_parts, strict=True)
    )
    scores = rounded(q @ k.swapaxes(2, 3), of_scores) / np.sqrt(4)
    seen = np.tril(np.ones((5, 5), bool)) if causal else np.ones((5, 5), bool)
    seen = seen & (mask[:, None, None] > 0) if masked else seen
    alike(got, integers(joined(rounded(softmax(np.where(seen, scores, -np.inf)), of_weight) @ v), to))


def test_longformer():
    x, weights, biases = s8(1, 8, 16), [s8(16, 24), s8(16, 24)], [f(24), f(24)]
    of_x, of_weights, kept, to = scale(0.02), [scale(0.01), scale(0.02)], [scale(0.05), scale(0.06)], scale(0.03)
    mask, everywhere = np.zeros((1, 8), np.float32), np.zeros((1, 8), np.int32)
    mask[0, 7], everywhere[0, 2] = -10000, 1
    inputs = [x, of_x, in_columns(weights[0]), of_weights[0], biases[0], scale(1), kept[0], mask]
    inputs += [in_columns(weights[1]), of_weights[1], biases[1], kept[1], everywhere, to]
    orders = dict.fromkeys(("order_weight", "order_global_weight"), 0) | dict.fromkeys(
        ("order_input", "order_output"), 1
    )
    got = ours("QOrderedLongformerAttention", inputs, num_heads=2, window=1, **orders)[0]
    parts = [
        [by_heads(e, 2) for e in np.split(rounded(x.astype(int) @ w.astype(int) * of_x * s + b, p), 3, -1)]
        for w, s, b, p in zip(weights, of_weights, biases, kept, strict=True)
    ]
    seen = (np.abs(np.arange(8)[:, None] - np.arange(8)) <= 1) | (everywhere[:, None, None] > 0)
    ys = [
        joined(softmax(np.where(s, q @ k.swapaxes(2, 3) / 2, -np.inf) + mask[:, None, None]) @ v)
        for (q, k, v), s in zip(parts, (seen, True), strict=True)
    ]
    alike(got, integers(np.where(everywhere[..., None] > 0, ys[1], ys[0]), to))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("quantised", [False, True])
def test_eight_bit_floats(dtype, quantised):
    a, bias = f(2, 3, 40).astype(dtype), f(5).astype(dtype)
    weight, scales = f(5, 40).astype(ml_dtypes.float8_e4m3fn), np.abs(f(5, 3)) / 4
    s = scale(0.01) if quantised else None
    inputs = [a, weight, scales, s, bias]
    [got] = ours("MatMulBlockQuantizedFp8Weight", inputs, block_size=16)
    real = weight.astype(np.float64) * np.repeat(scales, 16, 1)[:, :40]
    left = (
        np.clip(a.astype(np.float32) / s, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(float) * s
        if quantised
        else a
    )
    want = left.astype(np.float64) @ real.T + bias.astype(np.float64)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2**-7, atol=2**-7)


def test_four_bit_floats():
    a, scales, all_of_it = f(3, 40).astype(np.float16), np.abs(f(5, 3)).astype(ml_dtypes.float8_e4m3fn), scale(0.3)
    codes = draw.integers(0, 16, (5, 40)).astype(np.uint8)
    packed = codes[:, ::2] | codes[:, 1::2] << 4
    inputs = [a, packed, scales.view(np.uint8), all_of_it, None, f(5).astype(np.float16)]
    [got] = ours("MatMulBlockQuantizedFp4Weight", inputs, block_size=16)
    real = (
        codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
        * np.repeat(scales.astype(float), 16, 1)[:, :40]
        * all_of_it
    )
    want = a.astype(np.float64) @ real.T + inputs[5].astype(np.float64)
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2**-9, atol=2**-9)
