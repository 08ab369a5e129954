"""relay.qnn.op: the operators with Python's signatures, in which zero points come before scales."""

from __future__ import annotations

import contextlib

import numpy as np

from relay import Expr, Tuple, const
from relay.op import qnn as _ours
from relay.op.special.call import op_call as _op_call

from ....outside import missing as _missing

_REQUANTIZE = {"rounding": "None", "compute_dtype": "None"}


@contextlib.contextmanager
def requantize_config(**values):
    """Sets rounding ("UPWARD", "TONEAREST") and compute_dtype ("int64", "float32", ...) of requantize() inside the
    `with` block."""
    wrong = set(values) - set(_REQUANTIZE)
    if wrong:
        raise ValueError(f"requantize has no setting {sorted(wrong)[0]}; it has: {', '.join(_REQUANTIZE)}")
    before = dict(_REQUANTIZE)
    _REQUANTIZE.update(values)
    try:
        yield
    finally:
        _REQUANTIZE.update(before)


def requantize(
    data,
    input_scale,
    input_zero_point,
    output_scale,
    output_zero_point,
    axis=-1,
    rounding="None",
    compute_dtype="None",
    out_dtype="int8",
):
    """Converts integers of one scale and zero point to another."""
    chosen = {"rounding": rounding, "compute_dtype": compute_dtype}
    attrs = {key: _REQUANTIZE[key] if value == "None" else value for key, value in chosen.items()}
    operands = [data, input_scale, input_zero_point, output_scale, output_zero_point]
    return _op_call("qnn.requantize", operands, axis=axis, out_dtype=out_dtype, **attrs)


def quantize(data, output_scale, output_zero_point, axis=-1, out_dtype="int8"):
    """Computes round(data / scale) + zero point."""
    return _ours.quantize(data, output_scale, output_zero_point, axis=axis, out_dtype=out_dtype)


def dequantize(data, input_scale, input_zero_point, axis=-1, out_dtype="float32"):
    """Computes (data - zero point) * scale."""
    return _op_call("qnn.dequantize", [data, input_scale, input_zero_point], axis=axis, out_dtype=out_dtype)


# Codes of element types, by which a tensor selects one at run time.
SQNN_DTYPE_TO_CODE = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}


def _code(dtype) -> Expr:
    return const(np.int32(SQNN_DTYPE_TO_CODE[dtype])) if isinstance(dtype, str) else dtype


def simulated_quantize(data, output_scale, output_zero_point, axis=-1, out_dtype="int8"):
    """Returns quantised values as floats. out_dtype is a name, or a tensor with its code."""
    return _ours.simulated_quantize(data, _code(out_dtype), output_scale, output_zero_point, axis=axis)


def simulated_dequantize(data, input_scale, input_zero_point, axis=-1, in_dtype="int8"):
    """Converts the results of simulated_quantize() to floats of the scale."""
    return _ours.simulated_dequantize(data, _code(in_dtype), input_scale, input_zero_point, axis=axis)


def concatenate(data, input_scales, input_zero_points, output_scale, output_zero_point, axis):
    """Concatenates tensors of several scales, in one scale."""
    parts = [one if isinstance(one, Expr) else Tuple(list(one)) for one in (data, input_scales, input_zero_points)]
    if not all(isinstance(one, Tuple) and len(one.fields) == len(parts[0].fields) for one in parts[1:]):
        raise ValueError("give one scale and one zero point for each tensor")
    if axis is not None and parts[0].fields == []:
        raise ValueError("give at least one tensor")
    return _ours.concatenate(*parts, output_scale, output_zero_point, axis=axis)


def conv2d(
    data,
    kernel,
    input_zero_point,
    kernel_zero_point,
    input_scale,
    kernel_scale,
    kernel_size,
    channels,
    strides=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    data_layout="NCHW",
    kernel_layout="OIHW",
    out_layout="",
    out_dtype="int32",
):
    """Convolution, with zero points before scales; the operator has scales before zero points."""
    attrs = dict(strides=strides, padding=padding, dilation=dilation, groups=groups, channels=channels)
    attrs |= dict(kernel_size=kernel_size, data_layout=data_layout, kernel_layout=kernel_layout)
    operands = [data, kernel, input_scale, input_zero_point, kernel_scale, kernel_zero_point]
    # The operator has the order of the text form: scale, zero point.
    return _op_call("qnn.conv2d", operands, **attrs, out_layout=out_layout, out_dtype=out_dtype)


def conv2d_transpose(
    data,
    weight,
    input_zero_point,
    weight_zero_point,
    input_scale,
    weight_scale,
    strides=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    channels=None,
    kernel_size=None,
    groups=1,
    data_layout="NCHW",
    kernel_layout="IOHW",
    out_layout="",
    output_padding=(0, 0),
    out_dtype="int32",
):
    """Transposed convolution, with zero points before scales."""
    attrs = dict(strides=strides, padding=padding, dilation=dilation, groups=groups, channels=channels)
    attrs |= dict(kernel_size=kernel_size, data_layout=data_layout, kernel_layout=kernel_layout)
    attrs |= dict(out_layout=out_layout, output_padding=output_padding, out_dtype=out_dtype)
    operands = [data, weight, input_scale, input_zero_point, weight_scale, weight_zero_point]
    return _op_call("qnn.conv2d_transpose", operands, **attrs)


def dense(data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale, units, out_dtype="int32"):
    """Dense layer, with zero points before scales."""
    operands = [data, weight, input_scale, input_zero_point, kernel_scale, kernel_zero_point]
    return _op_call("qnn.dense", operands, units=units, out_dtype=out_dtype)


def batch_matmul(x, y, x_zero_point, y_zero_point, x_scale, y_scale, out_dtype="int32"):
    """Batched product, with zero points before scales. y is (batch, columns, inner)."""
    operands = [x, y, x_scale, x_zero_point, y_scale, y_zero_point]
    return _op_call("qnn.batch_matmul", operands, out_dtype=out_dtype, transpose_b=True)


def _binary(name: str):
    def binary(
        lhs,
        rhs,
        lhs_scale,
        lhs_zero_point,
        rhs_scale,
        rhs_zero_point,
        output_scale,
        output_zero_point,
        lhs_axis=-1,
        rhs_axis=-1,
    ):
        scales = [lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point]
        return _op_call(f"qnn.{name}", [lhs, rhs, *scales], lhs_axis=lhs_axis, rhs_axis=rhs_axis)

    binary.__name__, binary.__doc__ = name, "With a scale and a zero point of each operand and of the result."
    return binary


add, mul, subtract = _binary("add"), _binary("mul"), _binary("subtract")


def leaky_relu(x, alpha, input_scale, input_zero_point, output_scale, output_zero_point):
    """Computes alpha * x below the zero point."""
    operands = [x, input_scale, input_zero_point, output_scale, output_zero_point]
    return _op_call("qnn.leaky_relu", operands, alpha=alpha)


def softmax(x, scale, zero_point, output_scale, output_zero_point, axis=-1):
    """Computes the softmax of int8 numbers along an axis."""
    return _op_call("qnn.softmax", [x, scale, zero_point, output_scale, output_zero_point], axis=axis)


def avg_pool2d(
    data,
    input_scale,
    input_zero_point,
    output_scale,
    output_zero_point,
    pool_size,
    strides,
    padding,
    dilation,
    ceil_mode=False,
    count_include_pad=True,
    layout="NHWC",
    out_layout="",
):
    """Computes means of windows."""
    attrs = dict(pool_size=pool_size, strides=strides, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    attrs |= dict(count_include_pad=count_include_pad, layout=layout, out_layout=out_layout)
    operands = [data, input_scale, input_zero_point, output_scale, output_zero_point]
    return _op_call("qnn.avg_pool2d", operands, **attrs)


_missing_here = _missing("tvm.relay.qnn.op")


def __getattr__(name: str):
    return getattr(_ours, name, None) or _missing_here(
        name
    )  # tanh, exp, sqrt, rsqrt, erf, sigmoid, hardswish, log, abs
