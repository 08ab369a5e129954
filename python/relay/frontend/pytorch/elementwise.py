"""Elementwise operators, with PyTorch's type promotion."""

from __future__ import annotations

import torch

from ... import op
from ..shared import functions
from .conversion import IN_EVALUATION, Conversion, Refused, cast, dtype_name, exact_type, number


def unary(function):
    """Computes in the element type of the result."""
    return lambda c: function(c.as_("self"))


def test_of_floats(function, of_integers: bool):
    """Imports isnan and its relatives, which are constant for integers."""

    def convert(c):
        if c.val("self").dtype.is_floating_point:
            return function(c("self"))
        return op.full(number(of_integers, "bool"), shape=c.out_shape)

    return convert


def same_if_integer(function):
    """Imports a rounding, which leaves integers unchanged."""
    return lambda c: function(c("self")) if c.val("self").dtype.is_floating_point else c("self")


def binary(function, of_bool=None):
    """Computes in the element type of the result. Bools have a function of their own."""

    def convert(c):
        chosen = of_bool if of_bool is not None and c.dtype == "bool" else function
        return chosen(c.as_("self"), c.as_("other"))

    return convert


def scaled(function, of_bool=None):
    """Multiplies or divides. By a number or a tensor without axes, PyTorch does so in float32 for halves, without
    rounding the number first: 1e5 is infinite as float16."""

    def convert(c):
        if of_bool is not None and c.dtype == "bool":
            return of_bool(c.as_("self"), c.as_("other"))
        other = c.val("other")
        by_number = not isinstance(other, torch.Tensor) or other.dim() == 0
        dtype = exact_type(c.dtype) if by_number else c.dtype
        return cast(function(c.as_("self", dtype), c.as_("other", dtype)), dtype, c.dtype)

    return convert


def compare(function):
    """Computes in the common type of both operands."""

    def convert(c):
        dtype = c.common_dtype("self", "other")
        return function(c.as_("self", dtype), c.as_("other", dtype))

    return convert


def logical(function):
    """Accepts any elements; nonzero counts as true."""
    return lambda c: function(c.as_("self", "bool"), c.as_("other", "bool"))


def logical_not(c: Conversion):
    return op.logical_not(c.as_("self", "bool"))


def bitwise_not(c: Conversion):
    return op.logical_not(c("self")) if c.dtype == "bool" else op.bitwise_not(c("self"))


def round_decimals(c: Conversion):
    x, decimals = c("self"), c("decimals")
    scale = number(10.0 ** abs(decimals), c.dtype)
    up, down = (op.multiply, op.divide) if decimals >= 0 else (op.divide, op.multiply)
    return down(op.round(up(x, scale)), scale) if decimals else op.round(x)


def atan2(c: Conversion):
    return functions.atan2(c.as_("self"), c.as_("other"))


def signbit(c: Conversion):
    dtype = dtype_name(c.val("self").dtype)
    floats = c.val("self").dtype.is_floating_point
    return functions.is_negative(c("self")) if floats else op.less(c.as_("self", dtype), number(0, dtype))


def copysign(c: Conversion):
    size = op.abs(c.as_("self"))
    return op.where(functions.is_negative(c.as_("other")), op.negative(size), size)


def without_nan(function):
    """Imports fmax and fmin, which return the number if one operand is NaN."""

    def convert(c):
        a, b = c.as_("self"), c.as_("other")
        if c.dtype == "bool":
            return (op.logical_or if function is op.maximum else op.logical_and)(a, b)
        if not c.dtype.startswith(("float", "bfloat")):
            return function(a, b)
        return op.where(op.isnan(a), b, op.where(op.isnan(b), a, function(a, b)))

    return convert


def hypot(c: Conversion):
    return functions.hypotenuse(c.as_("self"), c.as_("other"))


def exp2(c: Conversion):
    return op.power(number(2, c.dtype), c.as_("self"))


def ldexp(c: Conversion):
    return op.multiply(c.as_("self"), op.power(number(2, c.dtype), c.as_("other")))


def _scaled_sum(c: Conversion, function, first: str, second: str):
    """Computes function(first, alpha * second), which is rounded once."""
    if c("alpha") == 1:
        return function(c.as_(first), c.as_(second))
    dtype = exact_type(c.dtype)
    alpha = cast(number(c("alpha"), c.dtype), c.dtype, dtype)
    return cast(function(c.as_(first, dtype), op.multiply(c.as_(second, dtype), alpha)), dtype, c.dtype)


def add(c: Conversion):
    if c.dtype == "bool":
        return op.logical_or(c.as_("self"), c.as_("other")) if c("alpha") else c.as_("self")
    return _scaled_sum(c, op.add, "self", "other")


def sub(c: Conversion):
    return _scaled_sum(c, op.subtract, "self", "other")


def rsub(c: Conversion):
    return _scaled_sum(c, op.subtract, "other", "self")


def div_mode(c: Conversion):
    function = {None: op.divide, "floor": op.floor_divide, "trunc": op.trunc_divide}[c("rounding_mode")]
    return scaled(function)(c)


def pow(c: Conversion):
    exponent = c.val("exponent")
    exponent = exponent if isinstance(exponent, (int, float)) else None
    if exponent == 2:
        base = c.as_("self")
        return op.multiply(base, base)
    if exponent in (0.5, -0.5):  # a function of its own in PyTorch too, with other results for -0 and -inf
        return (op.sqrt if exponent > 0 else op.rsqrt)(c.as_("self"))
    return op.power(c.as_("self"), c.as_("exponent"))


def sign(c: Conversion):
    """Returns 0 for NaN."""
    x = c("self")
    if not c.val("self").dtype.is_floating_point:
        return op.sign(x)
    return op.where(op.isnan(x), number(0, c.dtype), op.sign(x))


def reciprocal(c: Conversion):
    return op.divide(number(1, c.dtype), c.as_("self"))


def clamp(c: Conversion):
    result = c.as_("self")
    if c.has("min"):
        result = op.maximum(result, c.as_("min"))
    return op.minimum(result, c.as_("max")) if c.has("max") else result


def hardtanh(c: Conversion):
    low, high = number(c("min_val"), c.dtype), number(c("max_val"), c.dtype)
    return op.minimum(op.maximum(c("self"), low), high)


def relu6(c: Conversion):
    return op.minimum(op.maximum(c("self"), number(0, c.dtype)), number(6, c.dtype))


def _exact(curve):
    """Makes a converter of a function of the conversion, its data and their type; half precisions become float32."""

    def convert(c: Conversion):
        dtype = exact_type(c.dtype)
        return cast(curve(c, c.as_("self", dtype), dtype), dtype, c.dtype)

    return convert


@_exact
def leaky_relu(c: Conversion, x, dtype: str):
    return op.nn.leaky_relu(x, alpha=float(c("negative_slope")))


@_exact
def elu(c: Conversion, x, dtype: str):
    alpha, scale, inner = (float(c(name)) for name in ("alpha", "scale", "input_scale"))
    below = op.expm1(op.multiply(op.minimum(x, number(0, dtype)), number(inner, dtype)))
    return op.where(
        op.greater(x, number(0, dtype)),
        op.multiply(x, number(scale, dtype)),
        op.multiply(below, number(alpha * scale, dtype)),
    )


@_exact
def silu(c: Conversion, x, dtype: str):
    return op.multiply(x, op.sigmoid(x))


def _sixth(x, dtype):
    shifted = op.add(x, number(3, dtype))
    return op.divide(op.minimum(op.maximum(shifted, number(0, dtype)), number(6, dtype)), number(6, dtype))


@_exact
def hardsigmoid(c: Conversion, x, dtype: str):
    return _sixth(x, dtype)


@_exact
def hardswish(c: Conversion, x, dtype: str):
    return op.multiply(x, _sixth(x, dtype))


@_exact
def gelu(c: Conversion, x, dtype: str):
    return op.nn.gelu(x) if c("approximate") == "none" else functions.gelu_of_tanh(x)


def where(c: Conversion):
    return op.where(c.as_("condition", "bool"), c.as_("self"), c.as_("other"))


def masked_fill(c: Conversion):
    return op.where(c("mask"), c.as_("value"), c.as_("self"))


def to_dtype(c: Conversion):
    return c.as_("self")


def convert_element_type(c: Conversion):
    """Imports prims.convert_element_type."""
    return c.as_("a")


def fma(c: Conversion):
    """Imports prims.fma: a b + c."""
    return op.add(op.multiply(c.as_("a"), c.as_("b")), c.as_("c"))


def same(c: Conversion):
    """Imports operators that only copy, or concern memory."""
    name = "self" if "self" in c._raw else "input"
    return cast(c(name), dtype_name(c.val(name).dtype), c.dtype)


def dropout(c: Conversion):
    if c("train"):
        raise Refused("dropout is exported in training mode: call module.eval() before the export", help=IN_EVALUATION)
    return c("input")


def native_dropout(c: Conversion):
    if c("train") is not False:
        raise Refused("dropout is exported in training mode: call module.eval() before the export", help=IN_EVALUATION)
    return [c("input"), op.full(number(True, "bool"), shape=c.out_shape)]


def shift(function):
    """Shifts integers. PyTorch multiplies floats by powers of two."""

    def convert(c: Conversion):
        if not c.dtype.lstrip("u").startswith("int"):
            raise Refused("a shift of numbers that are not integers")
        return function(c.as_("self"), c.as_("other"))

    return convert
