"""Pools: over windows, over whole images, and adaptive."""

from __future__ import annotations

from ... import op
from ..shared.problems import Refused
from ..shared.windows import POOLS, layout, spatial
from .conv import padding_of
from .conversion import Conversion, Value, shape_of

_WINDOWS = {"Max": POOLS["max"], "Average": POOLS["avg"]}
_ADAPTIVE = {
    "Max": {1: op.nn.adaptive_max_pool1d, 2: op.nn.adaptive_max_pool2d, 3: op.nn.adaptive_max_pool3d},
    "Average": {1: op.nn.adaptive_avg_pool1d, 2: op.nn.adaptive_avg_pool2d, 3: op.nn.adaptive_avg_pool3d},
}


def _checked_rank(c: Conversion, rank: int) -> None:
    if c.rank != rank + 2:
        raise Refused(f"its input has {c.rank} axes, not {rank + 2}")


def windows(x, kind: str, size: list, strides: list, padding: str, channels_first: bool):
    """Returns the maxima or means of windows. Padding does not count."""
    rank = len(size)
    around = padding_of(padding, spatial(shape_of(x), channels_first), size, strides, [1] * rank)
    return _WINDOWS[kind][rank](x, pool_size=size, strides=strides, padding=around, layout=layout(rank, channels_first))


def pool(kind: str, rank: int):
    """Returns the converter of pools over windows. kind: "Max" or "Average"."""

    def convert(c: Conversion):
        _checked_rank(c, rank)
        key = "pool_size" if c("pool_size") is not None or rank > 1 else "pool_length"  # the name before Keras 2
        size = c.each(key, rank, 2)
        strides = c.each("strides", rank, size)
        return Value(windows(c.x, kind, size, strides, c("padding", "valid"), c.channels_first))

    return convert


def adaptive(kind: str, rank: int):
    def convert(c: Conversion):
        _checked_rank(c, rank)
        size = c.each("output_size", rank)
        return Value(_ADAPTIVE[kind][rank](c.x, output_size=size, layout=layout(rank, c.channels_first)))

    return convert


def whole(kind: str, rank: int):
    """Returns the converter of pools over whole images. Masked steps do not count for a mean."""

    def convert(c: Conversion):
        _checked_rank(c, rank)
        axes = list(range(2, rank + 2)) if c.channels_first else list(range(1, rank + 1))
        keepdims = bool(c("keepdims", False))
        if kind == "Average" and rank == 1 and c.mask is not None:
            axis = axes[0]
            weights = op.expand_dims(op.cast(c.mask, c.dtype), axis=1 if c.channels_first else 2)
            total = op.sum(op.multiply(c.x, weights), axis=[axis], keepdims=keepdims)
            return Value(op.divide(total, op.sum(weights, axis=[axis], keepdims=keepdims)))
        reduce = op.max if kind == "Max" else op.mean
        return Value(reduce(c.x, axis=axes, keepdims=keepdims))

    return convert
