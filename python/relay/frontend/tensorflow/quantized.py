"""Operators on quantised tensors: integers, with the numbers that the least and the largest integer stand for.

The numbers are tensors of the graph, in two inputs and results of each operator. They may be known at run time only.
Sums are exact, in int32. Scales are computed in float64, as TensorFlow's kernels do.
"""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, dtype_of, shape_of
from ..shared.functions import away_from_zero
from ..shared.problems import Refused
from ..shared.values import number
from . import windows
from .conversion import Conversion


def _limits(dtype: str) -> tuple[int, int]:
    if dtype not in ("uint8", "int8", "uint16", "int16", "int32"):
        raise Refused(f"its elements are {dtype}, not quantised")
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _real(value) -> Expr:
    return number(value, "float64") if isinstance(value, (int, float)) else cast(value, "float64")


def _scale(low: Expr, high: Expr, dtype: str) -> Expr:
    """Returns the integers that one unit of the real range has."""
    least, most = _limits(dtype)
    steps = most - least + 1
    return op.divide(_real(steps - 1), op.subtract(high, low))


def _integers(x: Expr, low: Expr, high: Expr, dtype: str, is_clipped: bool = True) -> Expr:
    """Returns numbers as integers, float64, of the range from `low` to `high`. All are 0 in an empty range."""
    least, most = _limits(dtype)
    scale = _scale(low, high, dtype)
    made = op.add(
        op.subtract(away_from_zero(op.multiply(x, scale)), away_from_zero(op.multiply(low, scale))), _real(least)
    )
    if is_clipped:
        made = op.minimum(op.maximum(made, _real(least)), _real(most))
    return op.where(op.equal(low, high), _real(0), made)


def _numbers(x: Expr, low: Expr, high: Expr) -> Expr:
    """Returns integers as the numbers that they stand for, float64."""
    dtype = dtype_of(x)
    least, _ = _limits(dtype)
    step = op.divide(_real(1), _scale(low, high, dtype))
    begin = op.multiply(away_from_zero(op.divide(low, step)), step)
    made = op.add(begin, op.multiply(op.subtract(_real(x), _real(least)), step))
    return op.where(op.equal(low, high), low, made)


def _range(c: Conversion, place: int) -> tuple[Expr, Expr]:
    """Returns the numbers of the least and the largest integer, which are the inputs `place` and the next one."""
    found = []
    for at in (place, place + 1):
        one = c.expr(at)
        if any(size != 1 for size in shape_of(one)):
            raise Refused("it has a range for each channel", "quantise the model with one range for each tensor")
        found.append(op.reshape(_real(one), newshape=[]))
    return found[0], found[1]


def _results(x: Expr, dtype: str, low: Expr, high: Expr) -> list[Expr]:
    return [cast(x, dtype), cast(low, "float32"), cast(high, "float32")]


# --- from numbers to integers, and back -------------------------------------------------------------------------------
def _check_axis(c: Conversion) -> None:
    if c("axis", -1) != -1:
        raise Refused("it has a range for each channel", "quantise the model with one range for each tensor")


def quantize(c: Conversion):
    """QuantizeV2(input, least, largest)."""
    _check_axis(c)
    dtype, mode = c("T"), c.text("mode", "MIN_COMBINED")
    least, most = _limits(dtype)
    x, (low, high) = _real(c.x), _range(c, 1)
    largest = op.maximum(_real(1), op.maximum(op.abs(low), op.abs(high)))
    around = op.multiply(largest, _real(c("ensure_minimum_range", 0.01)))
    low = op.minimum(_real(0), low)
    high = op.maximum(_real(0), op.maximum(high, op.add(low, around)))
    if mode == "MIN_FIRST":
        return _results(_integers(x, low, high, dtype), dtype, low, high)
    if mode == "MIN_COMBINED":
        half = (most - least + 1) // 2 if least else 0
        clipped = op.subtract(op.minimum(op.maximum(x, low), high), low)
        made = away_from_zero(op.subtract(op.multiply(clipped, _scale(low, high, dtype)), _real(half)))
        return _results(made, dtype, low, high)
    if mode != "SCALED":
        raise Refused(f"its mode is {mode!r}", "use MIN_COMBINED, MIN_FIRST or SCALED")
    least += 1 if c("narrow_range", False) else 0
    scale = op.divide(_real(most), high)
    if least < 0:
        scale = op.minimum(op.where(op.less(low, _real(0)), op.divide(_real(least), low), _real(1e300)),
                           op.where(op.greater(high, _real(0)), scale, _real(1e300)))  # fmt: skip
    low, high = op.divide(_real(least), scale), op.divide(_real(most), scale)
    exact = op.multiply(op.minimum(op.maximum(x, low), high), scale)
    is_even = c.text("round_mode", "HALF_AWAY_FROM_ZERO") == "HALF_TO_EVEN"
    return _results(op.round(exact) if is_even else away_from_zero(exact), dtype, low, high)


def dequantize(c: Conversion):
    """Dequantize(input, least, largest)."""
    _check_axis(c)
    mode, x, (low, high) = c.text("mode", "MIN_COMBINED"), c.x, _range(c, 1)
    least, most = _limits(dtype_of(x))
    if mode == "MIN_FIRST":
        made = _numbers(x, low, high)
    elif mode == "MIN_COMBINED":
        half = (most - least + 1) // 2 if least else 0
        step = op.divide(op.subtract(high, low), _real(most - least))
        made = op.add(op.multiply(op.add(_real(x), _real(half)), step), low)
    elif mode == "SCALED":
        least += 1 if c("narrow_range", False) else 0
        step = op.divide(high, _real(most))
        if least < 0:
            step = op.maximum(op.divide(low, _real(least)), step)
        made = op.multiply(_real(x), step)
    else:
        raise Refused(f"its mode is {mode!r}", "use MIN_COMBINED, MIN_FIRST or SCALED")
    return cast(made, c("dtype", "float32"))


def requantize(c: Conversion):
    """Requantize(input, its range, the range of the result)."""
    low, high = _range(c, 3)
    dtype = c("out_type", "uint8")
    return _results(_integers(_numbers(c.x, *_range(c, 1)), low, high, dtype), dtype, low, high)


def _used_range(c: Conversion) -> tuple[Expr, Expr]:
    """Returns the numbers of the least and the largest element of the input; the least is at most 0."""
    low, high = _range(c, 1)
    least, most = _numbers(op.min(c.x), low, high), _numbers(op.max(c.x), low, high)
    return op.minimum(_real(0), least), most


def used_range(c: Conversion):
    """RequantizationRange(input, its range)."""
    return [cast(one, "float32") for one in _used_range(c)]


def shrunk(c: Conversion):
    """QuantizeDownAndShrinkRange(input, its range): the range becomes that of the elements."""
    low, high = (_real(cast(one, "float32")) for one in _used_range(c))
    dtype = c("out_type", "uint8")
    return _results(_integers(_numbers(c.x, *_range(c, 1)), low, high, dtype), dtype, low, high)


# --- products ---------------------------------------------------------------------------------------------------------
def _centred(x: Expr, low: Expr, high: Expr) -> Expr:
    """Returns integers less the one that stands for zero, int32."""
    zero = _integers(_real(0), low, high, dtype_of(x), is_clipped=False)
    return op.subtract(cast(x, "int32"), cast(zero, "int32"))


def _level(low: Expr, high: Expr, dtype: str) -> Expr:
    least, most = _limits(dtype)
    return op.divide(op.subtract(high, low), _real(most - least))


def _of_product(c: Conversion, made: Expr, first: tuple, second: tuple) -> list[Expr]:
    """Returns a product in int32 with the range that it has."""
    level = op.multiply(_level(*first, c.dtype(0)), _level(*second, c.dtype(1)))
    low, high = _limits("int32")
    return [made, cast(op.multiply(level, _real(low)), "float32"), cast(op.multiply(level, _real(high)), "float32")]


def convolution(c: Conversion):
    """QuantizedConv2D(input, filter, the range of each)."""
    first, second = _range(c, 2), _range(c, 4)
    made = windows.convolved(c, 2, _centred(c.x, *first), _centred(c.expr(1), *second))
    return _of_product(c, made, first, second)


def matmul(c: Conversion):
    """QuantizedMatMul(a, b, the range of each)."""
    first, second = _range(c, 2), _range(c, 4)
    a, b = _centred(c.x, *first), _centred(c.expr(1), *second)
    a = op.transpose(a) if c("transpose_a", False) else a
    b = op.transpose(b) if c("transpose_b", False) else b
    return _of_product(c, op.nn.matmul(a, b), first, second)


def product(c: Conversion):
    """QuantizedMul(x, y, the range of each)."""
    first, second = _range(c, 2), _range(c, 4)
    return _of_product(c, op.multiply(_centred(c.x, *first), _centred(c.expr(1), *second)), first, second)


def added(bits: int):
    """Returns the converter of QuantizedAdd or QuantizedBiasAdd(x, y, the range of each). The range of the sum is
    2^bits times as wide as the wider one of both."""

    def convert(c: Conversion):
        first, second = _range(c, 2), _range(c, 4)
        largest = op.maximum(op.maximum(first[1], op.negative(first[0])),
                             op.maximum(second[1], op.negative(second[0])))  # fmt: skip
        high = _real(cast(op.multiply(largest, _real(1 << bits)), "float32"))
        low = op.negative(high)
        x, y = (
            cast(_integers(_numbers(c.expr(place), *range_), low, high, "int32"), "int32")
            for place, range_ in ((0, first), (1, second))
        )
        return [op.add(x, y), cast(low, "float32"), cast(high, "float32")]

    return convert


# --- others -----------------------------------------------------------------------------------------------------------
def _passed(c: Conversion, made: Expr, place: int = 1) -> list:
    return [made, c.value(place), c.value(place + 1)]


def relu(most: float | None):
    """Returns the converter of QuantizedRelu, or of QuantizedRelu6 with its upper bound."""

    def convert(c: Conversion):
        dtype, range_ = c.dtype(0), _range(c, 1)
        made = op.maximum(c.x, cast(_integers(_real(0), *range_, dtype), dtype))
        if most is not None:
            made = op.minimum(made, cast(_integers(_real(most), *range_, dtype), dtype))
        return _passed(c, made)

    return convert


def max_pool(c: Conversion):
    """QuantizedMaxPool(input, its range)."""
    return _passed(c, windows.pool("max", 2)(c))


def average_pool(c: Conversion):
    """QuantizedAvgPool(input, its range): means are rounded, halves up."""
    dtype = c.dtype(0)
    c.inputs = [cast(c.x, "float32"), *c.inputs[1:]]
    mean = windows.pool("avg", 2)(c)
    return _passed(c, cast(op.floor(op.add(mean, number(0.5 + 1e-4, "float32"))), dtype))


def reshape(c: Conversion):
    """QuantizedReshape(tensor, shape, its range)."""
    return _passed(c, op.reshape(c.x, newshape=c.sizes(1)), 2)


def concat(c: Conversion):
    """QuantizedConcat(axis, values, least numbers, largest numbers): all in the range of the widest."""
    count = (len(c.inputs) - 1) // 3
    if count < 1 or len(c.inputs) != 3 * count + 1:
        raise Refused(f"it has {len(c.inputs)} inputs, not an axis and three for each value")
    values = c.exprs(1, count + 1)
    ranges = [tuple(op.reshape(_real(c.expr(1 + at + part * count)), newshape=[]) for part in (1, 2))
              for at in range(count)]  # fmt: skip
    low, high = ranges[0]
    for one, other in ranges[1:]:
        low, high = op.minimum(low, one), op.maximum(high, other)
    dtype = dtype_of(values[0])
    if _limits(dtype)[0] < 0:
        high = op.maximum(op.abs(low), op.abs(high))
        low = op.negative(high)
    made = [cast(_integers(_numbers(one, *own), low, high, dtype), dtype)
            for one, own in zip(values, ranges, strict=True)]  # fmt: skip
    axis = c.axis(0, len(shape_of(values[0])))
    return [op.concatenate(made, axis=axis), cast(low, "float32"), cast(high, "float32")]


CONVERTERS = {
    "QuantizeV2": quantize, "Dequantize": dequantize, "Requantize": requantize, "RequantizationRange": used_range,
    "QuantizeDownAndShrinkRange": shrunk, "QuantizedConv2D": convolution, "QuantizedMatMul": matmul,
    "QuantizedMul": product, "QuantizedAdd": added(14), "QuantizedBiasAdd": added(17), "QuantizedRelu": relu(None),
    "QuantizedRelu6": relu(6.0), "QuantizedMaxPool": max_pool, "QuantizedAvgPool": average_pool,
    "QuantizedReshape": reshape, "QuantizedConcat": concat,
}  # fmt: skip
