"""Operators of domain com.microsoft, which ONNX Runtime's optimisers and quantisers write, beside ONNX Runtime."""

import pathlib
import re

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402

import relay  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
    return draw.integers(-128, 128, shape).astype(np.int8)


def scale(value=0.05):
    return np.float32(value)


def zero(value=128, dtype=np.uint8):
    return dtype(value)


def case(name, inputs, outputs=1, domain="com.microsoft", step=0, **attributes):
    """`step`: by how much integers may differ, where a real lies between two of them."""
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


# What ONNX Runtime describes and its processor backend does not compute, from the description.
FORMULAS = {
    "BiasAdd": lambda x, bias, skip: [x + bias + skip],
    "BiasSplitGelu": lambda x, bias: [split_gelu(x, bias)],
    "GroupNorm": lambda x, gamma, beta: [normalised(x, gamma, beta, True)],
    "SkipGroupNorm": lambda x, gamma, beta, skip, bias: [
        normalised(x + skip + bias, gamma, beta, False),
        x + skip + bias,
    ],
    "QLinearReduceMean": lambda *inputs: [reduced(*inputs)],
}


def weights_of(name, inputs):
    """Inputs that ONNX Runtime wants to be constants."""
    if name in ("MatMulNBits", "DynamicQuantizeMatMul", "ExpandDims"):
        return range(1, len(inputs))
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
            np.testing.assert_allclose(g, e, rtol=1e-4, atol=2e-5)  # some of theirs have approximations of erf and exp


def test_every_operator_has_a_case():
    assert set(OPERATORS) - {c.values[0] for c in CASES} == set()


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
