"""Quantised models of PaddlePaddle: scales around operators in floats (QDQ), and the older fake_quantize operators."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared import functions
from ..shared.expressions import dtype_of, shape_of
from ..shared.problems import Refused
from .conversion import Operator


def _most(c: Operator, name: str = "bit_length") -> float:
    """Returns the largest of the symmetric integers: 127 for 8 bits."""
    bits = c.count(name, 8, 1, 16)
    return float((1 << (bits - 1)) - 1)


def _along(c: Operator, scale: Expr, rank: int, axis: int) -> Expr:
    """Returns scales of channels in the shape in which they are broadcast."""
    sizes = shape_of(scale)
    if len(sizes) == 1 and sizes[0] != 1:
        return op.reshape(scale, newshape=[-1 if at == axis else 1 for at in range(rank)])
    return op.reshape(scale, newshape=[])


def _quantised(c: Operator, x: Expr, scale: Expr, most: float) -> Expr:
    """Returns integers, still as floats: halves to even from -most - 1 on, or away from zero from -most on."""
    if c.int("round_type", 1) == 0:
        return op.clip(op.round(op.divide(op.multiply(x, c.number(most)), scale)), -most - 1, most)
    clipped = op.maximum(op.minimum(x, scale), op.negative(scale))
    return functions.away_from_zero(op.multiply(op.divide(clipped, scale), c.number(most)))


def quantize_linear(c: Operator):
    """x / scale * 127, rounded to even and saturated."""
    c.ignore("is_test", "only_observer")
    low, high = c.int("qmin", -128), c.int("qmax", 127)
    most, axis = _most(c), c.int("quant_axis", -1)
    c.int("round_type", 0)
    scale = _along(c, c["Scale"], c.rank, axis % c.rank)
    integers = op.round(op.multiply(op.divide(c.x, scale), c.number(most)))
    integers = op.clip(integers, float(max(low, -most - 1)), float(min(high, most)))
    return {"Y": integers, "OutScale": c["Scale"]}


def dequantize_linear(c: Operator):
    """x * scale / 127. Weights in integers become floats at import."""
    c.ignore("is_test", "only_observer", "round_type", "qmin", "qmax")
    most, axis = _most(c), c.int("quant_axis", -1)
    scale = c["Scale"]
    x = op.cast(c.x, dtype_of(scale)) if dtype_of(c.x) != dtype_of(scale) else c.x
    made = op.multiply(x, op.divide(_along(c, scale, c.rank, axis % c.rank), c.number(most, dtype_of(scale))))
    return {"Y": made}


def fake_moving(is_back: bool):
    """Returns the converter of a quantisation with a stored scale; is_back: and back to floats."""

    def convert(c: Operator):
        c.ignore("moving_rate", "is_test", "window_size")
        scale, most = op.reshape(c["InScale"], newshape=[]), _most(c)
        made = _quantised(c, c.x, scale, most)
        if is_back:
            made = op.divide(op.multiply(made, scale), c.number(most))
        return {"Out": made, "OutScale": c["InScale"]}

    return convert


def fake_of_data(is_back: bool, by_channel: bool = False):
    """Returns the converter of a quantisation by the largest value of the data themselves, or of each channel."""

    def convert(c: Operator):
        c.ignore("is_test")
        axis, most = c.int("quant_axis", 0) if by_channel else 0, _most(c)
        axes = [at for at in range(c.rank) if not by_channel or at != axis]
        largest = op.max(op.abs(c.x), axis=axes, keepdims=by_channel)
        scale = op.maximum(largest, c.number(1e-30))
        made = _quantised(c, c.x, scale, most)
        if is_back:
            made = op.divide(op.multiply(made, scale), c.number(most))
        out = op.reshape(largest, newshape=[-1] if by_channel else [1])
        return {"Out": made, "OutScale": out}

    return convert


def fake_dequantize(c: Operator):
    return op.divide(op.multiply(c.x, op.reshape(c["Scale"], newshape=[])), c.number(c.real("max_range")))


def fake_dequantize_channels(c: Operator):
    """By one scale for each channel, and perhaps one more for all."""
    bits, axis = c.ints("quant_bits", [8]), c.int("quant_axis", 0)
    c.ignore("x_num_col_dims")
    scales, made = c.every("Scales"), c.x
    if len(scales) > len(bits):
        raise Refused(f"it has {len(scales)} scales and {len(bits)} numbers of bits")
    for place, (scale, count) in enumerate(zip(scales, bits, strict=False)):
        most = float((1 << (count - 1)) - 1)
        shape = _along(c, scale, c.rank, axis) if place == 0 else op.reshape(scale, newshape=[])
        made = op.divide(op.multiply(made, shape), c.number(most))
    return made


def observed(c: Operator):
    """Notes the range of the data in training."""
    c.ignore("moving_rate", "is_test")
    return {"Out": c.x, "OutScale": c.constant(np.ones(1), "float32")}
