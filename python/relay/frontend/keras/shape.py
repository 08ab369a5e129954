"""Layers that move elements: reshape, permute, pad, crop, repeat, enlarge."""

from __future__ import annotations

import math

from ... import op
from ..shared.problems import Refused
from ..shared.windows import layout
from .conversion import Conversion, Value, dtype_of, each, is_known, new_shape, shape_of


def identity(c: Conversion):
    return c.x


def flatten(c: Conversion):
    """Joins all axes but the batch. Images with channels first are put in the order of channels last."""
    x = op.transpose(c.x, axes=[0, *range(2, c.rank), 1]) if c.channels_first and c.rank > 2 else c.x
    if c.rank == 1:
        return op.expand_dims(x, axis=1)
    sizes = c.shape[1:]
    return op.reshape(x, newshape=[0, math.prod(sizes)] if is_known(*sizes) else [0, -1])


def reshape(c: Conversion):
    target = c("target_shape", [])
    if not isinstance(target, list) or not all(one is None or type(one) is int for one in target):
        raise Refused(f"`target_shape` is {target!r}")
    return reshaped(c.x, [c.shape[0], *(-1 if one is None else one for one in target)])


def reshaped(x, sizes: list):
    """Returns the tensor with these sizes, one of which may be -1."""
    held = shape_of(x)
    if sizes.count(-1) == 1 and is_known(*held[1:]) and sizes and sizes[0] is held[0]:
        rest = math.prod(one for one in sizes[1:] if one != -1)
        if rest and math.prod(held[1:]) % rest == 0:
            sizes = [math.prod(held[1:]) // rest if type(one) is int and one == -1 else one for one in sizes]
    return op.reshape(x, newshape=new_shape(sizes))


def permute(c: Conversion):
    dims = c("dims", [])
    if not isinstance(dims, list) or sorted(dims) != list(range(1, c.rank)):
        raise Refused(f"`dims` is {dims!r}, not an order of the axes 1 to {c.rank - 1}")
    return op.transpose(c.x, axes=[0, *dims])


def repeat_vector(c: Conversion):
    return Value(op.repeat(op.expand_dims(c.x, axis=1), repeats=c.int_of("n"), axis=1))


def _pairs(given, rank: int) -> list[tuple[int, int]]:
    """Returns (before, after) for each axis of space: a number, one for each axis, or a pair for each axis."""
    if rank == 1 and isinstance(given, list) and all(type(one) is int for one in given):
        given = [given]
    given = [given] * rank if type(given) is int else given
    if not isinstance(given, list) or len(given) != rank:
        raise Refused(f"{given!r} are not sizes for {rank} axes")
    return [tuple(each(one, 2)) for one in given]


def zero_padding(rank: int):
    def convert(c: Conversion):
        pairs = _pairs(c("padding", 1), rank)
        around = [(0, 0), (0, 0), *pairs] if c.channels_first else [(0, 0), *pairs, (0, 0)]
        if any(one < 0 for pair in pairs for one in pair):
            raise Refused(f"`padding` is {c('padding')!r}, with sizes below zero")
        return Value(op.nn.pad(c.x, pad_width=around))

    return convert


def cropping(rank: int):
    def convert(c: Conversion):
        pairs = _pairs(c("cropping", 1), rank)
        axes = list(range(2, rank + 2)) if c.channels_first else list(range(1, rank + 1))
        ends = [c.shape[axis] - after for axis, (_, after) in zip(axes, pairs, strict=True)]
        if is_known(*ends):
            return Value(op.strided_slice(c.x, begin=[one for one, _ in pairs], end=ends, axes=axes))
        made = c.x  # an end is counted from the back
        for axis, (before, after) in zip(axes, pairs, strict=True):
            end = -after if after else 2**31 - 1
            made = op.strided_slice(made, begin=[before], end=[end], axes=[axis])
        return Value(made)

    return convert


def up_sampling(rank: int):
    """Repeats elements, or interpolates between the centres of pixels."""

    def convert(c: Conversion):
        key = "length" if c("size") is None and c("length") is not None else "size"  # the name before Keras 2
        factors = c.each(key, rank, 2)
        axes = list(range(2, rank + 2)) if c.channels_first else list(range(1, rank + 1))
        how = c("interpolation", "nearest")
        made = c.x
        if how == "nearest":
            for axis, factor in zip(axes, factors, strict=True):
                made = op.repeat(made, repeats=factor, axis=axis) if factor != 1 else made
            return Value(made)
        methods = {"bilinear": "linear", "bicubic": "cubic"}
        if rank != 2 or how not in methods:
            raise Refused(f"the interpolation {how!r}", "use nearest, bilinear or bicubic")
        sizes = [c.size(axis, "the enlarged image") * factor for axis, factor in zip(axes, factors, strict=True)]
        return Value(resized(made, sizes, methods[how], c.channels_first))

    return convert


def resized(x, sizes: list[int], method: str, channels_first: bool):
    """Returns images at another size. Half-pixel centres; the nearest pixel is that in which a centre lies."""
    mode = "tf_half_pixel_for_nn" if method == "nearest_neighbor" else "half_pixel"
    how = {"cubic_alpha": -0.5, "cubic_exclude": 1} if method == "cubic" else {}
    return op.image.resize2d(
        x, size=sizes, layout=layout(2, channels_first), method=method, rounding_method="floor",
        coordinate_transformation_mode=mode, out_dtype=dtype_of(x), **how,
    )  # fmt: skip
