"""Rules for relay.transform.Legalize that express operators on quantised tensors by other operators.

    mod = relay.transform.Legalize(relay.transform.qnn_rules.RULES)(mod)

Sums of products are computed from int32 numbers with the zero points subtracted. Elementwise operators are computed
from the dequantised numbers in float32 and rounded at the end. qnn.requantize, whose arithmetic is on integers, stays
unchanged.
"""

from __future__ import annotations

import numpy as np

from .._core import Call, Expr, TensorType
from ..ir.expr import const
from ..op.make import named_op

__all__ = ["RULES"]

_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1)}


def _attrs(call: Call) -> dict:
    return {name: call.attrs[name] for name in call.attrs.keys()} if call.attrs is not None else {}


def _along(vector: Expr, axis: int, rank: int) -> Expr:
    """Returns a vector or scalar in a shape that broadcasts along an axis."""
    type_ = vector.checked_type
    if not isinstance(type_, TensorType) or len(type_.shape) == 0 or int(type_.shape[0]) == 1:
        return named_op("reshape")(vector, newshape=[]) if len(type_.shape) else vector
    shape = [1] * rank
    shape[axis % rank] = -1
    return named_op("reshape")(vector, newshape=shape)


def _dequantized(data: Expr, scale: Expr, zero: Expr, axis: int) -> Expr:
    rank = len(data.checked_type.shape)
    wide = named_op("subtract")(named_op("cast")(data, "int32"), _along(zero, axis, rank))
    return named_op("multiply")(named_op("cast")(wide, "float32"), _along(scale, axis, rank))


def _quantized(data: Expr, scale: Expr, zero: Expr, axis: int, rank: int, dtype: str) -> Expr:
    low, high = _RANGES[dtype]
    scaled = named_op("round")(named_op("divide")(data, _along(scale, axis, rank)))
    moved = named_op("add")(scaled, named_op("cast")(_along(zero, axis, rank), "float32"))
    return named_op("cast")(named_op("clip")(moved, a_min=low, a_max=high), dtype)


def _quantize(call: Call) -> Expr | None:
    data, scale, zero = call.args
    dtype = call.checked_type.dtype
    if dtype not in ("int8", "uint8", "int16"):  # float32 cannot represent all int32 numbers
        return None
    return _quantized(data, scale, zero, call.attrs.axis, len(data.checked_type.shape), dtype)


def _dequantize(call: Call) -> Expr | None:
    data, scale, zero = call.args
    if call.checked_type.dtype != "float32" or data.checked_type.dtype == "int32":
        return None
    return _dequantized(data, scale, zero, call.attrs.axis)


def _without_zero(data: Expr, zero: Expr, axis: int) -> Expr:
    return named_op("subtract")(named_op("cast")(data, "int32"), _along(zero, axis, len(data.checked_type.shape)))


def _contraction(name: str, weight_axis):
    """Returns the rule of an operator on integers without zero points. weight_axis(attributes) is the axis of the
    weight's output channels."""

    def rule(call: Call) -> Expr | None:
        data, weight, _, data_zero, _, weight_zero = call.args
        if call.checked_type.dtype != "int32":
            return None
        attrs = _attrs(call)
        operands = _without_zero(data, data_zero, 0), _without_zero(weight, weight_zero, weight_axis(attrs))
        return named_op(name)(*operands, **{**attrs, "out_dtype": "int32"})

    return rule


def _binary(name: str):
    def rule(call: Call) -> Expr | None:
        left, right, *scales, out_scale, out_zero = call.args
        rank, dtype = len(call.checked_type.shape), call.checked_type.dtype
        if dtype not in ("int8", "uint8"):
            return None
        axes = call.attrs.lhs_axis, call.attrs.rhs_axis
        operands = _dequantized(left, *scales[:2], axes[0]), _dequantized(right, *scales[2:], axes[1])
        return _quantized(named_op(name)(*operands), out_scale, out_zero, -1, rank, dtype)

    return rule


def _unary(compute):
    def rule(call: Call) -> Expr | None:
        data, scale, zero, out_scale, out_zero = call.args
        rank, dtype = len(call.checked_type.shape), call.checked_type.dtype
        if dtype not in ("int8", "uint8"):
            return None
        value = compute(_dequantized(data, scale, zero, -1))
        return _quantized(value, out_scale, out_zero, -1, rank, dtype)

    return rule


def _hardswish(x: Expr) -> Expr:
    gate = named_op("clip")(named_op("add")(x, const(np.float32(3))), a_min=0.0, a_max=6.0)
    return named_op("multiply")(x, named_op("multiply")(gate, const(np.float32(1 / 6))))


RULES = {
    "qnn.add": _binary("add"),
    "qnn.batch_matmul": _contraction("nn.batch_matmul", lambda attrs: 0),
    "qnn.conv2d": _contraction("nn.conv2d", lambda attrs: attrs["kernel_layout"].index("O")),
    "qnn.conv2d_transpose": _contraction("nn.conv2d_transpose", lambda attrs: attrs["kernel_layout"].index("O")),
    "qnn.dense": _contraction("nn.dense", lambda attrs: 0),
    "qnn.dequantize": _dequantize,
    "qnn.hardswish": _unary(_hardswish),
    "qnn.mul": _binary("multiply"),
    "qnn.quantize": _quantize,
    "qnn.subtract": _binary("subtract"),
} | {
    f"qnn.{name}": _unary(lambda x, name=name: named_op(name)(x))
    for name in ("abs", "erf", "exp", "log", "rsqrt", "sigmoid", "sqrt", "tanh")
}
