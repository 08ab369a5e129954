"""Operators whose Python function is not just "inputs, then attributes": other order, other defaults, numbers as inputs, several
results (then a TupleWrapper), or made of several operators."""

from __future__ import annotations

from .. import _core
from .._core import Expr
from ..expr import TupleWrapper, const


def operand(value, is_tuple: bool = False):
    """What a call takes for an argument: a list for a tuple."""
    return _core.Tuple(list(value)) if is_tuple and isinstance(value, (list, tuple)) else value


def _call(name: str, operands: list, /, **attributes) -> Expr:
    return _core.call(name, operands, attributes)


def _number(value, dtype: str) -> Expr:
    return const(value, dtype) if isinstance(value, (int, float)) else value


def _arange(start, stop=None, step=None, dtype="float32"):
    """arange(5), arange(1, 5), arange(0, 1, 0.25); numbers or expressions."""
    if stop is None:
        start, stop = 0, start
    bounds = {"start": start, "stop": stop, "step": 1 if step is None else step}
    known = {name: float(value) for name, value in bounds.items() if isinstance(value, (int, float))}
    return _call("arange", [_number(value, dtype) for value in bounds.values()], dtype=dtype, **known)


def _full(fill_value, shape=(), dtype=None):
    if isinstance(fill_value, (int, float)):
        fill_value = const(fill_value, dtype or None)
    return _call("full", [fill_value], shape=shape, dtype=dtype)


def _take(data, indices, axis=None, batch_dims=0, mode="clip"):
    return _call("take", [data, indices], axis=axis, batch_dims=batch_dims, mode=mode)


def _gather(data, axis, indices):
    return _call("gather", [data, indices], axis=axis)


def _strided_slice(data, begin, end, strides=None, axes=None, slice_mode="end"):
    return _call("strided_slice", [data], begin=begin, end=end, strides=strides or [], axes=axes, slice_mode=slice_mode)


def _split(data, indices_or_sections, axis=0):
    call = _call("split", [data], indices_or_sections=indices_or_sections, axis=axis)
    parts = indices_or_sections
    return TupleWrapper(call, parts if isinstance(parts, int) else len(parts) + 1)


def _topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32"):
    call = _call("topk", [data], k=k, axis=axis, ret_type=ret_type, is_ascend=is_ascend, dtype=dtype)
    return TupleWrapper(call, 2) if ret_type == "both" else call


def _argsort(data, axis=-1, is_ascend=True, dtype="int32"):
    return _call("argsort", [data], axis=axis, is_ascend=bool(is_ascend), dtype=dtype)


def _sort(data, axis=-1, is_ascend=True):
    return _call("sort", [data], axis=axis, is_ascend=bool(is_ascend))


def _argmax(data, axis=None, keepdims=False, exclude=False, select_last_index=False):
    attributes = {"keepdims": keepdims, "exclude": exclude, "select_last_index": select_last_index}
    return _call("argmax", [data], axis=axis, **attributes)


def _argmin(data, axis=None, keepdims=False, exclude=False, select_last_index=False):
    attributes = {"keepdims": keepdims, "exclude": exclude, "select_last_index": select_last_index}
    return _call("argmin", [data], axis=axis, **attributes)


def _adaptive_avg_pool2d(data, output_size=None, layout="NCHW", out_layout=""):
    size = [] if output_size is None else output_size
    return _call("nn.adaptive_avg_pool2d", [data], output_size=size, layout=layout, out_layout=out_layout)


def _mean(data, axis=None, keepdims=False, exclude=False):
    return _call("mean", [data], axis=axis, keepdims=keepdims, exclude=exclude)


def _variance(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None):
    mean = _mean(data, axis, True, exclude) if with_mean is None else with_mean
    return _call("variance", [data, mean], axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)


def _std(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """The square root of the variance."""
    return _call("sqrt", [_variance(data, axis, keepdims, exclude, unbiased)])


def _mean_variance(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """(mean, variance)"""
    kept = _mean(data, axis, True, exclude)
    variance = _variance(data, axis, keepdims, exclude, unbiased, with_mean=kept)
    mean = kept if keepdims else _mean(data, axis, False, exclude)
    return TupleWrapper(_core.Tuple([mean, variance]), 2)


def _mean_std(data, axis=None, keepdims=False, exclude=False):
    """(mean, standard deviation)"""
    mean, variance = _mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(_core.Tuple([mean, _call("sqrt", [variance])]), 2)


def _logsumexp(data, axis=None, keepdims=False):
    """log(sum(exp(data))), with the largest value taken out first."""
    largest = _call("max", [data], axis=axis, keepdims=True)
    total = _call("sum", [_call("exp", [_call("subtract", [data, largest])])], axis=axis, keepdims=True)
    out = _call("add", [_call("log", [total]), largest])
    return out if keepdims else _call("squeeze", [out], axis=axis)


def _dtype_of(value, otherwise: str) -> str:
    """The element type of an expression as far as it is known."""
    known = value._checked_type_ or getattr(value, "type_annotation", None)
    return getattr(known, "dtype", otherwise)


def _pad(data, pad_width, pad_value=0, pad_mode="constant"):
    """A number as pad_value is of the type of data where that is known, else float32."""
    value = _number(pad_value, _dtype_of(data, "float32"))
    return _call("nn.pad", [data, value], pad_width=pad_width, pad_mode=pad_mode)


def _batch_matmul(tensor_a, tensor_b, out_dtype=None, transpose_a=False, transpose_b=True):
    """By default b is (batch, columns, inner): transpose_b is True here, and False in the text form."""
    attributes = {"out_dtype": out_dtype, "transpose_a": transpose_a, "transpose_b": transpose_b}
    return _call("nn.batch_matmul", [tensor_a, tensor_b], **attributes)


def _dropout_raw(data, rate=0.5):
    """(data, mask)"""
    return TupleWrapper(_call("nn.dropout", [data], rate=rate), 2)


def _dropout(data, rate=0.5):
    """The first field of the operator's result."""
    return _dropout_raw(data, rate)[0]


def _batch_norm(data, gamma, beta, moving_mean, moving_var, axis=1, epsilon=1e-5, center=True, scale=True):
    """(data, mean, variance)"""
    operands = [data, gamma, beta, moving_mean, moving_var]
    call = _call("nn.batch_norm", operands, axis=axis, epsilon=epsilon, center=center, scale=scale)
    return TupleWrapper(call, 3)


def _leaky_relu(data, alpha=0.01):
    """alpha is 0.01 by default here, and 0.25 in the text form."""
    return _call("nn.leaky_relu", [data], alpha=alpha)


def _lrn(data, size=5, axis=1, bias=2, alpha=0.00001, beta=0.75):
    """alpha is 0.00001 by default here, and 0.0001 in the text form."""
    return _call("nn.lrn", [data], size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)


def _conv2d_transpose(
    data,
    weight,
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
    out_dtype=None,
):
    attributes = {k: v for k, v in locals().items() if k not in ("data", "weight")}
    return _call("nn.conv2d_transpose", [data, weight], **attributes)


def _resize2d(
    data,
    size,
    roi=None,
    layout="NCHW",
    method="linear",
    coordinate_transformation_mode="half_pixel",
    rounding_method="round",
    cubic_alpha=-0.5,
    cubic_exclude=0,
    extrapolation_value=0.0,
    out_dtype=None,
):
    attributes = {k: v for k, v in locals().items() if k != "data"}
    attributes["roi"] = roi or []
    return _call("image.resize2d", [data], **attributes)


FUNCTIONS = {
    "arange": _arange,
    "argmax": _argmax,
    "argmin": _argmin,
    "argsort": _argsort,
    "full": _full,
    "gather": _gather,
    "image.resize2d": _resize2d,
    "logsumexp": _logsumexp,
    "mean_std": _mean_std,
    "mean_variance": _mean_variance,
    "nn.adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.conv2d_transpose": _conv2d_transpose,
    "nn.dropout": _dropout,
    "nn.dropout_raw": _dropout_raw,
    "nn.leaky_relu": _leaky_relu,
    "nn.lrn": _lrn,
    "nn.pad": _pad,
    "sort": _sort,
    "split": _split,
    "std": _std,
    "strided_slice": _strided_slice,
    "take": _take,
    "topk": _topk,
    "variance": _variance,
}
