"""Normalisations."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..common.problems import Refused
from .conversion import (
    MOST_ELEMENTS,
    Conversion,
    Value,
    axes_of,
    axis_of,
    bounded,
    cast,
    dtype_of,
    known,
    new_shape,
    number,
)
from .linear import l2_normalized


def _exact(x):
    """Returns halves as float32, in which Keras normalises them."""
    return cast(x, "float32") if dtype_of(x) in ("float16", "bfloat16") else x


def batch_normalization(c: Conversion):
    axis = axis_of(c("axis", -1), c.rank)
    channels = c.size(axis, "the weights of a normalisation")
    gamma = c.array("gamma", [channels]) if c("scale", True) else None
    beta = c.array("beta", [channels]) if c("center", True) else None
    mean, variance = c.array("moving_mean", [channels]), c.array("moving_variance", [channels])
    x = _exact(c.x)
    dtype = dtype_of(x)
    given = (np.ones if one is None else one for one in (gamma, beta))
    gamma_, beta_ = (c.constant(one(channels) if callable(one) else one, dtype) for one in given)
    made = op.nn.batch_norm(
        x, gamma_, beta_, c.constant(mean, dtype), c.constant(variance, dtype), axis=axis,
        epsilon=float(c.number_of("epsilon", 1e-3)), center=beta is not None, scale=gamma is not None,
    )[0]  # fmt: skip
    return cast(made, c.dtype)


def _moments(x, axes: list):
    mean = op.mean(x, axis=axes, keepdims=True)
    centred = op.subtract(x, mean)
    return centred, op.mean(op.multiply(centred, centred), axis=axes, keepdims=True)


def _scale(c: Conversion, made, axes: list, name: str, sizes: list, function):
    """Returns the product or sum with a weight that has the sizes of some axes."""
    weight = c.array(name, [known(sizes[axis], "the weights of a normalisation") for axis in axes])
    around = [sizes[axis] if axis in axes else 1 for axis in range(len(sizes))]
    return function(made, c.constant(weight.reshape(around), dtype_of(made)))


def layer_normalization(c: Conversion):
    axes = axes_of(c("axis", -1), c.rank)
    x, sizes = _exact(c.x), c.shape
    epsilon = number(c.number_of("epsilon", 1e-3), dtype_of(x))
    if c("rms_scaling"):
        _, variance = _moments(x, axes)
        made = op.multiply(x, op.rsqrt(op.add(variance, epsilon)))
        return cast(_scale(c, made, axes, "gamma", sizes, op.multiply), c.dtype)
    if axes == [c.rank - 1] and c("scale", True) and c("center", True):
        size = c.size(-1, "the weights of a normalisation")
        gamma, beta = (c.constant(c.array(name, [size]), dtype_of(x)) for name in ("gamma", "beta"))
        made = op.nn.layer_norm(x, gamma, beta, axis=-1, epsilon=float(c.number_of("epsilon", 1e-3)))
        return cast(made, c.dtype)
    centred, variance = _moments(x, axes)
    made = op.multiply(centred, op.rsqrt(op.add(variance, epsilon)))
    made = _scale(c, made, axes, "gamma", sizes, op.multiply) if c("scale", True) else made
    made = _scale(c, made, axes, "beta", sizes, op.add) if c("center", True) else made
    return cast(made, c.dtype)


def rms_normalization(c: Conversion):
    axes = axes_of(c("axis", -1), c.rank)
    x = _exact(c.x)
    squares = op.mean(op.multiply(x, x), axis=axes, keepdims=True)
    made = op.multiply(x, op.rsqrt(op.add(squares, number(c.number_of("epsilon", 1e-6), dtype_of(x)))))
    return cast(_scale(c, made, axes, "scale", c.shape, op.multiply), c.dtype)


def group_normalization(c: Conversion):
    axis, groups = axis_of(c("axis", -1), c.rank), c.int_of("groups", 32)
    sizes, channels = c.shape, c.size(axis, "the weights of a normalisation")
    groups = channels if groups == -1 else groups
    if groups < 1 or channels % groups:
        raise Refused(f"{channels} channels do not divide into {groups} groups")
    x = op.reshape(_exact(c.x), newshape=new_shape([*sizes[:axis], groups, channels // groups, *sizes[axis + 1 :]]))
    axes = [one for one in range(1, c.rank + 1) if one != axis]
    centred, variance = _moments(x, axes)
    made = op.multiply(centred, op.rsqrt(op.add(variance, number(c.number_of("epsilon", 1e-3), dtype_of(x)))))
    made = op.reshape(made, newshape=new_shape(sizes))
    made = _scale(c, made, [axis], "gamma", sizes, op.multiply) if c("scale", True) else made
    made = _scale(c, made, [axis], "beta", sizes, op.add) if c("center", True) else made
    return cast(made, c.dtype)


def layer_scale(c: Conversion):
    """A factor for each channel: a layer of keras.applications' ConvNeXt."""
    return op.multiply(c.x, c.weight("gamma", [c.size(-1, "the factors")]))


def scaled_sum(c: Conversion):
    """a + scale * b: a layer of keras.applications' InceptionResNetV2."""
    a, b = (one.expr for one in c.inputs)
    return op.add(a, op.multiply(b, number(c.number_of("scale"), dtype_of(b))))


def unit_normalization(c: Conversion):
    return l2_normalized(c.x, axes_of(c("axis", -1), c.rank))


def spectral_normalization(c: Conversion):
    """At inference, the wrapped layer. Its kernel in the file is the normalised one."""
    return c.inner(c("layer"), ("layer",), [c.value], {})


def normalization(c: Conversion):
    """(x - mean) / sqrt(variance), or its inverse. Mean and variance are given, or learned from data (adapt)."""
    given = c.layer.config.get("axis", -1)
    axes = axes_of(given, c.rank) if given is not None and given != [] else []
    sizes = [known(c.shape[axis], "the mean") for axis in axes]
    if c("mean") is not None or c("input_mean") is not None:
        mean, variance = (np.asarray(c(key, c(f"input_{key}")), np.float64) for key in ("mean", "variance"))
    else:
        mean, variance = c.array("mean", sizes), c.array("variance", sizes)
    bounded(math.prod(sizes), MOST_ELEMENTS, "the size of the mean")
    around = [sizes[axes.index(axis)] if axis in axes else 1 for axis in range(c.rank)]
    try:
        mean, variance = (np.broadcast_to(one, sizes).reshape(around) for one in (mean, variance))
    except ValueError as error:
        raise Refused(f"the mean or the variance does not have the sizes {sizes}") from error
    x = cast(c.x, c.compute)
    deviation = np.maximum(np.sqrt(variance), 1e-7)
    mean, deviation = c.constant(mean), c.constant(deviation)
    made = op.add(op.multiply(x, deviation), mean) if c("invert") else op.divide(op.subtract(x, mean), deviation)
    return Value(made)
