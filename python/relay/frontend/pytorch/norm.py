"""Normalisations, in their inference form."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ...ir.expr import const
from .conversion import IN_EVALUATION, Conversion, Refused, cast, dtype_name, exact_type, number


def _or_fill(c: Conversion, name: str, value: float, extent, dtype: str | None = None):
    if c.has(name):
        return c(name)
    if not isinstance(extent, int):
        return op.full(number(value, dtype or c.dtype), shape=[extent])
    return const(np.full(extent, value, dtype or c.dtype))


def _batch_norm(c: Conversion, epsilon: float):
    channels = c.shape("input")[1]
    if not c.has("running_mean") or not c.has("running_var"):
        raise Refused("batch normalisation without running statistics")
    dtype = dtype_name(c.val("running_mean").dtype)  # autocast uses half the data's precision for it
    gamma, beta = _or_fill(c, "weight", 1, channels, dtype), _or_fill(c, "bias", 0, channels, dtype)
    parameters = gamma, beta, c("running_mean"), c("running_var")
    return cast(op.nn.batch_norm(c.as_("input", dtype), *parameters, epsilon=float(epsilon))[0], dtype, c.dtype)


def batch_norm(c: Conversion):
    if c("training") and not c.has("running_mean"):
        return batch_norm_of_batch(c)[0]
    if c("training"):
        raise Refused(
            "batch normalisation is exported in training mode: call module.eval() before the export", help=IN_EVALUATION
        )
    return _batch_norm(c, c("eps"))


def batch_norm_inference(c: Conversion):
    """Imports a normalisation whose second and third results are empty in inference and not read."""
    return [_batch_norm(c, c("eps")), None, None]


def layer_norm(c: Conversion):
    shape, over = c.shape("input"), c("normalized_shape")
    inner = math.prod(over, start=1)
    gamma, beta = _or_fill(c, "weight", 1, inner), _or_fill(c, "bias", 0, inner)
    data = c("input")
    if len(over) > 1:
        data = op.reshape(data, newshape=[*shape[: len(shape) - len(over)], inner])
        gamma, beta = op.reshape(gamma, newshape=[inner]), op.reshape(beta, newshape=[inner])
    result = op.nn.layer_norm(data, gamma, beta, axis=-1, epsilon=float(c("eps")))
    return op.reshape(result, newshape=shape) if len(over) > 1 else result


def _statistics(c: Conversion, data, axis: list[int], dtype: str):
    """The mean, and one by the standard deviation, of data of this type."""
    variance = op.variance(data, axis=axis, keepdims=True)
    return op.mean(data, axis=axis, keepdims=True), op.rsqrt(op.add(variance, number(float(c("eps")), dtype)))


def _result_type(c: Conversion, place: int) -> str:
    """The type of one of several results, which may be wider than the data's."""
    return dtype_name((c.result[place] if isinstance(c.result, (tuple, list)) else c.result).dtype)


def native_layer_norm(c: Conversion):
    rank = c.rank("input")
    axes = list(range(rank - len(c("normalized_shape")), rank))
    dtype = exact_type(c.dtype)
    found = _statistics(c, c.as_("input", dtype), axes, dtype)
    return [layer_norm(c), *(cast(one, dtype, _result_type(c, place)) for place, one in enumerate(found, 1))]


def native_group_norm(c: Conversion):
    shape, groups, dtype = c.shape("input"), c("group"), exact_type(c.dtype)
    data = op.reshape(c.as_("input", dtype), newshape=[shape[0], groups, math.prod(shape[1:], start=1) // groups])
    mean, scale = _statistics(c, data, [2], dtype)
    result = op.reshape(op.multiply(op.subtract(data, mean), scale), newshape=shape)
    ones = [1] * (len(shape) - 2)
    if c.has("weight"):
        result = op.multiply(result, op.reshape(c.as_("weight", dtype), newshape=[shape[1], *ones]))
    if c.has("bias"):
        result = op.add(result, op.reshape(c.as_("bias", dtype), newshape=[shape[1], *ones]))
    found = (op.squeeze(one, axis=[2]) for one in (mean, scale))
    return [cast(one, dtype, _result_type(c, place)) for place, one in enumerate((result, *found))]


def batch_norm_of_batch(c: Conversion):
    """Imports _native_batch_norm_legit.no_stats, which uses the statistics of the batch."""
    rank = c.rank("input")
    over = [axis for axis in range(rank) if axis != 1]
    dtype = exact_type(c.dtype)
    data = c.as_("input", dtype)
    mean, scale = _statistics(c, data, over, dtype)
    result = op.multiply(op.subtract(data, mean), scale)
    for name, function in (("weight", op.multiply), ("bias", op.add)):
        if c.has(name):
            result = function(result, op.reshape(c.as_(name, dtype), newshape=[-1, *[1] * (rank - 2)]))
    found = result, op.squeeze(mean, axis=over), op.squeeze(scale, axis=over)
    return [cast(one, dtype, _result_type(c, place)) for place, one in enumerate(found)]


def group_norm(c: Conversion):
    channels = c.shape("input")[1]
    gamma, beta = _or_fill(c, "weight", 1, channels), _or_fill(c, "bias", 0, channels)
    return op.nn.group_norm(c("input"), gamma, beta, num_groups=c("num_groups"), axis=1, epsilon=float(c("eps")))
