"""Converters of operations on single elements."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from ..shared import functions
from ..shared.expressions import cast, dtype_of, is_float
from ..shared.problems import Refused
from .attributes import numpy_dtype
from .conversion import Conversion, number

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


def unary(name: str):
    function = getattr(op, name)

    def convert(c: Conversion) -> Expr:
        c.expect_inputs(1)
        return function(c.x)

    return convert


def binary(name: str, on_bools: str | None = None):
    """Returns the converter to an operator; `on_bools` is that for bool: StableHLO defines their sum as or."""
    function, other = getattr(op, name), getattr(op, on_bools) if on_bools else None

    def convert(c: Conversion) -> Expr:
        c.expect_inputs(2)
        if c.dtype() == "bool" and other is None:
            raise Refused("its operands are booleans")
        return (other if c.dtype() == "bool" else function)(c.x, c.input(1))

    return convert


def divide(c: Conversion) -> Expr:
    c.expect_inputs(2)
    return (op.divide if is_float(c.dtype()) else op.trunc_divide)(c.x, c.input(1))


def remainder(c: Conversion) -> Expr:
    c.expect_inputs(2)
    return op.trunc_mod(c.x, c.input(1))


def not_(c: Conversion) -> Expr:
    c.expect_inputs(1)
    return (op.logical_not if c.dtype() == "bool" else op.bitwise_not)(c.x)


_COMPARED = {
    "EQ": op.equal, "NE": op.not_equal, "LT": op.less, "LE": op.less_equal, "GT": op.greater, "GE": op.greater_equal
}  # fmt: skip


def compare(c: Conversion) -> Expr:
    c.expect_inputs(2)
    direction, kind = comparison(c.operation)
    if direction not in _COMPARED:
        raise Refused(f"the direction {direction!r} is unknown", "correct the text")
    a, b = c.x, c.input(1)
    if kind == "TOTALORDER" and is_float(c.dtype()):
        a, b = in_total_order(a), in_total_order(b)
    elif c.dtype() == "bool" and direction not in ("EQ", "NE"):
        a, b = op.cast(a, "int8"), op.cast(b, "int8")
    return _COMPARED[direction](a, b)


def comparison(operation) -> tuple[str | None, str | None]:
    """Returns the direction and the kind of a comparison: ("LT", "FLOAT")."""
    words = [*operation.words, None, None]
    return (
        operation.attrs.get("comparison_direction", words[0]),
        operation.attrs.get("compare_type", words[1]),
    )


def in_total_order(value: Expr) -> Expr:
    """Returns integers that order floats from -NaN over -inf, -0, +0 and inf to NaN."""
    dtype = dtype_of(value)
    bits = numpy_dtype(dtype).itemsize * 8
    whole = op.reinterpret(value, f"int{bits}")
    greatest = number((1 << (bits - 1)) - 1, f"int{bits}")
    return op.where(op.less(whole, number(0, f"int{bits}")), op.bitwise_xor(whole, greatest), whole)


def select(c: Conversion) -> Expr:
    c.expect_inputs(3)
    return op.where(*c.inputs)


def clamp(c: Conversion) -> Expr:
    c.expect_inputs(3)
    low, x, high = c.inputs
    return op.minimum(op.maximum(x, low), high)


def convert(c: Conversion) -> Expr:
    c.expect_inputs(1)
    return cast(c.x, c.result().dtype)


def bitcast_convert(c: Conversion) -> Expr:
    wanted = c.result().dtype
    if numpy_dtype(c.dtype()).itemsize != numpy_dtype(wanted).itemsize:
        raise Refused(f"{c.dtype()} and {wanted} differ in width", "use types of one width")
    return c.x if c.dtype() == wanted else op.reinterpret(c.x, wanted)


def same(c: Conversion) -> list[Expr]:
    return list(c.inputs)


def shift(name: str):
    """Returns the converter of a shift: by as many bits as the type has, or more, it leaves 0, or the sign."""

    def convert(c: Conversion) -> Expr:
        c.expect_inputs(2)
        x, by, dtype = c.x, c.input(1), c.dtype()
        if dtype not in _BITS:
            raise Refused(f"its operands have the type {dtype}")
        bits = _BITS[dtype]
        whole = f"uint{bits}"
        many = cast(by, whole)  # a negative number of bits is a large one
        is_inside = op.less(many, number(bits, whole))
        if name == "arithmetic":
            signed = cast(x, f"int{bits}")
            most = op.minimum(many, number(bits - 1, whole))
            return cast(op.right_shift(signed, cast(most, f"int{bits}")), dtype)
        few = op.where(is_inside, many, number(0, whole))
        shifted = (op.left_shift if name == "left" else op.right_shift)(cast(x, whole), few)
        return cast(op.where(is_inside, shifted, number(0, whole)), dtype)

    return convert


def round_away(c: Conversion) -> Expr:
    return functions.away_from_zero(c.x)


def cbrt(c: Conversion) -> Expr:
    return functions.cbrt(c.x)


def atan2(c: Conversion) -> Expr:
    c.expect_inputs(2)
    return functions.atan2(c.x, c.input(1))


def reduce_precision(c: Conversion) -> Expr:
    widths = c.int("exponent_bits", default=-1), c.int("mantissa_bits", default=-1)
    if widths == (-1, -1):
        found = [word[1:].split("m") for word in (c.attr("format", default="e0m0"),)][0]
        widths = int(found[0]), int(found[1])
    types = {(5, 10): "float16", (8, 7): "bfloat16", (8, 23): "float32", (11, 52): "float64"}
    if widths not in types:
        raise Refused(f"{widths[0]} bits of exponent and {widths[1]} of mantissa match no element type")
    narrow = types[widths]
    if numpy_dtype(narrow).itemsize >= numpy_dtype(c.dtype()).itemsize:
        return c.x
    return op.cast(op.cast(c.x, narrow), c.dtype())


def population_count(c: Conversion) -> Expr:
    """Counts the bits that are one."""
    dtype = c.dtype()
    bits = _BITS[dtype]
    whole = f"uint{bits}"
    x = cast(c.x, whole)
    total = None
    for position in range(bits):
        bit = op.bitwise_and(op.right_shift(x, number(position, whole)), number(1, whole))
        total = bit if total is None else op.add(total, bit)
    return cast(total, dtype)


def leading_zeros(c: Conversion) -> Expr:
    """Counts the zero bits above the highest one."""
    dtype = c.dtype()
    bits = _BITS[dtype]
    whole = f"uint{bits}"
    x = cast(c.x, whole)
    total = number(0, whole)
    for position in range(bits):
        is_clear = op.equal(op.right_shift(x, number(position, whole)), number(0, whole))
        total = op.add(total, op.cast(is_clear, whole))
    return cast(total, dtype)


# --- CHLO -------------------------------------------------------------------------------------------------------------
# M. Giles, Approximating the erfinv function, GPU Computing Gems (2011): w < 5, and w >= 5, highest power first.
_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
         -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
        1.00167406, 2.83297682)  # fmt: skip


def erf_inv(c: Conversion) -> Expr:
    """Returns the inverse of erf by Giles's polynomials; for float64, steps of Newton's method follow, near 1
    with the logarithm of erfc."""
    x, dtype = op.abs(c.x), c.dtype()
    w = op.negative(op.add(op.log1p(x), op.log1p(op.negative(x))))  # of 1 - x^2, whose digits would cancel
    is_near = op.less(w, number(5, dtype))
    w = op.where(is_near, op.subtract(w, number(2.5, dtype)), op.subtract(op.sqrt(w), number(3, dtype)))
    p = op.where(is_near, number(_NEAR[0], dtype), number(_FAR[0], dtype))
    for near, far in zip(_NEAR[1:], _FAR[1:], strict=True):
        p = op.add(op.where(is_near, number(near, dtype), number(far, dtype)), op.multiply(p, w))
    y = op.multiply(p, x)
    for _ in range(4 if dtype == "float64" else 0):
        slope = op.multiply(number(2 / math.sqrt(math.pi), dtype), op.exp(op.negative(op.multiply(y, y))))
        rest = op.erfc(y)
        near = op.divide(op.subtract(x, op.erf(y)), slope)
        far = op.divide(op.multiply(op.subtract(op.log(rest), op.log1p(op.negative(x))), rest), slope)
        y = op.add(y, op.where(op.greater(x, number(0.5, dtype)), far, near))
    y = op.where(op.equal(x, number(1, dtype)), number(math.inf, dtype), y)
    return op.multiply(op.sign(c.x), y)


def square(c: Conversion) -> Expr:
    return op.multiply(c.x, c.x)
