"""Quantised models (PT2E). quantize and dequantize are kept, and operators between them compute in integers.

PyTorch's reference form is quantize, dequantize, an operator on floats. A product or convolution of two dequantised
tensors becomes the qnn operator of their integers. Its sum is dequantised by the product of both scales.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from ... import op
from ..._core import Call, Constant, Expr, Op
from ...ir.expr import const
from .conversion import Conversion, Refused, dtype_name, number


@dataclasses.dataclass(frozen=True)
class Quantised:
    """A tensor of integers with its quantisation: it represents scale (integer - zero_point)."""

    integers: Expr
    scale: Expr
    zero_point: Expr
    axis: int
    per_axis: bool


def quantised(value: Expr) -> Quantised | None:
    """Returns the quantised tensor that a tensor was dequantised from."""
    if not (isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "qnn.dequantize"):
        return None
    integers, scale, zero_point = value.args
    return Quantised(integers, scale, zero_point, int(value.attrs.axis), len(scale.checked_type.shape) > 0)


def pair(data: Expr, weight: Expr, out_axis: int) -> tuple[Quantised, Quantised] | None:
    """Returns both operands if a qnn operator supports them: one scale for the data, and for the weight one scale or
    one for each output."""
    first, second = quantised(data), quantised(weight)
    if first is None or second is None or first.per_axis or (second.per_axis and second.axis != out_axis):
        return None
    if any(str(one.integers.checked_type.dtype) not in ("int8", "uint8") for one in (first, second)):
        return None
    return first, second


def parameters(first: Quantised, second: Quantised) -> list[Expr]:
    return [first.scale, first.zero_point, second.scale, second.zero_point]


def of_sum(total: Expr, first: Quantised, second: Quantised, axis: int) -> Expr:
    """Returns the floats that a sum of products of integers represents."""
    return op.qnn.dequantize(total, op.multiply(first.scale, second.scale), number(0, "int32"), axis=axis)


def _scalar(value, dtype: str) -> Expr:
    if isinstance(value, Expr):
        return op.cast(op.reshape(value, newshape=[]), dtype)
    return number(value, dtype)


def _of_tensor(c: Conversion) -> tuple[Expr, Expr, int]:
    return _scalar(c("scale"), "float32"), _scalar(c("zero_point"), "int32"), 0


def _of_axis(c: Conversion) -> tuple[Expr, Expr, int]:
    zeros = c("zero_points") if c.has("zero_points") else const(np.zeros(c.shape("scales"), "int32"))
    return op.cast(c("scales"), "float32"), op.cast(zeros, "int32"), c.axis("axis", of="input")


def quantize(parameters_of):
    def convert(c: Conversion):
        scale, zero_point, axis = parameters_of(c)
        dtype = dtype_name(c("dtype"))
        made = op.qnn.quantize(c.as_("input", "float32"), scale, zero_point, axis=axis, out_dtype=dtype)
        limits = torch.iinfo(c("dtype"))
        if c("quant_min") <= limits.min and c("quant_max") >= limits.max:
            return made
        return op.clip(made, a_min=c("quant_min"), a_max=c("quant_max"))

    return convert


def dequantize(parameters_of):
    def convert(c: Conversion):
        scale, zero_point, axis = parameters_of(c)
        return op.qnn.dequantize(c("input"), scale, zero_point, axis=axis)

    return convert


def choose_parameters(c: Conversion):
    """Imports choose_qparams.tensor: scale and zero point that map the tensor's range, with 0, to all integers."""
    zero, low, high = (number(one, "float32") for one in (0, c("quant_min"), c("quant_max")))
    least, most = op.minimum(op.min(c("input")), zero), op.maximum(op.max(c("input")), zero)
    scale = op.divide(op.subtract(most, least), op.subtract(high, low))
    scale = op.maximum(scale, number(c("eps"), "float32"))
    zero_point = op.clip(
        op.subtract(low, op.round(op.divide(least, scale))), a_min=float(c("quant_min")), a_max=float(c("quant_max"))
    )
    return [op.cast(op.reshape(scale, newshape=[1]), "float64"), op.cast(op.reshape(zero_point, newshape=[1]), "int64")]


def _of_packed(packed: Expr, columns: int, group: int) -> np.ndarray:
    """Returns the integers, -8 to 7, of a packed weight (N, K / 2), as (N, K). The order of the bytes depends on the
    processor; the product of the weight with a unit matrix reveals it."""
    if not isinstance(packed, Constant):
        raise Refused("its weight is packed for one processor, and is not a constant of the model")
    weight = torch.from_numpy(np.array(packed.data.numpy()))
    rows = weight.shape[0]
    units = torch.stack([torch.ones(columns // group, rows), torch.zeros(columns // group, rows)], -1).bfloat16()
    made = torch.ops.aten._weight_int4pack_mm_for_cpu(torch.eye(columns).bfloat16(), weight, group, units)
    return made.float().round().T.contiguous().numpy().astype(np.int8)


def packed_product(c: Conversion):
    """Imports _weight_int4pack_mm_for_cpu: rows times (integer * scale + zero), with a scale and a zero for each group
    of columns."""
    group, columns, dtype = c("qGroupSize"), c.shape("self")[-1], c.dtype
    integers = _of_packed(c("mat2"), columns, group)
    rows, groups = integers.shape[0], columns // group
    both = op.transpose(op.cast(c("qScaleAndZeros"), "float32"), axes=[2, 1, 0])  # scales and zeros, (N, groups)
    scale, zero = (
        op.reshape(op.strided_slice(both, begin=[k], end=[k + 1], axes=[0]), newshape=[rows, groups, 1]) for k in (0, 1)
    )
    in_groups = op.cast(const(integers.reshape(rows, groups, group)), "float32")
    weight = op.reshape(op.add(op.multiply(in_groups, scale), zero), newshape=[rows, columns])
    return op.cast(op.nn.dense(c.as_("self", "float32"), weight), dtype)


QUANTIZED = {
    "quantize_per_tensor": quantize(_of_tensor), "quantize_per_tensor.tensor": quantize(_of_tensor),
    "dequantize_per_tensor": dequantize(_of_tensor), "dequantize_per_tensor.tensor": dequantize(_of_tensor),
    "quantize_per_channel": quantize(_of_axis), "dequantize_per_channel": dequantize(_of_axis),
    "choose_qparams.tensor": choose_parameters,
}  # fmt: skip
