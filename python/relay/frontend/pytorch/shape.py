"""Operators that move elements without computing."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ...ir.expr import const
from .conversion import Conversion, UnknownSize, counted, number, numbers_of_sizes, size

LAST = 2**63 - 1


def reshape(c: Conversion):
    """Imports view, flatten, squeeze and their relatives. The shape of the result determines them."""
    return op.reshape(c("self"), newshape=c.out_shape, allowzero=True)


def expand_dims(c: Conversion):
    return op.expand_dims(c("self"), axis=c.axis(more=1))


def transpose(c: Conversion):
    axes = list(range(c.rank("self")))
    if axes:
        a, b = c.axis("dim0"), c.axis("dim1")
        axes[a], axes[b] = axes[b], axes[a]
    return op.transpose(c("self"), axes=axes) if len(axes) > 1 else c("self")


def matrix_transpose(c: Conversion):
    return op.transpose(c("self"), axes=[1, 0]) if c.rank("self") == 2 else c("self")


def permute(c: Conversion):
    return op.transpose(c("self"), axes=c.axes("dims")) if c.rank("self") else c("self")


def expand(c: Conversion):
    return op.broadcast_to(c("self"), shape=c.out_shape)


def repeat(c: Conversion):
    if not all(isinstance(one, int) for one in c("repeats")):
        return _repeated(c)
    return op.tile(c("self"), reps=c("repeats")) if c("repeats") else c("self")


def _repeated(c: Conversion):
    """Repeats by numbers that are sizes: stretches a new axis before each axis."""
    counts = c("repeats")
    shape = [1] * (len(counts) - c.rank("self")) + c.shape("self")
    apart = [one for extent in shape for one in (1, extent)]
    wide = [one for pair in zip(counts, shape, strict=True) for one in pair]
    stretched = op.broadcast_to(op.reshape(c("self"), newshape=apart, allowzero=True), shape=wide)
    return op.reshape(stretched, newshape=c.out_shape, allowzero=True)


def repeat_interleave(c: Conversion):
    if not isinstance(c("repeats"), int):
        raise UnknownSize("the number of repetitions is known only at run time")
    return op.repeat(c("self"), repeats=c("repeats"), axis=c.axis() if c.has("dim") else None)


def is_zero(extent) -> bool:
    return isinstance(extent, int) and extent == 0


def cat(c: Conversion):
    """Concatenates. Empty vectors of one axis are ignored, as in PyTorch."""
    parts = c._raw["tensors"]
    kept = [part for part in parts if not (part.meta["val"].dim() == 1 and is_zero(part.meta["val"].shape[0]))]
    if len({part.meta["val"].dtype for part in parts}) > 1:
        made = [op.cast(c._values[part], c.dtype) for part in kept]
    else:
        made = [c._values[part] for part in kept]
    rank = len(c.out_shape)
    return made[0] if len(made) == 1 else op.concatenate(made, axis=c("dim") % rank)


def stack(c: Conversion):
    return op.stack(c("tensors"), axis=c("dim") % len(c.out_shape))


def _piece(data, axis: int, begin: int, end: int, step: int = 1):
    return op.strided_slice(data, begin=[begin], end=[end], strides=[step], axes=[axis])


def front(data, sizes: list, axes: list[int]):
    """Returns the first positions along these axes, as many as `sizes`."""
    if all(isinstance(one, int) for one in sizes):
        return op.strided_slice(data, begin=[0] * len(axes), end=sizes, axes=axes)
    by_axis = dict(zip(axes, sizes, strict=True))
    shape = [by_axis.get(axis, 1) for axis in range(max(axes) + 1)]
    return op.slice_like(data, op.full(number(0, "int8"), shape=shape), axes=axes)


def slice(c: Conversion):
    axis = c.axis()
    extent, start, end, step = c.shape("self")[axis], c("start") or 0, c("end"), c("step")
    end = LAST if end is None or end == extent else end
    if not isinstance(step, int):
        raise UnknownSize("the step of a slice is known only at run time")
    if not (isinstance(start, int) and isinstance(end, int)):
        return _computed_slice(c, axis)
    return c("self") if (start, end, step) == (0, LAST, 1) else _piece(c("self"), axis, start, end, step)


def _computed_slice(c: Conversion, axis: int):
    """Imports a range that is computed from sizes."""
    rank = c.rank("self")
    zero, last = (number(one, "int64") for one in (0, LAST))
    begin, end = ([one] * rank for one in (zero, last))
    begin[axis] = c.as_("start", "int64") if c.has("start") else zero
    end[axis] = c.as_("end", "int64") if c.has("end") else last
    strides = [c("step") if one == axis else 1 for one in range(rank)]
    made = op.strided_slice(c("self"), op.stack(begin, axis=0), op.stack(end, axis=0), strides)
    return made if c.makes_sizes() else op.reshape(made, newshape=c.out_shape, allowzero=True)


def select(c: Conversion):
    axis, index = c.axis(), c("index")
    if not isinstance(index, int):
        return op.take(c("self"), c.as_("index", "int64"), axis=axis, mode="clip")
    piece = _piece(c("self"), axis, index, LAST if index == -1 else index + 1)
    return op.squeeze(piece, axis=[axis])


def _pieces(c: Conversion, sizes: list) -> list:
    axis, begin, pieces = c.axis(), 0, []
    if not all(isinstance(one, int) for one in sizes):
        return _computed_pieces(c, axis)
    for one in sizes:
        pieces.append(_piece(c("self"), axis, begin, begin + one))
        begin += one
    return pieces


def _computed_pieces(c: Conversion, axis: int) -> list:
    """Returns pieces whose sizes are computed from other sizes."""
    begin, pieces, rank = 0, [], c.rank("self")
    for one in c.result:
        end = begin + one.shape[axis]
        begins, ends = ([at if i == axis else least for i in range(rank)] for at, least in ((begin, 0), (end, LAST)))
        places = (numbers_of_sizes(numbers, c._sizes) for numbers in (begins, ends))
        piece = op.strided_slice(c("self"), *places, [1] * rank)
        pieces.append(op.reshape(piece, newshape=[size(extent) for extent in one.shape], allowzero=True))
        begin = end
    return pieces


def split(c: Conversion):
    """Imports split, chunk and split_with_sizes. The types of the results determine the sizes."""
    return _pieces(c, [one.shape[c.axis()] for one in c.result])


def unbind(c: Conversion):
    return [op.squeeze(piece, axis=[c.axis()]) for piece in _pieces(c, [1] * len(c.result))]


def flip(c: Conversion):
    data = c("self")
    for axis in c.axes("dims") if c("dims") else []:
        data = op.reverse(data, axis=axis)
    return data


def roll(c: Conversion):
    data = c("self")
    dims = c.axes("dims") if c("dims") else None
    if dims is None:
        data, dims, extents = op.reshape(data, newshape=[-1]), [0], [math.prod(c.shape("self"), start=1)]
    else:
        extents = c.shape("self")
    for place, axis in enumerate(dims):
        extent, shift = extents[axis], c("shifts")[place]
        if not isinstance(extent, int) or not isinstance(shift, int):
            shift = op.take(c.numbers("shifts"), number(place, "int64"), axis=0)
            data = op.take(data, op.subtract(counted(extent), shift), axis=axis, mode="wrap")
            continue
        shift = shift % max(extent, 1)
        if shift:
            data = op.concatenate(
                [_piece(data, axis, extent - shift, extent), _piece(data, axis, 0, extent - shift)], axis=axis
            )
    return data if c("dims") else op.reshape(data, newshape=c.out_shape, allowzero=True)


def _wrapped(data, pairs: list):
    """Pads circularly. Negative padding crops."""
    for axis, (before, after) in enumerate(pairs):
        if (before, after) == (0, 0):
            continue
        middle = _piece(data, axis, max(-before, 0), min(after, 0) or LAST)
        parts = [_piece(middle, axis, -before, LAST)] if before > 0 else []
        parts += [middle, *([_piece(middle, axis, 0, after)] if after > 0 else [])]
        data = op.concatenate(parts, axis=axis) if len(parts) > 1 else middle
    return data


def pad(mode: str | None = None):
    """Imports padding operators. `mode` is for operators that are named after their mode."""

    def convert(c):
        widths = c("padding" if mode else "pad")
        how = mode or (c("mode") if "mode" in c._raw else "constant")
        how = {"replicate": "edge"}.get(how, how)
        filling = number(c("value") or 0, c.dtype) if "value" in c._raw else number(0, c.dtype)
        places = [[i, i + 1] for i in range(0, len(widths), 2)][::-1]
        others = c.rank("self") - len(places)
        if not all(isinstance(one, int) for one in widths):
            if how == "circular":
                raise UnknownSize("the width of the padding is known only at run time")
            inner = op.take(c.numbers("padding" if mode else "pad"), const(np.array(places)), axis=0)
            pairs = op.nn.pad(inner, pad_width=[[others, 0], [0, 0]], pad_value=number(0, "int64"))
            made = op.dyn.nn.pad(c("self"), pairs, filling, pad_mode=how)
            return made if c.makes_sizes() else op.reshape(made, newshape=c.out_shape, allowzero=True)
        pairs = [[0, 0]] * others + [[widths[before], widths[after]] for before, after in places]
        if how == "circular":
            return _wrapped(c("self"), pairs)
        return op.nn.pad(c("self"), pad_width=pairs, pad_value=filling, pad_mode=how)

    return convert
