"""Layers that stretch or equalise the values of images, also at inference."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ...ir.expr import const
from ..shared.problems import Refused
from ..shared.windows import to_first, to_last
from .conversion import (
    GIVE_SHAPES,
    MOST_ELEMENTS,
    Conversion,
    Value,
    bounded,
    cast,
    dtype_of,
    is_known,
    number,
    shape_of,
)
from .preprocessing import image_of

_LEVELS = 256


def _range(c: Conversion) -> tuple[float, float]:
    found = c("value_range", [0, 255])
    if not isinstance(found, list) or len(found) != 2 or not all(type(one) in (int, float) for one in found):
        raise Refused(f"`value_range` is {found!r}, not two numbers")
    low, high = sorted(found)
    if not low < high:
        raise Refused(f"`value_range` is {found!r}, which holds one number")
    return low, high


def _moved(x, source: tuple[float, float], target: tuple[float, float]):
    """Returns values of one range in another, in Keras's order of operations."""
    if source == target:
        return x
    (low, high), (least, most), dtype = source, target, dtype_of(x)
    x = op.divide(op.subtract(x, number(low, dtype)), number(high - low, dtype))
    return op.add(op.multiply(x, number(most - least, dtype)), number(least, dtype))


def auto_contrast(c: Conversion):
    """Stretches each channel from its least and its most to the whole range; channels of one value stay."""
    if c.rank != 4:
        raise Refused(f"its input has {c.rank} axes, not 4")
    held, whole = _range(c), (0, 255)
    x = cast(c.x, c.compute)
    moved = _moved(x, held, whole)
    low, high = (reduce(moved, axis=[1, 2], keepdims=True) for reduce in (op.min, op.max))
    scale = op.divide(c.number(255.0, c.compute), op.subtract(high, low))
    made = op.add(op.multiply(moved, scale), op.multiply(op.negative(low), scale))
    made = _moved(op.clip(made, 0.0, 255.0), whole, held)
    return op.where(op.isnan(made), x, made)


def clahe(c: Conversion):
    """Contrast-limited adaptive histogram equalisation: the sums of the histograms of tiles are tables of values, and a
    pixel is interpolated between those of the four nearest tiles."""
    x, back = image_of(c)
    x = cast(to_last(x) if c.channels_first else x, "float32")
    height, width, channels = shape_of(x)[1:]
    if not is_known(height, width, channels):
        raise Refused("the size of its images is known only at run time", GIVE_SHAPES)
    rows, columns = c.each("tile_grid_size", 2, 8)
    if rows < 1 or columns < 1:
        raise Refused(f"`tile_grid_size` is {c('tile_grid_size')!r}")
    high, wide = -(-height // rows), -(-width // columns)  # of a tile
    bounded(rows * columns * channels * high * wide * _LEVELS, MOST_ELEMENTS, "the elements of the histograms")
    x = _moved(x, _range(c), (0, 255))
    around = [(0, 0), (0, high * rows - height), (0, wide * columns - width), (0, 0)]
    padded = op.nn.mirror_pad(x, pad_width=around, mode="SYMMETRIC")
    tables = _tables(c, padded, (rows, high, columns, wide, channels))
    made = _interpolated(padded, tables, (rows, high, columns, wide, channels))
    made = op.strided_slice(made, begin=[0, 0], end=[height, width], axes=[1, 2])
    made = cast(_moved(made, (0, 255), _range(c)), c.dtype)
    return Value(back(to_first(made) if c.channels_first else made))


def _tables(c: Conversion, padded, sizes: tuple[int, ...]):
    """Returns the value of each level in each tile, (batch, rows, columns, channels, 256)."""
    rows, high, columns, wide, channels = sizes
    tiles = op.transpose(op.reshape(padded, newshape=[-1, *sizes]), axes=[0, 1, 3, 5, 2, 4])
    flat = op.reshape(tiles, newshape=[-1, rows, columns, channels, high * wide])
    levels = op.clip(op.cast(flat, "int32"), 0, _LEVELS - 1)
    one, none = number(1, "float32"), number(0, "float32")
    hot = op.one_hot(levels, one, none, depth=_LEVELS, axis=-1, dtype="float32")
    counts = op.sum(hot, axis=[4])
    limit = c.number_of("clip_limit", 4.0)
    if limit > 0:
        cut = op.minimum(counts, number(limit * (high * wide) / _LEVELS, "float32"))
        excess = op.sum(op.subtract(counts, cut), axis=[-1], keepdims=True)
        counts = op.add(cut, op.divide(excess, number(_LEVELS, "float32")))
    sums = op.cumsum(counts, axis=4)
    least = op.min(sums, axis=[-1], keepdims=True)
    rest = op.subtract(number(high * wide, "float32"), least)
    rest = op.where(op.equal(rest, none), op.ones_like(rest), rest)
    return op.clip(op.divide(op.multiply(op.subtract(sums, least), number(255, "float32")), rest), 0.0, 255.0)


def _interpolated(padded, tables, sizes: tuple[int, ...]):
    """Returns the values of pixels between the tables of the nearest tiles. Those at the border are repeated."""
    rows, high, columns, wide, channels = sizes
    flat = op.reshape(tables, newshape=[-1, rows * columns * channels * _LEVELS])
    levels = op.cast(op.clip(padded, 0.0, 255.0), "int32")
    pixels = [rows * high, columns * wide, channels]
    places = []
    for count, size, axis in ((rows, high, 0), (columns, wide, 1)):
        at = (np.arange(count * size, dtype=np.float32) - np.float32(size / 2)) / np.float32(size)
        first = np.floor(at)
        shape = [-1 if one == axis else 1 for one in range(3)]
        near = [np.clip(first + step, 0, count - 1).astype(np.int64).reshape(shape) for step in (0, 1)]
        places.append((near, (at - first).astype(np.float32).reshape(shape)))
    (row, down), (column, right) = places

    def value(y: int, x: int):
        tile = row[y] * columns + column[x]
        begin = (tile * channels + np.arange(channels)) * _LEVELS
        places = op.reshape(op.add(const(begin.astype(np.int32)), levels), newshape=[-1, math.prod(pixels)])
        found = op.take(flat, places, axis=1, batch_dims=1, mode="checked")
        return op.reshape(found, newshape=[-1, *pixels])

    def between(a, b, share: np.ndarray):
        return op.add(op.multiply(a, const(1 - share)), op.multiply(b, const(share)))

    return between(between(value(0, 0), value(0, 1), right), between(value(1, 0), value(1, 1), right), down)
