"""Operators of each element alone, or of pairs of elements: arithmetic, comparisons, logic, curves."""

from __future__ import annotations

import functools

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, dtype_of, is_float
from ..shared.functions import atan2 as angle_of
from ..shared.problems import Refused
from ..shared.values import constant, number
from .conversion import Conversion


def unary(function):
    def convert(c: Conversion):
        return function(c.x)

    return convert


def binary(function):
    def convert(c: Conversion):
        return function(c.x, c.y)

    return convert


def same(c: Conversion):
    """The first input, as it is."""
    return c.value(0)


def like(value: Expr, one) -> Expr:
    return number(one, dtype_of(value))


def add_n(c: Conversion):
    return functools.reduce(op.add, c.exprs())


def real_divide(c: Conversion):
    return op.divide(c.x, c.y)


def divide(c: Conversion):
    """Div: the quotient, rounded towards zero for integers."""
    return op.divide(c.x, c.y) if is_float(c.dtype(0)) else op.trunc_divide(c.x, c.y)


def floor_divide(c: Conversion):
    if is_float(c.dtype(0)):
        return op.floor(op.divide(c.x, c.y))
    return op.floor_divide(c.x, c.y)


def no_nan(function):
    """Returns the converter of a function that is 0 where the second (or first) operand is 0."""

    def convert(c: Conversion):
        zero = op.equal(c.y, like(c.y, 0))
        made = function(c.x, op.where(zero, like(c.y, 1), c.y))
        return op.where(zero, like(c.x, 0), made)

    return convert


def zero_if_first(function):
    def convert(c: Conversion):
        return op.where(op.equal(c.x, like(c.x, 0)), like(c.x, 0), op.multiply(c.x, function(c.y)))

    return convert


def xdivy(c: Conversion):
    return op.where(op.equal(c.x, like(c.x, 0)), like(c.x, 0), op.divide(c.x, c.y))


def mul_no_nan(c: Conversion):
    return op.where(op.equal(c.y, like(c.y, 0)), like(c.x, 0), op.multiply(c.x, c.y))


def square(c: Conversion):
    return op.multiply(c.x, c.x)


def squared_difference(c: Conversion):
    made = op.subtract(c.x, c.y)
    return op.multiply(made, made)


def reciprocal(c: Conversion):
    return op.divide(c.number(1), c.x)


def power(c: Conversion):
    exponent = c.known(1)
    if not is_float(c.dtype(0)):
        return _whole_power(c, exponent)
    if exponent is not None and exponent.size == 1:
        by = float(exponent.reshape(-1)[0])
        if by == 2 and exponent.ndim == 0:
            return op.multiply(c.x, c.x)
        if by == 1 and exponent.ndim == 0:
            return c.value(0)
    return op.power(c.x, c.y)


def _whole_power(c: Conversion, exponent):
    if exponent is None or exponent.size != 1 or not 0 <= int(exponent.reshape(-1)[0]) <= 64:
        raise Refused("it is a power of integers whose exponent is not a small constant", "compute it in floats")
    by, made, base = int(exponent.reshape(-1)[0]), None, c.x
    if by == 0:
        return op.ones_like(c.x)
    while by:
        if by & 1:
            made = base if made is None else op.multiply(made, base)
        by >>= 1
        if by:
            base = op.multiply(base, base)
    return made


def atan2(c: Conversion):
    return angle_of(c.x, c.y)


def approximate_equal(c: Conversion):
    return op.less(op.abs(op.subtract(c.x, c.y)), c.number(c("tolerance", 1e-5)))


def elu(c: Conversion, x: Expr | None = None) -> Expr:
    x = c.x if x is None else x
    return op.where(op.greater(x, like(x, 0)), x, op.expm1(op.minimum(x, like(x, 0))))


def selu(c: Conversion) -> Expr:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    curve = op.multiply(op.expm1(op.minimum(c.x, c.number(0))), c.number(scale * alpha))
    return op.where(op.greater(c.x, c.number(0)), op.multiply(c.x, c.number(scale)), curve)


def leaky_relu(c: Conversion, x: Expr | None = None) -> Expr:
    slope = c("alpha", None)
    slope = c("leakyrelu_alpha", 0.2) if slope is None else slope
    return op.nn.leaky_relu(c.x if x is None else x, alpha=slope)


def relu6(x: Expr) -> Expr:
    return op.clip(x, 0.0, 6.0) if is_float(dtype_of(x)) else op.minimum(op.maximum(x, like(x, 0)), like(x, 6))


def relu(x: Expr) -> Expr:
    return op.nn.relu(x) if is_float(dtype_of(x)) else op.maximum(x, like(x, 0))


def softplus(x: Expr) -> Expr:
    return op.add(op.maximum(x, like(x, 0)), op.log1p(op.exp(op.negative(op.abs(x)))))


def softsign(x: Expr) -> Expr:
    return op.divide(x, op.add(op.abs(x), like(x, 1)))


def clip_by_value(c: Conversion):
    return op.minimum(op.maximum(c.x, c.expr(1)), c.expr(2))


# The activations that a fused operator applies: (conversion, value).
ACTIVATIONS = {
    "Relu": lambda c, x: relu(x), "Relu6": lambda c, x: relu6(x), "Elu": elu, "LeakyRelu": leaky_relu,
    "Tanh": lambda c, x: op.tanh(x), "Sigmoid": lambda c, x: op.sigmoid(x),
    "GeluExact": lambda c, x: op.nn.gelu(x),
}  # fmt: skip


def bitcast(c: Conversion):
    own, dtype = c.dtype(0), c("type")
    if np.dtype(own).itemsize != np.dtype(dtype).itemsize:
        raise Refused(f"it changes the size of elements, from {own} to {dtype}")
    return op.reinterpret(c.x, dtype=dtype)


def filled_like(value):
    def convert(c: Conversion):
        return op.zeros_like(c.x) if value == 0 else op.ones_like(c.x)

    return convert


def select(c: Conversion):
    """Select: a condition of one axis chooses rows."""
    condition = cast(c.x, "bool")
    if c.rank(0) == 1 and c.rank(1) > 1:
        condition = op.reshape(condition, newshape=[c.shape(0)[0], *[1] * (c.rank(1) - 1)])
    return op.where(condition, c.expr(1), c.expr(2))


def bias_add(c: Conversion):
    axis = 1 if c.text("data_format", "NHWC").startswith("NC") else -1
    if c.rank(0) < 2:
        raise Refused(f"its input has {c.rank(0)} axes, not two or more")
    return op.nn.bias_add(c.x, c.y, axis=axis)


def l2_loss(c: Conversion):
    return op.multiply(op.sum(op.multiply(c.x, c.x)), c.number(0.5))


def softmax(c: Conversion):
    return op.nn.softmax(c.x, axis=-1)


def log_softmax(c: Conversion):
    return op.nn.log_softmax(c.x, axis=-1)


def shifted(function):
    """Returns the converter of a shift, whose distance is clamped to the width of the type."""

    def convert(c: Conversion):
        bits = 8 * np.dtype(c.dtype(0)).itemsize
        by = op.minimum(op.maximum(c.y, like(c.y, 0)), like(c.y, bits - 1))
        return function(c.x, by)

    return convert


def invert(c: Conversion):
    return op.bitwise_not(c.x)


def logical(function):
    def convert(c: Conversion):
        return function(*(cast(one, "bool") for one in c.exprs()))

    return convert


def fake_quantised(c: Conversion, least, most):
    """FakeQuant: rounds to the numbers of a range with 2^bits steps, which is moved so that 0 is one of them."""
    bits, narrow = c("num_bits", 8), bool(c("narrow_range", False))
    low, high = float(narrow), float(2**bits - 1)
    f32 = np.float32
    least, most = np.asarray(least, f32), np.asarray(most, f32)
    scale = (most - least) / f32(high - low)
    with np.errstate(all="ignore"):
        inverse = np.where(scale > 0, f32(high - low) / (most - least), f32(0)).astype(f32)
        zero = np.where(scale > 0, f32(low) - least / scale, f32(0))
    nudged = np.clip(np.floor(zero + f32(0.5)), low, high).astype(f32)
    first, last = (f32(low) - nudged) * scale, (f32(high) - nudged) * scale
    clamped = op.minimum(op.maximum(c.x, constant(first.astype(f32))), constant(last.astype(f32)))
    steps = op.floor(
        op.add(op.multiply(op.subtract(clamped, constant(first.astype(f32))), constant(inverse)), c.number(0.5))
    )
    made = op.add(op.multiply(steps, constant(scale.astype(f32))), constant(first.astype(f32)))
    return op.where(constant(scale > 0), made, op.zeros_like(c.x)) if not np.all(scale > 0) else made


def fake_quant_args(c: Conversion):
    return fake_quantised(c, c("min", -6.0), c("max", 6.0))


def fake_quant_vars(c: Conversion):
    least, most = (c.elements(place, "its range").astype(np.float32) for place in (1, 2))
    return fake_quantised(c, least, most)


def quantised_and_back(c: Conversion):
    """QuantizeAndDequantize(x, least, most, [bits]): rounds to steps of a range, which both ends set."""
    signed, narrow = bool(c("signed_input", True)), bool(c("narrow_range", False))
    bits = c.int(3, "its number of bits") if c.has(3) else c("num_bits", 8)
    if not c("range_given", c.node.op == "QuantizeAndDequantizeV4") or c("axis", -1) != -1:
        raise Refused("its range is computed from its data, or is one of each channel", "give the range")
    if not 2 <= bits <= 24:
        raise Refused(f"it has {bits} bits")
    least, most = c.float(1, "its range"), c.float(2, "its range")
    low = -(2 ** (bits - 1)) + narrow if signed else 0
    high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    scales = [
        one for one in (low / least if low and least * low > 0 else None, high / most if most > 0 else None) if one
    ]
    scale = min(scales, default=1.0)
    least, most = (low / scale if signed else 0.0), high / scale
    clamped = op.minimum(op.maximum(c.x, c.number(least)), c.number(most))
    scaled = op.multiply(clamped, c.number(scale))
    if c.text("round_mode", "HALF_TO_EVEN") == "HALF_UP":
        scaled = op.floor(op.add(scaled, c.number(0.5)))
    else:
        scaled = op.round(scaled)
    return op.multiply(scaled, c.number(1 / scale))
