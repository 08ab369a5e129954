"""Converters of operators on single elements."""

from __future__ import annotations

import math

import numpy as np

from .conversion import Conversion
from .writer import Value, Writer, is_float


def unary(name: str):
    return lambda w, c: w.unary(name, c.x)


def binary(name: str, on_bools: str | None = None):
    return lambda w, c: w.binary(on_bools if on_bools and c.x.dtype == "bool" else name, c.x, c.inputs[1])


def compare(direction: str):
    return lambda w, c: w.compare(direction, c.x, c.inputs[1])


def divide(w: Writer, c: Conversion) -> Value:
    return w.binary("divide", c.x, c.inputs[1])


def floor_divide(w: Writer, c: Conversion) -> Value:
    a, b = c.x, c.inputs[1]
    found = w.binary("divide", a, b)
    if a.dtype.startswith("u"):
        return found
    if not is_float(a.dtype):
        return w.binary("subtract", found, w.convert(_is_apart(w, a, b), a.dtype))
    # A quotient may be rounded up to a whole number. Without the rest, which is exact, it is one.
    whole = w.binary("divide", w.binary("subtract", a, w.binary("remainder", a, b)), b)
    below = w.binary("subtract", whole, w.convert(_is_apart(w, a, b), a.dtype))
    is_infinite = w.compare("EQ", b, w.number(0, a.dtype))
    return w.select(is_infinite, found, w.unary("round_nearest_even", below))


def floor_mod(w: Writer, c: Conversion) -> Value:
    a, b = c.x, c.inputs[1]
    rest = w.binary("remainder", a, b)
    zero = w.number(0, a.dtype)
    return rest if a.dtype.startswith("u") else w.binary("add", rest, w.select(_is_apart(w, a, b), b, zero))


def _is_apart(w: Writer, a: Value, b: Value) -> Value:
    """Returns true where a division leaves a rest whose sign is not the divisor's."""
    rest, zero = w.binary("remainder", a, b), w.number(0, a.dtype)
    differs = w.compare("NE", w.compare("LT", rest, zero), w.compare("LT", b, zero))
    return w.binary("and", differs, w.compare("NE", rest, zero))


def truncated(w: Writer, x: Value) -> Value:
    if not is_float(x.dtype):
        return x
    is_negative = w.compare("LT", x, w.number(0, x.dtype))
    return w.select(is_negative, w.unary("ceil", x), w.unary("floor", x))


def rounded(name: str):
    """Returns the converter of a function that leaves integers as they are."""
    return lambda w, c: w.unary(name, c.x) if is_float(c.x.dtype) else c.x


def trunc(w: Writer, c: Conversion) -> Value:
    return truncated(w, c.x)


def trunc_divide(w: Writer, c: Conversion) -> Value:
    return truncated(w, w.binary("divide", c.x, c.inputs[1]))


def cast(w: Writer, c: Conversion) -> Value:
    return w.convert(c.x, c.dtype)


def reinterpret(w: Writer, c: Conversion) -> Value:
    return w.emit("bitcast_convert", [c.x], c.x.shape, c.dtype)


def same(w: Writer, c: Conversion) -> Value:
    return c.x


def clip(w: Writer, c: Conversion) -> Value:
    low, high = (_bound(c.attrs[one], c.x.dtype) for one in ("a_min", "a_max"))
    return w.binary("minimum", w.binary("maximum", c.x, w.number(low, c.x.dtype)), w.number(high, c.x.dtype))


def _bound(value: float, dtype: str):
    if is_float(dtype):
        return value
    limits = np.iinfo(dtype)
    return int(min(max(value, limits.min), limits.max))


def relu(w: Writer, c: Conversion) -> Value:
    return w.binary("maximum", c.x, w.number(0, c.x.dtype))


def leaky_relu(w: Writer, c: Conversion) -> Value:
    scaled = w.binary("multiply", c.x, w.number(c.attrs["alpha"], c.x.dtype))
    return w.select(w.compare("GT", c.x, w.number(0, c.x.dtype)), c.x, scaled)


def where(w: Writer, c: Conversion) -> Value:
    condition = c.x
    if condition.dtype != "bool":
        condition = w.compare("NE", condition, w.number(0, condition.dtype))
    return w.select(condition, c.inputs[1], c.inputs[2])


def is_nan(w: Writer, c: Conversion) -> Value:
    return w.compare("NE", c.x, c.x)


def is_finite(w: Writer, c: Conversion) -> Value:
    return w.emit("is_finite", [c.x], c.x.shape, "bool")


def is_inf(w: Writer, c: Conversion) -> Value:
    return w.compare("EQ", w.unary("abs", c.x), w.number(math.inf, c.x.dtype))


def log_base(base: float):
    def convert(w: Writer, c: Conversion) -> Value:
        return w.binary("multiply", w.unary("log", c.x), w.number(1 / math.log(base), c.x.dtype))

    return convert


def softplus(w: Writer, c: Conversion) -> Value:
    """Returns log(1 + exp(beta x)) / beta as the sum of max(x, 0) and a small part, which does not overflow."""
    beta = float(c.attrs.get("beta", 1.0))
    x = w.binary("multiply", c.x, w.number(beta, c.x.dtype))
    small = w.unary("log_plus_one", w.unary("exponential", w.unary("negate", w.unary("abs", x))))
    total = w.binary("add", w.binary("maximum", x, w.number(0, x.dtype)), small)
    return w.binary("divide", total, w.number(beta, x.dtype))


def gelu(w: Writer, c: Conversion) -> Value:
    """Returns x / 2 erfc(-x / sqrt(2)), in which no digits cancel."""
    x, dtype = c.x, c.x.dtype
    found = w.unary("chlo.erfc", w.binary("multiply", x, w.number(-math.sqrt(0.5), dtype)))
    return w.binary("multiply", w.binary("multiply", x, w.number(0.5, dtype)), found)


def shift(name: str):
    def convert(w: Writer, c: Conversion) -> Value:
        kind = name
        if name == "right":
            kind = "right_logical" if c.x.dtype.startswith("u") else "right_arithmetic"
        return w.binary(f"shift_{kind}", c.x, c.inputs[1])

    return convert


def filled(value: float):
    return lambda w, c: w.broadcast(w.number(value, c.dtype), c.shape)


def full(w: Writer, c: Conversion) -> Value:
    source = c.inputs[-1]
    return w.broadcast(w.convert(w.reshape(source, ()), c.dtype), c.shape)
