"""Normalisation: batches, neighbouring channels."""

from __future__ import annotations

from ... import op
from ..shared.expressions import cast, dtype_of
from ..shared.problems import Refused
from ..shared.values import Absent, number
from .conversion import Conversion
from .elementwise import ACTIVATIONS
from .windows import is_channels_first


def fused_batch_norm(c: Conversion):
    """FusedBatchNorm(x, scale, offset, mean, variance). With is_training, the statistics are those of the batch."""
    x, own = c.x, c.dtype(0)
    rank = c.rank(0)
    axis = 1 if is_channels_first(c) else rank - 1
    scale, offset, epsilon = c.expr(1), c.expr(2), c("epsilon", 1e-4)
    exact = "float32" if own in ("float16", "bfloat16") else own
    x = cast(x, exact)
    if not c("is_training", True):
        mean, variance = c.expr(3), c.expr(4)
        made = op.nn.batch_norm(x, scale, offset, mean, variance, axis=axis, epsilon=epsilon)[0]
        return [_activated(c, cast(made, own)), mean, variance, mean, variance, Absent()]
    axes = [place for place in range(rank) if place != axis]
    mean = op.mean(x, axis=axes)
    shape = [1] * rank
    shape[axis] = c.size(axis)
    centred = op.subtract(x, op.reshape(mean, newshape=shape))
    variance = op.mean(op.multiply(centred, centred), axis=axes)
    by = op.multiply(op.rsqrt(op.add(variance, number(epsilon, exact))), scale)
    made = op.add(op.multiply(centred, op.reshape(by, newshape=shape)), op.reshape(offset, newshape=shape))
    return [_activated(c, cast(made, own)), mean, variance, mean, variance, Absent()]


def _activated(c: Conversion, made):
    """_FusedBatchNormEx adds a side input and applies an activation."""
    if c.node.op != "_FusedBatchNormEx":
        return made
    if c("num_side_inputs", 0):
        made = op.add(made, c.expr(5))
    name = c.text("activation_mode", "Identity")
    return made if name == "Identity" else ACTIVATIONS[name](c, made)


def global_batch_norm(c: Conversion):
    """BatchNormWithGlobalNormalization(x, mean, variance, beta, gamma)."""
    scales = bool(c("scale_after_normalization"))
    gamma = c.expr(4) if scales else op.ones_like(c.expr(4))
    return op.nn.batch_norm(
        c.x, gamma, c.expr(3), c.expr(1), c.expr(2), axis=c.rank(0) - 1, epsilon=c("variance_epsilon")
    )[0]


def lrn(c: Conversion):
    """LRN: the sum of squares of the channels nearby. TensorFlow multiplies it by alpha; Relay by alpha / size."""
    radius = c("depth_radius", 5)
    if not 0 <= radius < 1 << 16:
        raise Refused(f"its radius is {radius}")
    size = 2 * radius + 1
    alpha = c("alpha", 1.0) * size
    made = op.nn.lrn(c.x, size=size, axis=c.rank(0) - 1, bias=c("bias", 1.0), alpha=alpha, beta=c("beta", 0.5))
    return cast(made, dtype_of(c.x))
