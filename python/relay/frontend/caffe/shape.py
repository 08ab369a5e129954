"""Layers of Caffe that change shapes, join and divide."""

from __future__ import annotations

import math

from ... import op
from ..shared.expressions import axis_of, bounded, known, shape_of
from ..shared.problems import Refused
from .conversion import CaffeLayer


def flatten(c: CaffeLayer):
    first, last = c.axis("axis", 1), c.axis("end_axis", -1)
    if first > last:
        raise Refused(f"`axis` {first} is behind `end_axis` {last}")
    sizes = c.shape
    joined = math.prod(known(one, "a flattened axis") for one in sizes[first : last + 1])
    return op.reshape(c.x, [*sizes[:first], joined, *sizes[last + 1 :]])


def reshape(c: CaffeLayer):
    """New sizes for some axes: 0 keeps a size, -1 takes the remaining elements."""
    shape = c.value("shape") or {}
    dims = shape.get("dim", []) if isinstance(shape, dict) else [""]
    if not all(type(one) is int and one >= -1 for one in dims) or dims.count(-1) > 1:
        raise Refused(f"`shape` is {dims!r}")
    sizes = c.sizes()
    start, count = c.int("axis", 0), c.int("num_axes", -1)
    start = start + len(sizes) + 1 if start < 0 else start
    end = len(sizes) if count == -1 else start + count
    if not 0 <= start <= end <= len(sizes):
        raise Refused(f"axes {start} to {end} are not in a shape of {len(sizes)} axes")
    made = []
    for place, one in enumerate(dims):
        if one == 0 and start + place >= len(sizes):
            raise Refused(f"size {place} is copied from axis {start + place}, and the input has {len(sizes)} axes")
        made.append(sizes[start + place] if one == 0 else one)
    whole = [*sizes[:start], *made, *sizes[end:]]
    if -1 in whole:
        rest = math.prod(one for one in whole if one != -1)
        if not rest or math.prod(sizes) % rest:
            raise Refused(f"{math.prod(sizes)} elements do not fit into the shape {whole}")
        whole[whole.index(-1)] = math.prod(sizes) // rest
    return op.reshape(c.x, whole)


def permute(c: CaffeLayer):
    order = c.all("order")
    if not all(type(one) is int and 0 <= one < c.rank for one in order) or len(set(order)) != len(order):
        raise Refused(f"`order` {order!r} does not name axes of {c.rank}, each once")
    return op.transpose(c.x, axes=[*order, *(one for one in range(c.rank) if one not in order)])


def concat(c: CaffeLayer):
    axis = axis_of(c.int("concat_dim") if c.has("concat_dim") else c.int("axis", 1), c.rank)
    return c.x if len(c.counted(1, 1 << 16)) == 1 else op.concatenate(c.inputs, axis=axis)


def slice_(c: CaffeLayer):
    """Parts of an axis: of equal sizes, or divided at slice_point."""
    axis = axis_of(c.int("slice_dim") if c.has("slice_dim") else c.int("axis", 1), c.rank)
    points, count, size = c.all("slice_point"), len(c.node.outputs), c.sizes()[axis]
    if not points:
        if size % count:
            raise Refused(f"an axis of {size} has no {count} equal parts")
        points = [size // count * one for one in range(1, count)]
    bounds = [0, *points, size]
    if len(points) != count - 1 or not all(type(one) is int for one in points):
        raise Refused(f"it has {count} tops and {len(points)} slice_point")
    if any(a >= b for a, b in zip(bounds, bounds[1:], strict=False)):
        raise Refused(f"`slice_point` {points!r} does not rise inside of an axis of {size}")
    return list(op.split(c.x, points, axis=axis)) if points else c.x


def split(c: CaffeLayer):
    return [c.x] * len(c.node.outputs)


def silence(c: CaffeLayer):
    """Reads inputs that nothing else reads, and has no result."""
    return c.x


def tile(c: CaffeLayer):
    axis, count = c.axis("axis", 1), bounded(c.count("tiles"), 1 << 20, "`tiles`")
    return op.tile(c.x, reps=[count if one == axis else 1 for one in range(c.rank)])


def crop(c: CaffeLayer):
    """The part of the first input that has the sizes of the second, from `axis` on."""
    c.counted(2)
    axis, offsets = c.axis("axis", 2), c.all("offset")
    wanted = [known(one, "a crop") for one in shape_of(c.input(1))]
    sizes = c.sizes()
    if len(wanted) != len(sizes):
        raise Refused(f"its inputs have {len(sizes)} and {len(wanted)} axes")
    count = len(sizes) - axis
    offsets = (offsets or [0]) * (count if len(offsets) <= 1 else 1)
    if len(offsets) != count or not all(type(one) is int and one >= 0 for one in offsets):
        raise Refused(f"`offset` is {offsets!r}, not {count} numbers")
    ends = [start + size for start, size in zip(offsets, wanted[axis:], strict=True)]
    if any(end > size for end, size in zip(ends, sizes[axis:], strict=True)):
        raise Refused(f"offsets {offsets} and sizes {wanted[axis:]} are beyond the input's {sizes[axis:]}")
    return op.strided_slice(c.x, begin=offsets, end=ends, axes=list(range(axis, len(sizes))))
