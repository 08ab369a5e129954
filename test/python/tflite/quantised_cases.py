"""Quantised forms of operators. LiteRT's reference kernels say what they compute, bit by bit; the derived values here
are those of the reals, and a result may be one step away from them."""

import numpy as np
from lite_cases import CASES, Case, i32
from writer import SAME, VALID

LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


def add(name, build, reals=None):
    """`reals`: the real result of the inputs' integers, in steps of the output's scale; None: only LiteRT says."""
    CASES.append(Case(name, build, reals, True, True))


def integers(rng, shape, dtype):
    low, high = LIMITS[dtype]
    return rng.integers(low, high + 1, shape).astype(dtype)


def binary(op, dtype, scales, zeros, activation=0):
    def build(model, rng):
        inputs = [model.input(f"x{i}", [40, 100], dtype, scale=scales[i], zero=zeros[i]) for i in (0, 1)]
        y = model.tensor("y", [40, 100], dtype, scale=scales[2], zero=zeros[2])
        model.outputs(model.op(op, inputs, [y], fused_activation_function=activation))
        return [integers(rng, [40, 100], dtype) for _ in inputs]

    functions = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "SQUARED_DIFFERENCE": lambda a, b: (a - b) ** 2}
    f = functions[op]

    def reals(*xs):
        a, b = ((x.astype(np.float64) - z) * np.float32(s) for x, s, z in zip(xs, scales, zeros, strict=False))
        low, high = ((-np.inf, np.inf), (0, np.inf), (-1, 1), (0, 6))[activation]
        least, most = ((bound - zeros[2]) * scales[2] for bound in LIMITS[dtype])
        return (np.clip(f(a, b), max(low, least), min(high, most)) / scales[2]) + zeros[2]

    add(f"{op} {dtype} activation {activation}", build, reals)


for number, op in enumerate(("ADD", "SUB", "MUL")):
    for dtype in ("int8", "uint8"):
        binary(op, dtype, (0.0213, 0.0471 + number / 90, 0.0613), (3, 120 if dtype == "uint8" else -17, 5))
    binary(op, "int8", (0.05, 0.03, 0.08), (-3, 9, -50), 3)
binary("SQUARED_DIFFERENCE", "int8", (0.0213, 0.0471, 1.3), (3, -17, -128))


def unary(op, dtype, scale, zero, out_scale, out_zero, f, out_type=None, **options):
    out_type = out_type or dtype

    def build(model, rng):
        x = model.input("x", [256], dtype, scale=scale, zero=zero)
        y = model.tensor("y", [256], out_type, scale=out_scale, zero=out_zero)
        model.outputs(model.op(op, [x], [y], **options))
        low, _ = LIMITS[dtype]
        return [np.arange(low, low + 256).astype(dtype)]

    def reals(x):
        real = f((x.astype(np.float64) - zero) * np.float32(scale))
        return np.clip(real / np.float32(out_scale) + out_zero, *LIMITS[out_type])

    add(f"{op} {dtype} to {out_type}", build, reals)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


for dtype, zero in (("int8", 7), ("uint8", 100)):
    low = LIMITS[dtype][0]
    unary("LOGISTIC", dtype, 0.047, zero, 1 / 256, low, sigmoid)
    unary("TANH", dtype, 0.031, zero, 1 / 128, low + 128, np.tanh)
    unary("RELU", dtype, 0.05, zero, 0.031, zero + 3, lambda x: np.maximum(x, 0))
    unary("RELU6", dtype, 0.08, zero, 0.031, low, lambda x: np.clip(x, 0, 6))
    unary("RELU_N1_TO_1", dtype, 0.03, zero, 0.03, zero, lambda x: np.clip(x, -1, 1))
    unary("QUANTIZE", dtype, 0.05, zero, 0.0371, zero - 9, lambda x: x)
unary("QUANTIZE", "int8", 0.05, 3, 0.05, 131, lambda x: x, "uint8")


def _quantize(model, rng):
    x = model.input("x", [400])
    model.outputs(model.op("QUANTIZE", [x], [model.tensor("y", [400], "int8", scale=0.5, zero=-3)]))
    return [np.concatenate([np.arange(-40, 40) * 0.25, rng.uniform(-80, 80, 320)]).astype(np.float32)]


def away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


add("QUANTIZE float", _quantize, lambda x: np.clip(away(x / np.float32(0.5)) - 3, -128, 127))


def _dequantize(axis):
    def build(model, rng):
        scales = np.float32([0.1, 0.02, 0.3]) if axis is not None else 0.1
        x = model.input("x", [4, 3], "int8", scale=scales, zero=0 if axis is not None else -9, axis=axis or 0)
        model.outputs(model.op("DEQUANTIZE", [x], [model.tensor("y", [4, 3])]))
        return [integers(rng, [4, 3], "int8")]

    return build


add("DEQUANTIZE", _dequantize(None), lambda x: (x.astype(np.float32) + 9) * np.float32(0.1))


def weighted(
    op, dtype, shape, filter_shape, result, channels, *, per_axis=True, zero=(3, -5), activation=0, name="", **options
):
    def build(model, rng):
        w = integers(rng, filter_shape, dtype)
        if dtype == "int8":
            w = np.maximum(w, -127)
        scales = np.linspace(0.004, 0.02, result[-1]).astype(np.float32) if per_axis else np.float32(0.0123)
        zero_of_w = 0 if dtype == "int8" else 117
        inputs = [
            model.input("x", shape, dtype, scale=0.037, zero=zero[0]),
            model.constant("w", w, scale=scales, zero=zero_of_w, axis=channels),
            model.constant(
                "b", rng.integers(-3000, 3000, result[-1]).astype(np.int32), scale=np.float32(0.037) * scales, zero=0
            ),
        ]
        y = model.tensor("y", result, dtype, scale=0.11, zero=zero[1])
        model.outputs(model.op(op, inputs, [y], fused_activation_function=activation, **options))
        return [integers(rng, shape, dtype)]

    add(f"{op} {dtype}{' per channel' if per_axis else ''}{name}", build)


window = {"padding": SAME, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
twice = {**window, "stride_h": 2, "stride_w": 2, "padding": VALID}
for per_axis in (True, False):
    weighted("CONV_2D", "int8", [1, 7, 8, 5], [6, 3, 3, 5], [1, 7, 8, 6], 0, per_axis=per_axis, **window)
    weighted("DEPTHWISE_CONV_2D", "int8", [1, 7, 8, 6], [1, 3, 3, 6], [1, 7, 8, 6], 3, per_axis=per_axis, **window)
    weighted("FULLY_CONNECTED", "int8", [40, 33], [100, 33], [40, 100], 0, per_axis=per_axis)
weighted("CONV_2D", "int8", [1, 9, 9, 4], [6, 3, 3, 4], [1, 4, 4, 6], 0, activation=3, name=" relu6", **twice)
weighted("DEPTHWISE_CONV_2D", "int8", [1, 9, 9, 3], [1, 3, 3, 6], [1, 4, 4, 6], 3, activation=1, name=" relu", **twice)
for op, shape, filter_shape, axis in (
    ("CONV_2D", [1, 7, 8, 5], [6, 3, 3, 5], 0),
    ("DEPTHWISE_CONV_2D", [1, 7, 8, 6], [1, 3, 3, 6], 3),
):
    weighted(op, "uint8", shape, filter_shape, [1, 7, 8, 6], axis, per_axis=False, zero=(128, 99), **window)
weighted("FULLY_CONNECTED", "uint8", [40, 33], [100, 33], [40, 100], 0, per_axis=False, zero=(128, 99))


def pool(op, dtype, padding, result, activation=0):
    def build(model, rng):
        quantisation = {"scale": 0.05, "zero": 11}
        x = model.input("x", [1, 9, 8, 5], dtype, **quantisation)
        y = model.tensor("y", result, dtype, **quantisation)
        model.outputs(
            model.op(
                op,
                [x],
                [y],
                padding=padding,
                stride_h=2,
                stride_w=2,
                filter_height=3,
                filter_width=2,
                fused_activation_function=activation,
            )
        )
        return [integers(rng, [1, 9, 8, 5], dtype)]

    add(f"{op} {dtype} {padding} {activation}", build)


for dtype in ("int8", "uint8"):
    for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        pool(op, dtype, VALID, [1, 4, 4, 5])
        pool(op, dtype, SAME, [1, 5, 4, 5], 3)


def _concatenation(model, rng):
    scales, zeros = (0.05, 0.02, 0.06), (120, 3, 100)
    inputs = [model.input(f"x{i}", [3, 20], "uint8", scale=scales[i], zero=zeros[i]) for i in (0, 1)]
    model.outputs(
        model.op("CONCATENATION", inputs, [model.tensor("y", [3, 40], "uint8", scale=0.06, zero=100)], axis=1)
    )
    return [integers(rng, [3, 20], "uint8") for _ in inputs]


add("CONCATENATION uint8 of several scales", _concatenation)


def moved(op, constants, result, name=None, **options):
    def build(model, rng):
        x = model.input("x", [2, 4, 4, 3], "int8", scale=0.1, zero=-7)
        rest = [model.constant(f"c{i}", c) for i, c in enumerate(constants)]
        y = model.tensor("y", result, "int8", scale=0.1, zero=-7)
        model.outputs(model.op(op, [x, *rest], [y], **options))
        return [integers(rng, [2, 4, 4, 3], "int8")]

    add(name or f"{op} int8", build)


moved("PAD", [i32([0, 0], [1, 2], [0, 1], [0, 0])], [2, 7, 5, 3])
moved("RESHAPE", [i32(2, 48)], [2, 48])
moved("TRANSPOSE", [i32(0, 3, 1, 2)], [2, 3, 4, 4])
moved("REDUCE_MAX", [i32(1, 2)], [2, 3], keep_dims=False)
moved("RESIZE_NEAREST_NEIGHBOR", [i32(8, 8)], [2, 8, 8, 3], align_corners=False, half_pixel_centers=True)


def _hybrid(model, rng):
    """Real data, a quantised weight: the weight is dequantised, where LiteRT quantises the data."""
    x = model.input("x", [5, 33])
    w = model.constant("w", np.maximum(integers(rng, [20, 33], "int8"), -127), scale=0.01, zero=0)
    model.outputs(model.op("FULLY_CONNECTED", [x, w], [model.tensor("y", [5, 20])]))
    return [rng.uniform(-1, 1, [5, 33]).astype(np.float32)]


HYBRID = Case("FULLY_CONNECTED hybrid", _hybrid, None)


def reduced(op, f, dtype, axes, result, scale, out_scale, keep_dims=False, shape=(2, 7, 7, 50)):
    def build(model, rng):
        x = model.input("x", list(shape), dtype, scale=scale, zero=9)
        y = model.tensor("y", result, dtype, scale=out_scale, zero=4)
        inputs = [x, model.constant("axes", i32(*axes))]
        model.outputs(model.op(op, inputs, [y], keep_dims=keep_dims))
        return [integers(rng, shape, dtype)]

    def reals(x):
        real = f((x.astype(np.float64) - 9) * np.float32(scale), tuple(axes), keepdims=keep_dims)
        return np.clip(real / np.float32(out_scale) + 4, *LIMITS[dtype])

    add(f"{op} {dtype} {axes}", build, reals if f else None)


for dtype in ("int8", "uint8"):
    reduced("MEAN", np.mean, dtype, (1, 2), [2, 50], 0.05, 0.0131)
    reduced("MEAN", np.mean, dtype, (3,), [2, 7, 7, 1], 0.05, 0.05, True)
    reduced("SUM", np.sum, dtype, (3,), [2, 7, 7, 1], 0.05, 1.9, True)
reduced("SUM", np.sum, "uint8", (1, 2), [2, 50], 0.05, 0.524)
# Each product is rounded, so a result of more factors may be further from the reals.
reduced("REDUCE_PROD", np.prod, "int8", (1,), [40, 5], 0.05, 0.09, shape=(40, 2, 5))
reduced("REDUCE_PROD", None, "int8", (0, 2), [1, 7, 1, 20], 0.04, 0.02, True, (2, 7, 3, 20))


def _divided(dtype, activation):
    zeros = (3, -17, 5) if dtype == "int8" else (100, 31, 9)

    def build(model, rng):
        shapes = [40, 100], [100]
        inputs = [model.input(f"x{i}", shapes[i], dtype, scale=(0.5, 0.013)[i], zero=zeros[i]) for i in (0, 1)]
        y = model.tensor("y", [40, 100], dtype, scale=0.9, zero=zeros[2])
        model.outputs(model.op("DIV", inputs, [y], fused_activation_function=activation))
        a, b = (integers(rng, shape, dtype) for shape in shapes)
        # LiteRT refuses divisors of 0. Its shifts of small dividends, by 32 or more, are undefined.
        return [
            np.where(abs(a.astype(int) - zeros[0]) < 12, a + 20, a).astype(dtype),
            np.where(b == zeros[1], b + 1, b),
        ]

    def reals(a, b):
        x, y = (e.astype(np.float64) - zero for e, zero in zip((a, b), zeros, strict=False))
        real = x / y * np.float32(0.5 / 0.013 / 0.9)
        return np.clip((np.maximum(real, 0) if activation else real) + zeros[2], *LIMITS[dtype])

    add(f"DIV {dtype} activation {activation}", build, reals)


def _l2_normalised(dtype):
    zero = {"int8": 0, "uint8": 128}[dtype]

    def build(model, rng):
        x = model.input("x", [60, 19], dtype, scale=0.05, zero=zero - 7)
        y = model.tensor("y", [60, 19], dtype, scale=1 / 128, zero=zero)
        model.outputs(model.op("L2_NORMALIZATION", [x], [y]))
        spread = 1 << rng.integers(0, 8, [60, 1])  # rows of all sizes, and one of zeros
        rows = np.clip((integers(rng, [60, 19], dtype).astype(int) - zero) // spread, -120, 120)
        rows[0] = 0
        return [(rows + zero - 7).astype(dtype)]

    def reals(x):
        y = x.astype(np.float64) - zero + 7
        return np.clip(128 * y / np.maximum(np.sqrt((y * y).sum(-1, keepdims=True)), 1) + zero, *LIMITS[dtype])

    add(f"L2_NORMALIZATION {dtype}", build, reals)


def _log_softmax(dtype, scale):
    def build(model, rng):
        x = model.input("x", [40, 17], dtype, scale=scale, zero=-7)
        y = model.tensor("y", [40, 17], dtype, scale=1 / 16, zero=LIMITS[dtype][1])
        model.outputs(model.op("LOG_SOFTMAX", [x], [y]))
        return [integers(rng, [40, 17], dtype)]

    def reals(x):
        below = np.float32(scale) * (x - x.max(-1, keepdims=True).astype(np.float64))
        real = below - np.log(np.exp(below).sum(-1, keepdims=True))
        return np.clip(16 * real + LIMITS[dtype][1], *LIMITS[dtype])

    add(f"LOG_SOFTMAX {dtype} {scale}", build, reals)


for dtype in ("int8", "uint8"):
    for activation in (0, 1):
        _divided(dtype, activation)
    _l2_normalised(dtype)
    _log_softmax(dtype, 0.02)
    _log_softmax(dtype, 0.3)


def _softmax(dtype, scale, beta):
    def build(model, rng):
        x = model.input("x", [40, 17], dtype, scale=scale, zero=-7)
        y = model.tensor("y", [40, 17], dtype, scale=1 / 256, zero=LIMITS[dtype][0])
        model.outputs(model.op("SOFTMAX", [x], [y], beta=beta))
        return [integers(rng, [40, 17], dtype)]

    def reals(x):
        e = np.exp(beta * np.float32(scale) * (x - x.max(-1, keepdims=True).astype(np.float64)))
        return np.clip(256 * e / e.sum(-1, keepdims=True) + LIMITS[dtype][0], *LIMITS[dtype])

    add(f"SOFTMAX {dtype} {scale} {beta}", build, reals)


for dtype in ("int8", "uint8"):
    _softmax(dtype, 0.02, 1.0)
    _softmax(dtype, 0.3, 0.5)


def compared(op, scales, zeros):
    def build(model, rng):
        inputs = [model.input(f"x{i}", [40, 100], "int8", scale=scales[i], zero=zeros[i]) for i in (0, 1)]
        model.outputs(model.op(op, inputs, [model.tensor("y", [40, 100], "bool")]))
        return [integers(rng, [40, 100], "int8") for _ in inputs]

    add(f"{op} int8", build)


for op in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"):
    compared(op, (0.05, 0.0233), (4, -11))


def _prelu(dtype):
    def build(model, rng):
        x = model.input("x", [8, 50, 6], dtype, scale=0.05, zero=3)
        alpha = model.constant("alpha", integers(rng, [1, 1, 6], dtype), scale=0.012, zero=5)
        model.outputs(model.op("PRELU", [x, alpha], [model.tensor("y", [8, 50, 6], dtype, scale=0.06, zero=20)]))
        return [integers(rng, [8, 50, 6], dtype)]

    return build


for dtype in ("int8", "uint8"):
    add(f"PRELU {dtype}", _prelu(dtype))
    unary("LEAKY_RELU", dtype, 0.05, 7, 0.031, 11, lambda x: np.where(x < 0, np.float32(0.3) * x, x), alpha=0.3)
for op, f in {"MAXIMUM": np.maximum, "MINIMUM": np.minimum}.items():

    def _extreme(model, rng, op=op):
        inputs = [model.input(f"x{i}", [300], "int8", scale=0.1, zero=2) for i in (0, 1)]
        model.outputs(model.op(op, inputs, [model.tensor("y", [300], "int8", scale=0.1, zero=2)]))
        return [integers(rng, [300], "int8") for _ in inputs]

    add(f"{op} int8", _extreme, lambda a, b, f=f: f(a, b))
for corners, centres in ((False, False), (True, False), (False, True)):
    for size in ((7, 9), (3, 2)):
        moved(
            "RESIZE_BILINEAR",
            [i32(*size)],
            [2, *size, 3],
            align_corners=corners,
            half_pixel_centers=centres,
            name=f"RESIZE_BILINEAR int8 {size} {corners} {centres}",
        )
