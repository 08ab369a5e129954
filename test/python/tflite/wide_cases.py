"""Quantised data of 16 bits, with weights of 8 bits and biases of 64 or 32; and tables of functions. LiteRT's reference
kernels say what they compute, bit by bit; a derived value is that of the reals, and a result may be one step away."""

import numpy as np
from lite_cases import CASES, Case, i32
from quantised_cases import LIMITS, integers
from writer import SAME, TYPES, VALID

LIMITS["int16"] = (-32768, 32767)


def add(name, build, reals=None):
    CASES.append(Case(name, build, reals, True, True))


def product(op, shape, filter_shape, result, channels, *, per_axis=True, bias="int64", activation=0, dtype="int16",
            out_shape=False, x_scale=3e-4, y_scale=6e-3, **options):  # fmt: skip
    """A sum of products; `out_shape`: the shape of the result comes first, and the weight before the data."""

    def build(model, rng):
        w = np.maximum(integers(rng, filter_shape, "int8"), -127)
        n = result[-1]
        scales = np.linspace(0.004, 0.02, n).astype(np.float32) if per_axis else np.float32(0.0123)
        zero = 0 if dtype == "int16" else 4
        x = model.input("x", shape, dtype, scale=x_scale, zero=zero)
        inputs = [x, model.constant("w", w, scale=scales, axis=channels)]
        if out_shape:
            inputs = [model.constant("shape", i32(*result)), *inputs[::-1]]
        if bias:
            b = rng.integers(-300000, 300000, n).astype(bias)
            inputs.append(model.constant("b", b, scale=np.float32(x_scale) * scales))
        if bias == "int32" and dtype == "int16":
            options["quantized_bias_type"] = TYPES.index("int32")
        y = model.tensor("y", result, dtype, scale=y_scale, zero=zero)
        model.outputs(model.op(op, inputs, [y], fused_activation_function=activation, **options))
        return [integers(rng, shape, dtype)]

    form = "per channel" if per_axis else ""
    add(f"{op} {dtype} {bias} {form} {activation} {options.get('padding')}".replace("  ", " "), build)


window = {"padding": SAME, "stride_h": 1, "stride_w": 1}
for per_axis in (True, False):
    product("CONV_2D", [1, 9, 8, 5], [6, 3, 3, 5], [1, 9, 8, 6], 0, per_axis=per_axis, **window)
    product("DEPTHWISE_CONV_2D", [1, 9, 8, 6], [1, 3, 3, 6], [1, 9, 8, 6], 3, per_axis=per_axis, **window)
    product("FULLY_CONNECTED", [40, 33], [50, 33], [40, 50], 0, per_axis=per_axis)
    product("TRANSPOSE_CONV", [1, 5, 4, 5], [6, 3, 3, 5], [1, 10, 8, 6], 0, per_axis=per_axis, out_shape=True,
            padding=SAME, stride_h=2, stride_w=2)  # fmt: skip
product("CONV_2D", [1, 9, 8, 5], [6, 3, 3, 5], [1, 9, 8, 6], 0, bias="int32", activation=3, **window)
product("FULLY_CONNECTED", [40, 33], [50, 33], [40, 50], 0, bias=None, activation=1)
product("FULLY_CONNECTED", [40, 33], [50, 33], [40, 50], 0, bias="int32")
for per_axis in (True, False):
    product("TRANSPOSE_CONV", [1, 5, 4, 5], [6, 3, 3, 5], [1, 11, 9, 6], 0, per_axis=per_axis, out_shape=True,
            dtype="int8", bias="int32", x_scale=0.037, y_scale=0.3, padding=VALID, stride_h=2, stride_w=2)  # fmt: skip


def binary(op, scales, activation=0, **options):
    f = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}[op]

    def build(model, rng):
        inputs = [model.input(f"x{i}", [40, 100], "int16", scale=scales[i]) for i in (0, 1)]
        y = model.tensor("y", [40, 100], "int16", scale=scales[2])
        model.outputs(model.op(op, inputs, [y], fused_activation_function=activation, **options))
        return [integers(rng, [40, 100], "int16") for _ in inputs]

    def reals(a, b):
        y = f(a * np.float64(np.float32(scales[0])), b * np.float64(np.float32(scales[1])))
        return np.clip(np.maximum(y, 0) if activation else y, -32768 * scales[2], 32767 * scales[2]) / scales[2]

    add(f"{op} int16 {activation}", build, reals)


for kind in (0, 1):
    binary("ADD", (3.1e-4, 2.3e-4, 6.7e-4), kind, pot_scale_int16=False)
    binary("SUB", (3.1e-4, 2.3e-4, 6.7e-4), kind, pot_scale_int16=False)
    binary("MUL", (3.1e-4, 2.3e-4, 5.7e-3), kind)


def unary(op, scale, out_scale, f, dtype="int16", zero=0, out_zero=0, low=None, name="", **options):
    """All integers of the type, from `low` on."""
    first, last = LIMITS[dtype]
    first = first if low is None else low

    def build(model, rng):
        n = last - first + 1
        x = model.input("x", [n], dtype, scale=scale, zero=zero)
        y = model.tensor("y", [n], dtype, scale=out_scale, zero=out_zero)
        model.outputs(model.op(op, [x], [y], **options))
        return [np.arange(first, last + 1).astype(dtype)]

    def reals(x):
        real = f((x.astype(np.float64) - zero) * np.float32(scale)) / np.float32(out_scale) + out_zero
        return np.clip(real, *LIMITS[dtype])

    add(f"{op} {dtype}{name}", build, None if dtype == "int16" and op != "LEAKY_RELU" else reals)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


unary("LOGISTIC", 2.0**-12, 2.0**-15, sigmoid)
unary("LOGISTIC", 3.7e-4, 2.0**-15, sigmoid, name=" of any scale")
unary("TANH", 2.0**-12, 2.0**-15, np.tanh)
unary("TANH", 2.0**-11, 2.0**-15, np.tanh, name=" of 2^-11")
unary("TANH", 3.7e-4, 2.0**-15, np.tanh, name=" of any scale")
unary("EXP", 1.1e-4, 1.2e-3, np.exp)
unary("EXP", 0.03, 0.19, np.exp, "int8", 5, -128)
unary("LEAKY_RELU", 3.1e-4, 2.9e-4, lambda x: np.where(x < 0, np.float32(0.3) * x, x), alpha=0.3)
for kind, point in (("int8", 7), ("uint8", 100)):
    unary("HARD_SWISH", 0.05, 0.031, lambda x: x * np.clip(x + 3, 0, 6) / 6, kind, point, LIMITS[kind][0] + 20)
unary("ELU", 0.03, 0.02, lambda x: np.where(x < 0, np.expm1(x), x), "int8", 7, -40)
for approximate in (False, True):
    unary("GELU", 0.03, 0.02, lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), "int8", 7,
          -100, name=f" {approximate}", approximate=approximate)  # fmt: skip
unary("ABS", 0.05, 0.031, np.abs, "int8", 7, -100)
unary("ABS", 0.05, 0.05, np.abs, "int8", 7, -100, name=" of one scale")
unary("ABS", 3e-4, 2.1e-4, np.abs)


def logarithm(x):
    return np.log(x, out=np.full_like(x, -1e9), where=x > 0)


def inverse_root(x):
    return 1 / np.sqrt(np.maximum(x, 1e-9))


unary("LOG", 0.03, 0.02, logarithm, "int8", -60, 20)
unary("LOG", 3e-4, 3e-4, logarithm)
unary("RSQRT", 0.02, 0.03, inverse_root, "int8", -100, -120, -100)
unary("RSQRT", 3e-4, 1e-3, inverse_root, low=0)


def simple(op, shape, result, scale, out_scale, inputs=(), dtype="int16", zero=0, out_zero=0, name="", **options):
    def build(model, rng):
        x = model.input("x", shape, dtype, scale=scale, zero=zero)
        more = [model.constant(f"c{i}", c) for i, c in enumerate(inputs)]
        y = model.tensor("y", result, dtype, scale=out_scale, zero=out_zero)
        model.outputs(model.op(op, [x, *more], [y], **options))
        return [integers(rng, shape, dtype)]

    add(f"{op} {dtype}{name}", build)


def matrices(name, dtype, shapes, result, scales, zeros=(0, 0, 0), fixed=False, **options):
    """The product of matrices; `fixed`: the second is a constant."""
    scales = np.float32(scales)

    def build(model, rng):
        a, b = (integers(rng, shape, dtype) for shape in shapes)
        inputs = [model.input("a", shapes[0], dtype, scale=scales[0], zero=zeros[0])]
        if fixed:
            inputs.append(model.constant("b", b, scale=scales[1], zero=zeros[1]))
        else:
            inputs.append(model.input("b", shapes[1], dtype, scale=scales[1], zero=zeros[1]))
        y = model.tensor("y", result, dtype, scale=scales[2], zero=zeros[2])
        model.outputs(model.op("BATCH_MATMUL", inputs, [y], **options))
        return [a] if fixed else [a, b]

    def reals(a, b):
        a, b = ((x.astype(np.float64) - zero) * scale for x, scale, zero in zip((a, b), scales, zeros, strict=False))
        a, b = (x.swapaxes(-1, -2) if options.get(f"adj_{key}") else x for x, key in ((a, "x"), (b, "y")))
        return np.clip(a @ b / scales[2] + zeros[2], *LIMITS[dtype])

    add(f"BATCH_MATMUL {dtype}{name}", build, None if fixed else reals)


scales8, zeros8 = (0.037, 0.012, 0.21), (3, -5, 9)
matrices("", "int8", ([2, 5, 33], [2, 33, 7]), [2, 5, 7], scales8, zeros8)
matrices(" transposed", "int8", ([3, 33, 5], [1, 7, 33]), [3, 5, 7], scales8, zeros8, adj_x=True, adj_y=True)
matrices(" of a constant", "int8", ([2, 5, 33], [33, 7]), [2, 5, 7], scales8, (3, 0, 9), fixed=True)
matrices("", "int16", ([2, 5, 33], [2, 33, 7]), [2, 5, 7], (3e-4, 2e-4, 2e-2))


def _hybrid_matrices(model, rng):
    """Real data, a quantised matrix: it is dequantised, where LiteRT quantises the data."""
    a = model.input("a", [2, 5, 33])
    b = model.constant("b", integers(rng, [2, 33, 7], "int8"), scale=0.01, zero=0)
    model.outputs(model.op("BATCH_MATMUL", [a, b], [model.tensor("y", [2, 5, 7])]))
    return [rng.uniform(-1, 1, [2, 5, 33]).astype(np.float32)]


HYBRID_MATRICES = Case("BATCH_MATMUL hybrid", _hybrid_matrices, None)


pools = {"stride_h": 2, "stride_w": 2, "filter_height": 3, "filter_width": 2}
for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
    simple(op, [1, 9, 8, 5], [1, 4, 4, 5], 3e-4, 3e-4, padding=VALID, **pools)
simple("SOFTMAX", [40, 17], [40, 17], 2e-4, 1 / 32768, beta=1.0)
simple("SOFTMAX", [40, 17], [40, 17], 6e-4, 1 / 32768, beta=0.5, name=" half")
simple("MEAN", [2, 7, 7, 50], [2, 50], 3e-4, 1.1e-4, [i32(1, 2)])
simple("RELU", [1000], [1000], 3e-4, 2.1e-4)
simple("RELU6", [1000], [1000], 3e-4, 2.1e-4)
simple("QUANTIZE", [1000], [1000], 3e-4, 4.1e-4)
simple("PAD", [3, 4, 4], [5, 5, 4], 3e-4, 3e-4, [i32([1, 1], [0, 1], [0, 0])])


def _to(dtype, out_dtype, scale, zero, out_scale, out_zero):
    def build(model, rng):
        x = model.input("x", [1000], dtype, scale=scale, zero=zero)
        y = model.tensor("y", [1000], out_dtype, scale=out_scale, zero=out_zero)
        model.outputs(model.op("QUANTIZE", [x], [y]))
        return [integers(rng, [1000], dtype)]

    add(f"QUANTIZE {dtype} to {out_dtype}", build)


_to("int8", "int16", 0.05, 3, 2e-4, 0)
_to("int16", "int8", 2e-4, 0, 0.05, 3)


def _reals(model, rng):
    x = model.input("x", [1000])
    model.outputs(model.op("QUANTIZE", [x], [model.tensor("y", [1000], "int16", scale=3e-4)]))
    return [rng.uniform(-12, 12, 1000).astype(np.float32)]


add("QUANTIZE float to int16", _reals)


def _dequantize(model, rng):
    x = model.input("x", [1000], "int16", scale=3e-4)
    model.outputs(model.op("DEQUANTIZE", [x], [model.tensor("y", [1000])]))
    return [integers(rng, [1000], "int16")]


add("DEQUANTIZE int16", _dequantize, lambda x: x.astype(np.float32) * np.float32(3e-4))


def _concatenation(model, rng):
    inputs = [model.input(f"x{i}", [3, 20], "int16", scale=3e-4) for i in (0, 1)]
    model.outputs(model.op("CONCATENATION", inputs, [model.tensor("y", [3, 40], "int16", scale=3e-4)], axis=1))
    return [integers(rng, [3, 20], "int16") for _ in inputs]


add("CONCATENATION int16", _concatenation, lambda a, b: np.concatenate([a, b], 1))

# --- SVDF ------------------------------------------------------------------------------------------------------------

BATCH, IN, FILTERS, MEMORY = 2, 9, 8, 5


def _svdf(model, rng):
    x = model.input("x", [BATCH, IN], "int8", scale=0.04, zero=3)
    weights = [model.constant("f", integers(rng, [FILTERS, IN], "int8"), scale=0.01, zero=0),
               model.constant("t", integers(rng, [FILTERS, MEMORY], "int16"), scale=3e-5, zero=0),
               model.constant("b", rng.integers(-2000, 2000, FILTERS // 2).astype(np.int32), scale=1e-8)]  # fmt: skip
    state = model.tensor("state", [BATCH, FILTERS * MEMORY], "int16", scale=8e-4, zero=0, variable=True)
    y = model.tensor("y", [BATCH, FILTERS // 2], "int8", scale=0.05, zero=-7)
    model.outputs(model.op("SVDF", [x, *weights, state], [y], rank=2, fused_activation_function=1))
    return [integers(rng, [BATCH, IN], "int8")]


add("SVDF int8", _svdf)
CASES[-1].states = [np.zeros([BATCH, FILTERS * MEMORY], np.int16)]

# --- LSTM ------------------------------------------------------------------------------------------------------------

TIME, UNITS = 6, 7


def _lstm(name, op="UNIDIRECTIONAL_SEQUENCE_LSTM", *, cifg=False, peephole=False, projection=0, **options):
    """Data and outputs of 8 bits, gates and cell of 16."""
    out = projection or UNITS
    shape = [BATCH, TIME, IN] if op != "LSTM" else [BATCH, IN]

    def build(model, rng):
        def weight(key, *sizes, dtype="int8", scale=0.006):
            low, high = (-127, 127) if dtype == "int8" else (-30000, 30000)
            return model.constant(key, rng.integers(low, high + 1, sizes).astype(dtype), scale=scale, zero=0)

        def four(key, *sizes, **kind):
            return [-1 if cifg and i == 0 else weight(f"{key}{i}", *sizes, **kind) for i in range(4)]

        inputs = [model.input("x", shape, "int8", scale=0.03, zero=5), *four("x", UNITS, IN), *four("h", UNITS, out)]
        holes = [weight(f"p{i}", UNITS, dtype="int16", scale=2e-5) for i in range(3)] if peephole else [-1] * 3
        inputs += [-1 if cifg else holes[0], *holes[1:]]
        inputs += [-1 if cifg and i == 0 else
                   model.constant(f"b{i}", rng.integers(-3000, 3000, UNITS).astype(np.int32), scale=0.03 * 0.006)
                   for i in range(4)]  # fmt: skip
        inputs.append(weight("projection", out, UNITS) if projection else -1)
        inputs.append(model.constant("bias", rng.integers(-900, 900, out).astype(np.int32), scale=4e-5)
                      if projection else -1)  # fmt: skip
        scale, zero = (0.007, -4) if not projection else (0.012, 3)
        inputs.append(model.tensor("h", [BATCH, out], "int8", scale=scale, zero=zero, variable=True))
        inputs.append(model.tensor("c", [BATCH, UNITS], "int16", scale=2.0**-11, variable=True))
        if op != "LSTM":
            inputs += [-1] * 4
        y = model.tensor("y", [*shape[:-1], out], "int8", scale=scale, zero=zero)
        inner = [model.tensor(f"inner{i}", [], "int16", scale=2.0**-12) for i in range(4)]
        inner.append(model.tensor("hidden", [], "int8", scale=0.0068, zero=-4))
        more = {"fused_activation_function": 4, **options}
        model.outputs(model.op(op, inputs, [y], intermediates=inner, **more))
        return [integers(rng, shape, "int8")]

    add(f"{op} int8 {name}", build)
    zero = -4 if not projection else 3
    CASES[-1].states = [np.full([BATCH, out], zero, np.int8), np.zeros([BATCH, UNITS], np.int16)]


_lstm("plain")
_lstm("one step", "LSTM")
_lstm("without an input gate", cifg=True)
_lstm("peepholes", peephole=True)
_lstm("projection", projection=5)
_lstm("clips", projection=5, cell_clip=0.6, proj_clip=0.5)
