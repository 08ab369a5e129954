"""Operators of domain com.microsoft that ONNX Runtime's optimisers and quantisers write, compared with ONNX Runtime."""

import pathlib
import re

import numpy as np
import pytest
from programs import ROOT

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402

import relay  # noqa: E402

OPERATORS = re.findall(
    r"^RELAY_ONNX\((\w+),",
    (ROOT / "src/relay/frontend/onnx/microsoft/operators.def").read_text(),
    re.MULTILINE,
)
draw = np.random.default_rng(3)


def f(*shape):
    return draw.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return draw.integers(0, 256, shape).astype(np.uint8)


def s8(*shape):
    """Values of 7 bits: ONNX Runtime sums two products with unsigned bytes in 16 bits on processors without VNNI."""
    return draw.integers(-64, 64, shape).astype(np.int8)


def scale(value=0.05):
    return np.float32(value)


def zero(value=128, dtype=np.uint8):
    return dtype(value)


def case(name, inputs, outputs=1, domain="com.microsoft", step=0, **attributes):
    """`step`: the allowed difference of integers, if a real is between two of them."""
    return pytest.param(name, inputs, outputs, domain, step, attributes, id=f"{name}-{len(inputs)}-{len(attributes)}")


def quantised(name, **more):
    return case(name, [u8(2, 3, 4, 4), scale(), zero(), scale(0.03), zero(100)], step=1, **more)


X = f(2, 5, 8)
PROJECTION = [f(2, 5, 8), f(8, 24) / 4, f(24)]
HEADS = {"num_heads": 2}
CASES = [
    case("Gelu", [X]),
    case("BiasGelu", [X, f(8)]),
    case("BiasSplitGelu", [f(2, 5, 2560), f(2560)]),
    case("BiasAdd", [f(2, 5, 320), f(320), f(2, 5, 320)]),
    case("FastGelu", [X]),
    case("FastGelu", [X, f(8)]),
    case("QuickGelu", [X]),
    case("QuickGelu", [X], alpha=1.5),
    case("ExpandDims", [X, np.array(-1, np.int32)]),
    case("FusedMatMul", [f(2, 3, 4), f(2, 5, 4)], transB=1, alpha=0.5),
    case("FusedMatMul", [f(2, 4, 3), f(4, 5)], transA=1),
    case("TransposeMatMul", [f(2, 3, 4), f(2, 5, 4)], transB=1),
    case("FusedGemm", [f(3, 4), f(4, 5), f(5)], activation="Relu"),
    case("FusedGemm", [f(3, 4), f(4, 5)], activation="LeakyRelu", activation_alpha=0.2),
    case("FusedConv", [f(1, 3, 8, 8), f(4, 3, 3, 3), f(4)], activation="Relu"),
    case("FusedConv", [f(1, 3, 8, 8), f(4, 3, 3, 3), f(4), f(1, 4, 6, 6)], activation="Relu"),
    case("FusedConv", [f(1, 3, 8, 8), f(4, 3, 3, 3)], activation="LeakyRelu", activation_params=[0.3]),
    case("FusedConv", [f(1, 3, 8, 8), f(4, 3, 3, 3)], activation="Clip", activation_params=[-1.0, 2.0]),
    case("FusedConv", [f(1, 3, 8, 8), f(4, 3, 3, 3)], activation="HardSigmoid", activation_params=[0.1, 0.4]),
    case("SkipLayerNormalization", [X, f(2, 5, 8), f(8)], epsilon=1e-5),
    case("SkipLayerNormalization", [X, f(2, 5, 8), f(8), f(8), f(8)], outputs="0 3"),
    case("SkipSimplifiedLayerNormalization", [X, f(2, 5, 8), f(8)]),
    case("SkipSimplifiedLayerNormalization", [X, f(2, 5, 8), f(8), f(8)], outputs="0 3"),
    case("SimplifiedLayerNormalization", [X, f(8)], domain="", axis=-1, epsilon=1e-6),
    case(
        "EmbedLayerNormalization",
        [
            draw.integers(0, 11, (2, 5)).astype(np.int32),
            draw.integers(0, 2, (2, 5)).astype(np.int32),
            *(f(11, 8), f(6, 8), f(2, 8), f(8), f(8)),
            np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
        ],
        outputs="0 1",
    ),
    case("GroupNorm", [f(1, 4, 4, 320), f(320), f(320)], groups=32, activation=1),
    case(
        "SkipGroupNorm",
        [f(1, 4, 4, 320), f(320), f(320), f(1, 4, 4, 320), f(320)],
        outputs="0 1",
        groups=32,
        activation=0,
    ),
    case("MultiHeadAttention", [f(2, 5, 8), f(2, 7, 8), f(2, 7, 8)], **HEADS),
    case("MultiHeadAttention", [f(2, 5, 8), f(2, 5, 8), f(2, 5, 8), f(24)], unidirectional=1, **HEADS),
    case("MultiHeadAttention", [f(2, 5, 8), f(2, 7, 8), f(2, 7, 8), None, np.array([3, 7], np.int32)], **HEADS),
    case(
        "MultiHeadAttention",
        [f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), f(24), None, f(1, 2, 1, 4), f(2, 2, 3, 4), f(2, 2, 3, 4)],
        outputs="0 1 2",
        **HEADS,
    ),
    case("Attention", PROJECTION, **HEADS),
    case("Attention", PROJECTION, unidirectional=1, scale=0.3, **HEADS),
    case("Attention", [*PROJECTION, np.array([3, 5], np.int32)], **HEADS),
    case("Attention", [*PROJECTION, np.array([5, 4, 1, 0], np.int32)], **HEADS),
    case("Attention", [*PROJECTION, np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1]], np.int32)], **HEADS),
    case("Attention", [*PROJECTION, None, f(2, 2, 2, 3, 4)], outputs="0 1", unidirectional=1, **HEADS),
    case("RotaryEmbedding", [f(2, 5, 16), np.array([2], np.int64), f(9, 4), f(9, 4)]),
    case("RotaryEmbedding", [f(2, 5, 16), np.arange(10).reshape(2, 5) % 9, f(9, 4), f(9, 4)], interleaved=1),
    case("QuantizeLinear", [X, scale(), zero()]),
    case("DequantizeLinear", [u8(2, 4), scale(), zero()]),
    quantised("QLinearSigmoid"),
    quantised("QLinearLeakyRelu", alpha=0.2),
    quantised("QLinearReduceMean", axes=[2, 3]),
    quantised("QLinearSoftmax", axis=-1, opset=13),
    quantised("QLinearGlobalAveragePool"),
    quantised("QLinearGlobalAveragePool", channels_last=1),
    quantised("QLinearAveragePool", kernel_shape=[2, 2], strides=[2, 2]),
    quantised("QLinearAveragePool", kernel_shape=[2, 2], channels_last=1),
    *(
        case(name, [u8(2, 8), scale(), zero(), u8(2, 8), scale(0.02), zero(7), scale(0.07), zero(120)], step=1)
        for name in ("QLinearAdd", "QLinearMul")
    ),
    case(
        "QLinearWhere",
        [f(2, 8) > 0, u8(2, 8), scale(), zero(), u8(2, 8), scale(0.02), zero(7), scale(0.07), zero(120)],
        step=1,
    ),
    case(
        "QLinearConcat",
        [scale(0.06), zero(), u8(2, 3), scale(), zero(), u8(2, 4), scale(0.02), zero(7)],
        axis=1,
        step=1,
    ),
    case("QGemm", [u8(3, 4), scale(), zero(), s8(4, 5), scale(0.02), zero(0, np.int8)], alpha=1.0),
    case("QGemm", [u8(3, 4), scale(), zero(), s8(4, 5), scale(0.02), zero(0, np.int8), None, scale(0.3)], alpha=1.0),
    case(
        "QGemm",
        [
            *(u8(3, 4), scale(), zero(), s8(5, 4), np.abs(f(5)) / 9, np.zeros(5, np.int8)),
            *(draw.integers(-99, 99, (5,)).astype(np.int32), scale(0.3), zero(100)),
        ],
        transB=1,
        step=1,
    ),
    case("MatMulInteger16", [draw.integers(-999, 999, s).astype(np.int16) for s in ((3, 4), (4, 5))]),
    case("MatMulIntegerToFloat", [u8(3, 4), s8(4, 5), scale(), scale(0.02), zero(), zero(3, np.int8), f(5)]),
    case("DynamicQuantizeMatMul", [f(3, 4), s8(4, 5), np.abs(f(5)) / 9, np.zeros(5, np.int8), f(5)]),
    case("MatMulNBits", [f(2, 3, 40), u8(5, 3, 8), f(5, 3)], K=40, N=5, bits=4, block_size=16),
    case("MatMulNBits", [f(3, 32), u8(5, 2, 8), f(5, 2), u8(5, 1), None, f(5)], K=32, N=5, bits=4, block_size=16),
    case("MatMulNBits", [f(3, 32), u8(5, 2, 16), f(5, 2), u8(5, 2)], K=32, N=5, bits=8, block_size=16),
    # Inputs are rounded to 8 bits by blocks.
    case("MatMulNBits", [f(1, 128), u8(48, 4, 16), f(48, 4) / 9], K=128, N=48, bits=4, block_size=32, accuracy_level=4),
    case(
        "MatMulNBits",
        [f(2, 3, 128), u8(40, 2, 32), f(40, 2) / 9, u8(40, 1), None, f(40)],
        K=128,
        N=40,
        bits=4,
        block_size=64,
        accuracy_level=4,
    ),
]


def s32(low, high, *shape):
    return draw.integers(low, high, shape).astype(np.int32)


def angles(places, half):
    """Caches of cosines and sines."""
    turn = np.arange(places)[:, None] / 10.0 ** np.arange(half)
    return [np.cos(turn).astype(np.float32), np.sin(turn).astype(np.float32)]


def grouped(length, past, lengths, total, *, packed=False, cache=None, more=(), outputs="0 1 2", **attributes):
    """GroupQueryAttention of 4 heads over 2: 2 sequences, each with its own number of keys."""
    wide = [f(2, length, 128)] + [None, None] if packed else [f(2, length, 64), f(2, length, 32), f(2, length, 32)]
    held = [None, None] if past is None else [f(2, 2, cache or past, 16), f(2, 2, cache or past, 16)]
    rest = [np.array(lengths, np.int32) - 1, np.array(total, np.int32), *more]
    return case("GroupQueryAttention", [*wide, *held, *rest], outputs, num_heads=4, kv_num_heads=2, **attributes)


def integer_lstm(directions=1, lengths=False, states=False, columns=False, **attributes):
    d = directions
    scales = (
        [np.abs(f(d, 24)) / 99 + 0.003, np.abs(f(d, 24)) / 99 + 0.003]
        if columns
        else [np.full(d, 0.01, np.float32)] * 2
    )
    zeros = [np.zeros((d, 24), np.int8) if columns else np.full(d, 3, np.int8) for _ in range(2)]
    inputs = [f(5, 2, 4), s8(d, 4, 24), s8(d, 6, 24), f(d, 48), np.array([5, 3], np.int32) if lengths else None]
    inputs += [f(d, 2, 6), f(d, 2, 6), f(d, 18)] if states else [None] * 3
    inputs += [
        scales[0].astype(np.float32),
        zeros[0].astype(np.int8),
        scales[1].astype(np.float32),
        zeros[1].astype(np.int8),
    ]
    return case("DynamicQuantizeLSTM", inputs, "0 1 2", hidden_size=6, **attributes)


def embedding():
    """Words, segments and the tables of QEmbedLayerNormalization, with scales and zero points."""
    tables = [u8(11, 8), u8(6, 8), u8(2, 8), u8(8), u8(8)]
    ids, segments = s32(0, 11, 2, 5), s32(0, 2, 2, 5)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    scales = [scale(v) for v in (0.02, 0.03, 0.04, 0.05, 0.06)]
    return [ids, segments, *tables, mask, *scales, *(zero(v) for v in (120, 121, 122, 10, 119))]


def experts(*inputs, **attributes):
    return case("MoE", [f(6, 8), f(6, 4), *inputs], **attributes)


def packed_experts(bits, block=0, zeros=False, **attributes):
    """The weights of 4 experts 32 -> 32 -> 32; with swiglu the first layer is twice as wide."""
    width, places = 64 if "swiglu_fusion" in attributes else 32, 8 // bits

    def scales(rows):
        shape = (4, rows, 32 // block) if block else (4, rows)
        return (draw.random(shape) * 0.05 + 0.01).astype(np.float32)

    def packed(rows):
        return u8(4, rows, 32 // places)

    def points(rows):
        return u8(4, rows // places)

    inputs = [packed(width), scales(width), f(4, width), packed(32), scales(32), None]
    inputs += [None, None, None, points(width), points(32)] if zeros else []
    how = {"k": 2, "expert_weight_bits": bits, "normalize_routing_weights": 1} | (
        {"block_size": block} if block else {}
    )
    return case("QMoE", [f(5, 32), f(5, 4), *inputs], **how, **attributes)


PRODUCTS = [u8(3, 8), scale(), zero(), s8(8, 6), scale(0.02), zero(3, np.int8)]
CASES += [
    packed_experts(4, activation_type="relu"),
    packed_experts(8, activation_type="silu"),
    packed_experts(4, block=16, activation_type="silu"),
    packed_experts(4, zeros=True, activation_type="relu"),
    packed_experts(4, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0),
    case("QAttention", [u8(2, 5, 8), s8(8, 24), f(24), scale(), scale(0.01), None, zero(), zero(3, np.int8)], **HEADS),
    case(
        "QAttention",
        [u8(2, 5, 8), s8(8, 24), f(24), scale(), scale(0.01), np.array([3, 5], np.int32), zero(), zero(0, np.int8)],
        unidirectional=1,
        **HEADS,
    ),
    case(
        "QAttention",
        [u8(2, 5, 8), s8(8, 24), f(24), scale(), scale(0.01), None, zero(), zero(3, np.int8), f(2, 2, 2, 3, 4)],
        outputs="0 1",
        unidirectional=1,
        **HEADS,
    ),
    grouped(5, None, [5, 5], 5),
    grouped(5, None, [5, 5], 5, packed=True),
    grouped(1, 4, [5, 5], 5),
    grouped(1, 4, [5, 5], 5, scale=0.3, softcap=2.0),
    grouped(5, None, [5, 5], 5, local_window_size=2),
    grouped(1, 4, [5, 5], 5, local_window_size=3),
    grouped(5, None, [5, 5], 5, more=angles(9, 8), do_rotary=1),
    grouped(1, 4, [5, 5], 5, more=angles(9, 8), do_rotary=1, rotary_interleaved=1),
    grouped(5, None, [5, 5], 5, smooth_softmax=1),
    grouped(5, None, [5, 5], 5, more=[None, None, None, None, f(4)]),
    grouped(5, None, [5, 5], 5, more=[None, None, None, f(2, 1, 5, 5)]),
    case(
        "DecoderMaskedMultiHeadAttention",
        [f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), None, None, f(2, 2, 3, 4), f(2, 2, 3, 4)],
        outputs="0 1 2",
        **HEADS,
    ),
    integer_lstm(),
    integer_lstm(direction="reverse", states=True),
    integer_lstm(directions=2, direction="bidirectional", lengths=True),
    integer_lstm(columns=True),
    case("QEmbedLayerNormalization", embedding(), outputs="0 1", epsilon=1e-6),
    case(
        "QLinearConv",
        [u8(1, 5, 6, 3), scale(), zero(), s8(4, 3, 3, 3), scale(0.01), zero(0, np.int8), scale(0.1), zero(90)],
        channels_last=1,
        pads=[1, 1, 1, 1],
        step=1,
    ),
    case(
        "QLinearConv",
        [u8(1, 3, 5, 6), scale(), zero(), s8(4, 3, 3, 3), scale(0.01), zero(0, np.int8), scale(0.1), zero(90)],
        step=1,
    ),
    case("NhwcMaxPool", [u8(1, 6, 7, 3)], kernel_shape=[2, 3], strides=[2, 1]),
    case("NhwcConv", [f(1, 5, 6, 3), f(4, 3, 3, 3), f(4)], pads=[1, 1, 1, 1]),
    case("NhwcFusedConv", [f(1, 5, 6, 3), f(4, 3, 3, 3), f(4), f(1, 3, 4, 4)], activation="Relu"),
    case("MulInteger", [u8(2, 3), zero(3), u8(2, 3), zero(7)]),
    case("ReduceSumInteger", [s8(2, 3, 4)], axes=[1], keepdims=0),
    case(
        "MatMulNBits",
        [f(3, 32), u8(5, 2, 8), f(5, 2), None, np.arange(32, dtype=np.int32) % 2],
        K=32,
        N=5,
        bits=4,
        block_size=16,
    ),
    case("MatMulBnb4", [f(2, 3, 40), u8(100), np.abs(f(13))], K=40, N=5, block_size=16, quant_type=0),
    case("MatMulBnb4", [f(2, 3, 40), u8(100), np.abs(f(13))], K=40, N=5, block_size=16, quant_type=1),
    case("GatherBlockQuantized", [u8(9, 16), np.array([[3, 0, 8]], np.int64), f(9, 2)], block_size=16, bits=4),
    case("GatherBlockQuantized", [u8(9, 16), np.array([3, 8], np.int64), f(9, 1), u8(9, 1)], block_size=16, bits=8),
    experts(f(4, 10, 8), None, f(4, 8, 10), None, k=2, activation_type="gelu"),
    experts(f(4, 10, 8), f(4, 10), f(4, 8, 10), f(4, 8), k=2, activation_type="silu", normalize_routing_weights=1),
    experts(
        f(4, 20, 8),
        f(4, 20),
        f(4, 8, 10),
        f(4, 8),
        k=2,
        activation_type="swiglu",
        swiglu_fusion=1,
        activation_alpha=1.7,
        activation_beta=1.0,
        swiglu_limit=2.0,
    ),
    case("CDist", [f(4, 3), f(5, 3)]),
    case("CDist", [f(4, 3), f(5, 3)], metric="euclidean"),
    case("Inverse", [f(2, 5, 5) + 3 * np.eye(5, dtype=np.float32)]),
    case("Inverse", [np.float32([[0, 2, 1], [1, 0, 0], [0, 1, 3]])]),
    case("IsAllFinite", [X, np.float32([1, np.nan])]),
    case("IsAllFinite", [X, np.float32([1, np.inf])], isnan_only=1),
    case("ComplexMul", [f(3, 4, 2), f(3, 4, 2)]),
    case("ComplexMulConj", [f(3, 4, 2), f(3, 4, 2)]),
    case("GatedAdd", [X, f(2, 5, 8), f(2, 5, 1)]),
    case("GatedRMSNorm", [f(2, 5, 24), f(8), f(2, 5, 24)]),
    case("GatedRMSNorm", [X, f(8), f(2, 5, 8)], activation="sigmoid"),
    case("ScaledSiLU", [X], alpha=1.3),
    case("ScaledSiLU", [X, np.float32(0.7)]),
    case("LinearAttentionGate", [X, f(8), f(8), f(2, 5, 8)], outputs="0 1"),
    case(
        "LinearAttention",
        [f(2, 4, 8), f(2, 4, 8), f(2, 4, 6)],
        outputs="0 1",
        q_num_heads=2,
        kv_num_heads=2,
        update_rule="linear",
    ),
    case("CausalConvWithState", [f(2, 3, 7), f(3, 1, 4), f(3)], outputs="0 1", activation="silu"),
    case("BiasSoftmax", [f(2, 3, 8), f(2, 1, 8)], axis=2, is_inner_broadcast=1),
    case("BiasDropout", [X, f(8), f(2, 5, 8)]),
    case("GemmFastGelu", [f(3, 4), f(4, 5), f(5)]),
    case("FusedMatMulActivation", [f(2, 3, 4), f(2, 4, 5)], activation="Relu"),
    case("FusedMatMul", [f(3, 2, 4), f(2, 4, 5)], transBatchA=1),
    case("FusedMatMul", [f(4, 2, 3), f(2, 4, 5)], transBatchA=1, transA=1),
    case("GatherND", [f(3, 4, 5), np.array([[0, 1], [2, 3]], np.int64)]),
    case("GridSample", [f(1, 2, 5, 6), np.tanh(f(1, 3, 4, 2))], mode="bilinear", align_corners=1),
    case("Pad", [f(3, 4), np.array([[0, 2, 1, 0]], np.int64), np.float32(1.5)]),
    case("Range", [np.float32(1.0), np.float32(7.5), np.float32(1.5)]),
    case("Range", [np.int64(2), np.int64(9)]),
    case("Trilu", [f(2, 4, 5), np.int64(1)]),
    case("Unique", [np.float32([2, 1, 1, 3, 4, 3])], outputs="0 1 2"),
    case("UnfoldTensor", [f(2, 9, 3)], dim=1, size=4, step=2),
    case(
        "CropAndResize",
        [f(2, 3, 6, 7), np.float32([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9]]), s32(0, 2, 2), np.array([4, 5], np.int32)],
    ),
]


def normalised(x, gamma, beta, activation):
    grouped = x.reshape(*x.shape[:3], 32, -1).astype(np.float64)
    mean, variance = (part(grouped, (1, 2, 4), keepdims=True) for part in (np.mean, np.var))
    y = ((grouped - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * gamma + beta
    return (y / (1 + np.exp(-y)) if activation else y).astype(np.float32)


def split_gelu(x, bias):
    import torch

    left, right = np.split(x + bias, 2, -1)
    return left * torch.nn.functional.gelu(torch.from_numpy(right)).numpy()


def reduced(x, scale, zero, to_scale, to_zero):
    mean = ((x.astype(np.float64) - zero) * scale).mean((2, 3), keepdims=True)
    return np.clip(np.round(mean / to_scale) + to_zero, 0, 255).astype(np.uint8)


# Operators that ONNX Runtime documents but its CPU backend does not compute, by the documentation.
FORMULAS = {
    "BiasAdd": lambda x, bias, skip: [x + bias + skip],
    "BiasSplitGelu": lambda x, bias: [split_gelu(x, bias)],
    "GroupNorm": lambda x, gamma, beta: [normalised(x, gamma, beta, True)],
    "SkipGroupNorm": lambda x, gamma, beta, skip, bias: [
        normalised(x + skip + bias, gamma, beta, False),
        x + skip + bias,
    ],
    "QLinearReduceMean": lambda *inputs: [reduced(*inputs)],
    "NhwcConv": lambda x, w, b: [convolved(x, w, b, padding=1)],
    "NhwcFusedConv": lambda x, w, b, z: [np.maximum(convolved(x, w, b) + z, 0)],
    "DecoderMaskedMultiHeadAttention": lambda q, k, v, _, __, keys, values: attended(q, k, v, keys, values),
    "MulInteger": lambda a, za, b, zb: [(a.astype(np.int32) - za) * (b.astype(np.int32) - zb)],
    "ReduceSumInteger": lambda x: [x.sum(1, dtype=np.int32)],
    "IsAllFinite": lambda *inputs: [np.array(not any(np.isnan(x).any() for x in inputs))],
    "ComplexMul": lambda a, b: [paired(complex_of(a) * complex_of(b))],
    "ComplexMulConj": lambda a, b: [paired(complex_of(a) * complex_of(b).conj())],
    "BiasSoftmax": lambda x, bias: [np.exp(x + bias) / np.exp(x + bias).sum(2, keepdims=True)],
    "BiasDropout": lambda x, bias, residual: [x + bias + residual],
    "GemmFastGelu": lambda x, w, bias: [fast_gelu(x @ w + bias).astype(np.float32)],
    "FusedMatMulActivation": lambda a, b: [np.maximum(a @ b, 0)],
}


def attended(q, k, v, past_keys=None, past_values=None):
    """Attention with two heads: the result, keys and values."""

    def heads(x):
        return x.reshape(*x.shape[:2], 2, -1).transpose(0, 2, 1, 3)

    q, k, v = heads(q), heads(k), heads(v)
    if past_keys is not None:
        k, v = np.concatenate([past_keys, k], 2), np.concatenate([past_values, v], 2)
    scores = np.exp(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3]))
    y = (scores / scores.sum(3, keepdims=True) @ v).transpose(0, 2, 1, 3)
    return [x.astype(np.float32) for x in (y.reshape(*y.shape[:2], -1), k, v)]


def convolved(x, w, b, **options):
    import torch

    first = torch.from_numpy(np.moveaxis(x, -1, 1).copy())
    y = torch.nn.functional.conv2d(first, torch.from_numpy(w), torch.from_numpy(b), **options)
    return np.moveaxis(y.numpy(), 1, -1)


def complex_of(x):
    return x[..., 0] + 1j * x[..., 1]


def paired(z):
    return np.stack([z.real, z.imag], -1).astype(np.float32)


def fast_gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# ONNX Runtime quantises the state of sequences together or apart, as its threads share them.
LOOSE = {"DynamicQuantizeLSTM": 0.02}


def weights_of(name, inputs):
    """Inputs that ONNX Runtime requires to be constants."""
    if name in ("MatMulNBits", "MatMulBnb4", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "ExpandDims"):
        return range(1, len(inputs))
    if name in ("GatherBlockQuantized", "QAttention", "CropAndResize"):
        return {"GatherBlockQuantized": (0, 2, 3), "QAttention": (1, 2, 3, 4, 6, 7), "CropAndResize": (3,)}[name]
    return [i for i, a in enumerate(inputs) if isinstance(a, np.generic) or (name, i) == ("Attention", 1)]


@pytest.mark.parametrize("name, inputs, outputs, domain, step, attributes", CASES)
def test_operator(tmp_path, name, inputs, outputs, domain, step, attributes):
    places = [0] if outputs == 1 else [int(i) for i in outputs.split()]
    results = [f"y{i}" if i in places else "" for i in range(max(places) + 1)]
    dtype = helper.np_dtype_to_tensor_dtype
    constant = set(weights_of(name, inputs))
    graph = helper.make_graph(
        [
            helper.make_node(
                name,
                [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)],
                results,
                domain=domain,
                **attributes,
            )
        ],
        "graph",
        [
            helper.make_tensor_value_info(f"x{i}", dtype(a.dtype), a.shape)
            for i, a in enumerate(inputs)
            if a is not None and i not in constant
        ],
        [onnx.ValueInfoProto(name=f"y{i}") for i in places],
        [
            onnx.numpy_helper.from_array(np.asarray(a), f"x{i}")
            for i, a in enumerate(inputs)
            if i in constant and a is not None
        ],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    given = {port.name: inputs[int(port.name[1:])] for port in graph.input}
    if name in FORMULAS:
        expected = FORMULAS[name](*inputs)
    else:
        expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given)
    got = relay.compile(path)(**given)
    for g, e in zip(got if isinstance(got, tuple | list) else [got], expected, strict=True):
        g = np.asarray(g)
        assert (g.shape, g.dtype) == (e.shape, e.dtype)
        if step:
            assert np.abs(g.astype(np.int64) - e.astype(np.int64)).max() <= step
        else:
            np.testing.assert_allclose(
                g, e, rtol=1e-4, atol=LOOSE.get(name, 2e-5)
            )  # some of theirs have approximations of erf and exp


def compiled(tmp_path, name, inputs, weights=(), **attributes):
    """A single compiled node; `weights`: indices of inputs that are constants."""
    dtype = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [helper.make_node(name, [f"x{i}" for i in range(len(inputs))], ["y"], domain="com.microsoft", **attributes)],
        "graph",
        [
            helper.make_tensor_value_info(f"x{i}", dtype(a.dtype), a.shape)
            for i, a in enumerate(inputs)
            if i not in weights
        ],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(a, f"x{i}") for i, a in enumerate(inputs) if i in weights],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), tmp_path / "one.onnx")
    given = {f"x{i}": a for i, a in enumerate(inputs) if i not in weights}
    return np.asarray(relay.compile(str(tmp_path / "one.onnx"))(**given))


RAGGED = [
    grouped(1, 4, [5, 3], 5),
    grouped(1, 4, [5, 3], 5, cache=9),
    grouped(1, 4, [5, 3], 5, cache=8, more=angles(9, 8), do_rotary=1),
]


@pytest.mark.parametrize("name, inputs, outputs, domain, step, attributes", RAGGED)
def test_sequences_of_different_lengths(tmp_path, name, inputs, outputs, domain, step, attributes):
    """Only the first result is compared: rows of the caches after the end of a sequence are meaningless."""
    dtype = helper.np_dtype_to_tensor_dtype
    given = {f"x{i}": a for i, a in enumerate(inputs) if a is not None}
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    graph = helper.make_graph(
        [helper.make_node(name, names, ["y", "keys", "values"], domain=domain, **attributes)],
        "graph",
        [helper.make_tensor_value_info(key, dtype(a.dtype), a.shape) for key, a in given.items()],
        [onnx.ValueInfoProto(name=port) for port in ("y", "keys", "values")],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(domain, 1)]
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given)
    got = relay.compile(path)(**given)
    np.testing.assert_allclose(np.asarray(got[0]), expected[0], rtol=1e-4, atol=2e-5)
    assert [np.shape(g) for g in got] == [e.shape for e in expected]


def test_queries_keys_and_values_in_one_tensor(tmp_path):
    packed, query, pair = f(2, 5, 2, 3, 4), f(2, 5, 8), f(2, 7, 2, 2, 4)
    q, k, v = (packed[..., i, :].reshape(2, 5, 8) for i in range(3))
    got = compiled(tmp_path, "MultiHeadAttention", [packed], num_heads=2)
    np.testing.assert_allclose(got, attended(q, k, v)[0], rtol=1e-4, atol=1e-5)
    k, v = (pair[..., i, :].reshape(2, 7, 8) for i in range(2))
    got = compiled(tmp_path, "MultiHeadAttention", [query, pair], num_heads=2)
    np.testing.assert_allclose(got, attended(query, k, v)[0], rtol=1e-4, atol=1e-5)


def test_a_weight_of_codes_as_it_stands(tmp_path):
    """transB=0 takes the transposed weight of transB=1; ONNX Runtime's result depends on the contents of memory."""
    codes, scales, a = u8(100), np.abs(f(13)), f(3, 5)
    shape = {"K": 40, "N": 5, "block_size": 16, "quant_type": 1}
    weight = compiled(tmp_path, "MatMulBnb4", [np.eye(40, dtype=np.float32), codes, scales], (1, 2), **shape).T
    got = compiled(tmp_path, "MatMulBnb4", [a, codes, scales], (1, 2), transB=0, **shape)
    np.testing.assert_allclose(got, a @ weight, rtol=1e-4, atol=1e-5)


def test_every_operator_has_a_case():
    here = pathlib.Path(__file__)
    others = "".join(file.read_text() for file in here.parent.glob("test_onnx_*.py") if file.name != here.name)
    cases = {c.values[0] for c in CASES}
    assert not [name for name in OPERATORS if name not in cases and f'"{name}"' not in others]


def test_what_cannot_be_imported_is_named(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("QuikGelu", ["x"], ["y"], domain="com.microsoft")],
        "graph",
        [helper.make_tensor_value_info("x", 1, [2])],
        [onnx.ValueInfoProto(name="y")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("com.microsoft", 1)]), tmp_path / "m.onnx")
    with pytest.raises(relay.CompileError, match="QuickGelu"):
        relay.compile(str(tmp_path / "m.onnx"))
