"""Pools and normalisations of Caffe."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..shared import pool as pools
from ..shared.expressions import shape_of
from ..shared.problems import Refused
from .conversion import CaffeLayer


def pooling(c: CaffeLayer):
    kind = c.enum("pool", ("MAX", "AVE", "STOCHASTIC"))
    if kind == "STOCHASTIC":
        raise Refused("stochastic pools are not imported", "use pool: AVE")
    if len(c.node.outputs) > 1:
        raise Refused("the positions of its maxima are not imported", "remove its second top")
    name, rank = {"MAX": "max", "AVE": "avg"}[kind], c.rank - 2
    if rank not in (1, 2, 3):
        raise Refused(f"its input has {c.rank} axes, not 3 to 5")
    if c.flag("global_pooling"):
        for one in ("kernel_size", "kernel_h", "kernel_w", "pad", "stride"):
            c.ignore(f"pooling_param.{one}")
        return (op.max if name == "max" else op.mean)(c.x, axis=list(range(2, c.rank)), keepdims=True)
    window, strides, padding = (
        c.each("kernel_size", rank, None, 1),
        c.each("stride", rank, 1, 1),
        c.each("pad", rank, 0),
    )
    if any(p >= k for p, k in zip(padding, window, strict=True)):
        raise Refused(f"its padding {padding} is not smaller than its windows {window}")
    rounding = {"CEIL": "caffe", "FLOOR": "floor"}[c.enum("round_mode", ("CEIL", "FLOOR"))]
    if c.has("ceil_mode"):  # of some forks
        rounding = "caffe" if c.flag("ceil_mode") else "floor"
    return pools.pool(c.x, name, window, strides, padding, padding, rounding, "padded")


def spp(c: CaffeLayer):
    """Pools over 1, 4, 16, .. parts of an image, one after another (spatial pyramid pooling)."""
    kind = {"MAX": "max", "AVE": "avg"}.get(c.enum("pool", ("MAX", "AVE", "STOCHASTIC")))
    if kind is None:
        raise Refused("stochastic pools are not imported", "use pool: AVE")
    sizes, parts = c.sizes(), []
    for level in range(c.count("pyramid_height", most=10)):
        window = [math.ceil(one / 2**level) for one in sizes[2:]]
        padding = [(k * 2**level - one + 1) // 2 for k, one in zip(window, sizes[2:], strict=True)]
        parts.append(op.nn.batch_flatten(pools.pool(c.x, kind, window, window, padding, padding, "caffe", "padded")))
    return parts[0] if len(parts) == 1 else op.concatenate(parts, axis=1)


def lrn(c: CaffeLayer):
    size, alpha, beta, k = c.count("local_size", 5), c.real("alpha", 1.0), c.real("beta", 0.75), c.real("k", 1.0)
    if size % 2 == 0:
        raise Refused(f"`local_size` is {size}, not odd")
    if c.enum("norm_region", ("ACROSS_CHANNELS", "WITHIN_CHANNEL")) == "ACROSS_CHANNELS":
        return op.nn.lrn(c.x, size=size, axis=1, bias=k, alpha=alpha, beta=beta)
    # Within a channel, Caffe divides by (1 + alpha * mean of squares) ^ beta, without k.
    around = [size // 2] * 2
    squares = pools.pool(op.multiply(c.x, c.x), "avg", [size] * 2, [1, 1], around, around, "caffe", "padded")
    base = op.add(op.multiply(squares, c.number(alpha)), c.number(1.0))
    return op.multiply(c.x, op.power(base, c.number(-beta)))


def batch_norm(c: CaffeLayer):
    """(x - mean) / sqrt(variance + eps). The weights hold sums, and in the third blob the number that divides them."""
    c.ignore("batch_norm_param.moving_average_fraction", "moving_average_fraction")
    channels, eps = c.sizes()[1] if c.rank > 1 else 1, c.real("eps", 1e-5)
    if not c.flag("use_global_stats", True):
        axes = [0, *range(2, c.rank)]
        mean = op.mean(c.x, axis=axes, keepdims=True)
        centred = op.subtract(c.x, mean)
        variance = op.mean(op.multiply(centred, centred), axis=axes, keepdims=True)
        return op.divide(centred, op.sqrt(op.add(variance, c.number(eps))))
    count = float(c.blob(2, [1], "the count")[0])
    factor = np.float32(0 if count == 0 else 1 / count)
    mean, variance = (
        c.blob(place, [channels], name) * factor for place, name in ((0, "the mean"), (1, "the variance"))
    )
    ones = np.ones(channels, np.float32)
    return op.nn.batch_norm(
        c.x, c.constant(ones), c.constant(ones * 0), c.constant(mean), c.constant(variance),
            axis=1 if c.rank > 1 else 0,
        epsilon=eps, center=False, scale=False,
    )[0]  # fmt: skip


def mvn(c: CaffeLayer):
    """Minus the mean, and divided by the deviation + eps, over each image or each channel of it."""
    axes = list(range(1 if c.flag("across_channels") else 2, c.rank))
    eps = c.real("eps", 1e-9)
    made = op.subtract(c.x, op.mean(c.x, axis=axes, keepdims=True))
    if not c.flag("normalize_variance", True):
        return made
    deviation = op.sqrt(op.mean(op.multiply(made, made), axis=axes, keepdims=True))
    return op.divide(made, op.add(deviation, c.number(eps)))


def normalize(c: CaffeLayer):
    """x / sqrt(sum of squares + eps), times a weight for each channel, or one for all (the SSD branch)."""
    axes = list(range(1, c.rank)) if c.flag("across_spatial", True) else [1]
    squares = op.sum(op.multiply(c.x, c.x), axis=axes, keepdims=True)
    made = op.divide(c.x, op.sqrt(op.add(squares, c.number(c.real("eps", 1e-10)))))
    channels = c.sizes()[1]
    scale = c.blob(0, [1 if c.flag("channel_shared", True) else channels], "the scale")
    return op.multiply(made, c.constant(scale.reshape([1, -1, *[1] * (c.rank - 2)])))


def reduction(c: CaffeLayer):
    """The sum over all axes from `axis` on."""
    kind, axis, factor = (
        c.enum("operation", ("SUM", "ASUM", "SUMSQ", "MEAN"), 1),
        c.axis("axis", 0),
        c.real("coeff", 1.0),
    )
    x = {"ASUM": op.abs, "SUMSQ": lambda one: op.multiply(one, one)}.get(kind, lambda one: one)(c.x)
    made = (op.mean if kind == "MEAN" else op.sum)(x, axis=list(range(axis, c.rank)))
    return op.multiply(made, c.number(factor)) if factor != 1 else made


def batch_reindex(c: CaffeLayer):
    if len(shape_of(c.input(1))) != 1:
        raise Refused("its second input has more than one axis")
    return op.take(c.x, op.cast(c.input(1), "int32"), axis=0)
