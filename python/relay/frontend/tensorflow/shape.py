"""Operators that change the shape, the order or the number of elements."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import cast, shape_of
from ..shared.known import constant, refuse_open, size_number
from ..shared.problems import Refused
from .conversion import Conversion, axis_of
from .slices import windows_of
from .values import Absent, number


def shape(c: Conversion):
    """Shape of a tensor whose number of elements is computed at run time. Others are known at import."""
    return op.shape_of(c.x, dtype=c("out_type", "int32"))


def shape_n(c: Conversion):
    return [op.shape_of(one, dtype=c("out_type", "int32")) for one in c.exprs()]


def size(c: Conversion):
    return cast(op.ndarray_size(c.x), c("out_type", "int32"))


def reshape(c: Conversion):
    sizes = c.known(1)
    if sizes is None:
        return _reshaped_at_run_time(c)
    sizes = [one if isinstance(one, Dim) else int(one) for one in sizes.reshape(-1)]
    if sizes.count(-1) > 1:
        raise Refused(f"its shape {tuple(sizes)} leaves several sizes open")
    return reshaped(c.x, sizes)


def reshaped(x: Expr, sizes: list) -> Expr:
    """Returns a tensor in this shape; one size may be -1. An open size of the data that is kept takes its place."""
    if -1 in sizes:
        own = shape_of(x)
        rest = [one for place, one in enumerate(sizes) if one != -1]
        if not any(isinstance(one, Dim) for one in [*own, *rest]):
            total, given = math.prod(own), math.prod(rest)
            if given and total % given == 0:
                sizes = [total // given if one == -1 else one for one in sizes]
        elif (left := _left(own, rest)) is not None:
            sizes = [left if one == -1 else one for one in sizes]
    return op.reshape(x, newshape=sizes, allowzero=True) if 0 in sizes else op.reshape(x, newshape=sizes)


def _left(own: list, rest: list):
    """Returns the product of sizes without those of `rest`, if they are the same sizes; None if that is not plain."""
    left = list(own)
    numbers = 1
    for one in rest:
        if isinstance(one, Dim):
            if one not in left:
                return None
            left.remove(one)
        else:
            numbers *= one
    dims = [one for one in left if isinstance(one, Dim)]
    plain = math.prod(one for one in left if not isinstance(one, Dim))
    if numbers == 0 or plain % numbers or any(one.is_any for one in dims):
        return None
    return math.prod(dims[1:], start=dims[0] * (plain // numbers)) if dims else plain // numbers


def _reshaped_at_run_time(c: Conversion):
    count = c.shape(1)
    if len(count) != 1 or isinstance(count[0], Dim):
        raise refuse_open("the number of axes of its result")
    return op.dyn.reshape(c.x, cast(c.y, "int64"), allowzero=True)


def transpose(c: Conversion):
    axes = c.ints(1, "its permutation")
    if sorted(axes) != list(range(c.rank(0))):
        raise Refused(f"{axes} is not a permutation of {c.rank(0)} axes")
    return op.transpose(c.x, axes=axes) if axes != list(range(len(axes))) else c.value(0)


def expand_dims(c: Conversion):
    return op.expand_dims(c.x, axis=c.axis(1, c.rank(0) + 1))


def squeeze(c: Conversion):
    sizes = c.shape(0)
    axes = [axis_of(one, len(sizes)) for one in c.list("squeeze_dims", c.list("axis", []))]
    if not axes:
        axes = [place for place, one in enumerate(sizes) if one == 1 and not isinstance(one, Dim)]
    return op.squeeze(c.x, axis=axes) if axes else c.value(0)


def pack(c: Conversion):
    axis = c("axis", 0)
    return op.stack(c.exprs(), axis=axis_of(axis, c.rank(0) + 1))


def unpack(c: Conversion):
    axis = axis_of(c("axis", 0), c.rank(0))
    count = c.size(axis)
    if count != c("num", count):
        raise Refused(f"it takes apart {c('num')} elements of an axis with {count}")
    return [op.take(c.x, number(place, "int32"), axis=axis, mode="clip") for place in range(count)]


def concat(c: Conversion):
    """ConcatV2(.., axis); Concat(axis, ..)."""
    first = c.node.op == "Concat"
    places = range(1, len(c.inputs)) if first else range(len(c.inputs) - 1)
    axis = axis_of(c.int(0 if first else len(c.inputs) - 1, "its axis"), c.rank(places[0]))
    parts = [c.expr(place) for place in places]
    kept = [
        one for one in parts if not (len(shape_of(one)) == 1 and shape_of(one)[0] == 0 and len(shape_of(parts[0])) != 1)
    ]
    return op.concatenate(kept, axis=axis) if len(kept) > 1 else kept[0]


def split(c: Conversion):
    """Split(axis, value)."""
    axis, count = axis_of(c.int(0, "its axis"), c.rank(1)), c("num_split")
    if count == 1:
        return [c.value(1)]
    size_ = c.shape(1)[axis]
    if isinstance(size_, int) and (count < 1 or size_ % count):
        raise Refused(f"{size_} elements are split into {count} parts")
    made = op.split(c.expr(1), indices_or_sections=count, axis=axis)
    return [made[place] for place in range(count)]


def split_v(c: Conversion):
    """SplitV(value, sizes, axis)."""
    axis = axis_of(c.int(2, "its axis"), c.rank(0))
    sizes = c.ints(1, "its sizes")
    if -1 in sizes:
        sizes[sizes.index(-1)] = c.size(axis) - sum(one for one in sizes if one != -1)
    if min(sizes, default=0) < 0:
        raise Refused(f"its sizes are {sizes}")
    if len(sizes) == 1:
        return [c.value(0)]
    ends = list(np.cumsum(sizes))
    return [
        op.strided_slice(c.x, begin=[int(end - one)], end=[int(end)], strides=[1], axes=[axis])
        for one, end in zip(sizes, ends, strict=True)
    ]


def strided_slice(c: Conversion):
    if any(c.known(place) is None for place in (1, 2, 3)):
        return _sliced_at_run_time(c)
    return sliced(c.x, windows_of(c, c.shape(0)))


_ALL = int(np.iinfo(np.int64).max)


def sliced(x: Expr, windows: list) -> Expr:
    """Returns the windows of a tensor; a part of one axis may be left out or added."""
    sizes = shape_of(x)
    begins, ends, strides, axes = [], [], [], []
    for one in windows:
        if one.axis is None or (one.begin is None and one.end is None and one.stride == 1):
            continue
        begin, end = _bounds(one, sizes[one.axis])
        begins.append(begin), ends.append(end), strides.append(one.stride), axes.append(one.axis)
    if any(isinstance(one, Dim) for one in [*begins, *ends]):
        x = _cut_by_sizes(x, begins, ends, strides, axes)
    elif axes:
        x = op.strided_slice(x, begin=begins, end=ends, strides=strides, axes=axes)
    own = shape_of(x)
    wanted = [1 if one.axis is None else own[one.axis] for one in windows if not one.shrinks]
    has_changed = any(one.shrinks or one.axis is None for one in windows)
    if not has_changed:
        return x
    gone = [one.axis for one in windows if one.shrinks]
    if not any(isinstance(one, Dim) for one in wanted):
        return op.reshape(x, newshape=wanted)
    x = op.squeeze(x, axis=gone) if gone else x
    for place, one in enumerate([one for one in windows if not one.shrinks]):
        x = op.expand_dims(x, axis=place) if one.axis is None else x
    return x


def _bounds(one, size_) -> tuple:
    if one.shrinks:
        begin = one.begin
        if isinstance(begin, Dim):
            return begin, begin + 1
        return begin, (begin + 1 if begin != -1 else _ALL)
    begin = (0 if one.stride > 0 else _ALL) if one.begin is None else one.begin
    if one.end is not None:
        return begin, one.end
    return begin, _ALL if one.stride > 0 else -_ALL


def _cut_by_sizes(x: Expr, begins: list, ends: list, strides: list, axes: list) -> Expr:
    """Returns a part whose bounds are sizes over shape variables. Rows are taken, so that its size stays known."""
    for begin, end, stride, axis in zip(begins, ends, strides, axes, strict=True):
        own = shape_of(x)[axis]
        if not isinstance(begin, Dim) and not isinstance(end, Dim):
            x = op.strided_slice(x, begin=[begin], end=[end], strides=[stride], axes=[axis])
            continue
        if stride != 1:
            raise refuse_open("the begin or end of a slice in steps")
        first, last = _inside(begin, own), _inside(end, own)
        count = Dim(last).min(own) - first if end != _ALL else Dim(own) - first
        rows = op.cumsum(op.ones([Dim(count).max(0)], dtype="int64"), axis=0, exclusive=True)
        x = op.take(x, op.add(rows, size_number(first)), axis=axis, mode="clip")
    return x


def _inside(bound, own):
    """Returns a bound, counted from the front."""
    if isinstance(bound, Dim) or bound >= 0:
        return bound
    return Dim(own) + bound


def _sliced_at_run_time(c: Conversion):
    """A slice whose bounds are computed: one number that picks an element, or begins and ends without masks."""
    x, rank = c.x, c.rank(0)
    masks = {name: c(f"{name}_mask", 0) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    count = c.shape(1)[0]
    strides = c.known(3)
    if isinstance(count, Dim) or masks["ellipsis"] or masks["new_axis"] or strides is None or (strides != 1).any():
        raise refuse_open("the begin or end of a slice with an ellipsis, a new axis or steps")
    begin = op.cast(c.expr(1), "int64")
    end = op.cast(c.expr(2), "int64")
    own = op.shape_of(x, dtype="int64")
    gone = [place for place in range(count) if masks["shrink_axis"] >> place & 1]
    for place in sorted(gone, reverse=True):
        index = op.take(begin, number(place, "int32"), axis=0, mode="clip")
        extent = op.take(own, number(place, "int32"), axis=0, mode="clip")
        index = op.where(op.less(index, number(0, "int64")), op.add(index, extent), index)
        x = op.take(x, index, axis=place, mode="checked")
    rest = [place for place in range(count) if place not in gone]
    open_ = [place for place in rest if not (masks["begin"] >> place & 1 and masks["end"] >> place & 1)]
    if not open_:
        return x
    kept = [place for place in range(rank) if place not in gone]
    zero, most = constant(np.zeros(1, np.int64)), constant(np.asarray([_ALL], np.int64))
    begins, ends = [], []
    for place in kept:
        one = op.strided_slice(begin, begin=[place], end=[place + 1]) if place in open_ else zero
        begins.append(zero if place in open_ and masks["begin"] >> place & 1 else one)
        one = op.strided_slice(end, begin=[place], end=[place + 1]) if place in open_ else most
        ends.append(most if place in open_ and masks["end"] >> place & 1 else one)
    together = [op.concatenate(one, axis=0) if len(one) > 1 else one[0] for one in (begins, ends)]
    return op.dyn.strided_slice(x, *together, constant(np.ones(len(kept), np.int64)))


def slice_(c: Conversion):
    """Slice(data, begin, size); a size of -1 takes the rest."""
    begin, sizes = c.known(1), c.known(2)
    if begin is None or sizes is None:
        return _slice_at_run_time(c, sizes)
    begin, sizes = c.sizes(1), c.sizes(2)
    if not len(begin) == len(sizes) == c.rank(0):
        raise Refused(f"it slices {len(begin)} axes of a tensor that has {c.rank(0)}")
    ends = [
        _ALL if one == -1 and not isinstance(one, Dim) else first + one for first, one in zip(begin, sizes, strict=True)
    ]
    axes = list(range(len(begin)))
    if any(isinstance(one, Dim) for one in [*begin, *ends]):
        return _cut_by_sizes(c.x, begin, ends, [1] * len(axes), axes)
    return op.strided_slice(c.x, begin=begin, end=ends, strides=[1] * len(axes), axes=axes)


def _slice_at_run_time(c: Conversion, sizes):
    begin = op.cast(c.expr(1), "int64")
    own = op.shape_of(c.x, dtype="int64")
    length = op.cast(c.expr(2), "int64")
    rest = op.less(length, number(0, "int64"))
    end = op.where(rest, own, op.add(begin, length))
    if sizes is not None and not any(isinstance(one, Dim) for one in sizes.reshape(-1)) and (sizes >= 0).all():
        x = c.x  # the sizes are known, only the place is not
        for axis, count in enumerate(int(one) for one in sizes.reshape(-1)):
            first = op.take(begin, number(axis, "int32"), axis=0, mode="clip")
            rows = op.add(constant(np.arange(count, dtype=np.int64)), first)
            x = op.take(x, rows, axis=axis, mode="checked") if count != shape_of(x)[axis] else x
        return x
    return op.dyn.strided_slice(c.x, begin, end, constant(np.ones(c.rank(0), np.int64)))


def tile(c: Conversion):
    counts = c.known(1)
    if counts is None or any(isinstance(one, Dim) for one in counts.reshape(-1)):
        if counts is not None and all(one == 1 or size_ == 1 for one, size_ in zip(counts, c.shape(0), strict=True)):
            sizes = [one if size_ == 1 else size_ for one, size_ in zip(counts, c.shape(0), strict=True)]
            return op.broadcast_to(c.x, shape=[one if isinstance(one, Dim) else int(one) for one in sizes])
        return op.dyn.tile(c.x, cast(c.y, "int64"))
    return op.tile(c.x, reps=[int(one) for one in counts])


def fill(c: Conversion):
    """Fill(sizes, value)."""
    sizes = c.known(0)
    if sizes is None:
        return op.dyn.full(c.expr(1), cast(c.expr(0), "int64"), dtype=c.dtype(1))
    return op.full(c.expr(1), shape=_sizes(sizes))


def _sizes(found: np.ndarray) -> list:
    return [one if isinstance(one, Dim) else int(one) for one in found.reshape(-1)]


def broadcast_to(c: Conversion):
    sizes = c.known(1)
    if sizes is None:
        return op.dyn.broadcast_to(c.x, cast(c.y, "int64"))
    return op.broadcast_to(c.x, shape=_sizes(sizes))


def ensure_shape(c: Conversion):
    """EnsureShape: sizes that are stated replace those that are not known."""
    wanted, own = c("shape"), c.shape(0)
    if wanted is None:
        return c.value(0)
    if len(wanted) != len(own) or any(
        a != b for a, b in zip(wanted, own, strict=True) if a >= 0 and isinstance(b, int)
    ):
        raise Refused(f"it asks for the shape {tuple(wanted)}, and its input has {tuple(own)}")
    sizes = [a if a >= 0 and isinstance(b, Dim) and b.is_any else b for a, b in zip(wanted, own, strict=True)]
    known = sum(isinstance(one, Dim) and one.is_any for one in sizes)
    if known > 1 or sizes == own:
        return c.value(0)
    return op.reshape(c.x, newshape=[-1 if isinstance(one, Dim) and one.is_any else one for one in sizes])


def pad(c: Conversion):
    """Pad, PadV2 (with a value), MirrorPad."""
    widths = c.elements(1, "its padding")
    if widths.shape != (c.rank(0), 2) or widths.dtype == object:
        raise Refused(f"its padding has the shape {widths.shape}, and its input {c.rank(0)} axes")
    widths = [[int(one) for one in row] for row in widths]
    if c.node.op == "MirrorPad":
        return op.nn.mirror_pad(c.x, pad_width=widths, mode=c.text("mode", "REFLECT"))
    if not c.has(2):
        return op.nn.pad(c.x, pad_width=widths)
    value = c.known(2)
    if value is None:
        return op.nn.pad(c.x, widths, c.expr(2))
    return op.nn.pad(c.x, pad_width=widths, pad_value=value.reshape(-1)[0].item())


def range_(c: Conversion):
    """Range(first, limit, step)."""
    if all(c.known(place) is not None for place in range(3)):
        first, limit, step = (c.elements(place, "it").reshape(-1)[0] for place in range(3))
        dtype = c.dtype(0)
        if step == 1 and isinstance(limit, Dim) and not isinstance(first, Dim):
            return cast(op.add(_counted(limit - int(first)), number(int(first), "int64")), dtype)
        if not any(isinstance(one, Dim) for one in (first, limit, step)):
            count = max(0, math.ceil((limit - first) / step))
            if count > 1 << 28:
                raise Refused(f"it has {count} elements")
            return constant((first + np.arange(count) * step), dtype)
    return op.arange(c.expr(0), c.expr(1), c.expr(2), dtype=c.dtype(0))


def _counted(count) -> Expr:
    """Returns 0, 1, .. below a size."""
    return op.cumsum(op.ones([count], dtype="int64"), axis=0, exclusive=True)


def lin_space(c: Conversion):
    """LinSpace(first, last, count)."""
    count = c.int(2, "its number of elements")
    if not 0 < count <= 1 << 26:
        raise Refused(f"it has {count} elements")
    dtype, first, last = c.dtype(0), c.expr(0), c.expr(1)
    if count == 1:
        return op.reshape(first, newshape=[1])
    step = op.divide(op.subtract(last, first), number(count - 1, dtype))
    inner = op.add(op.multiply(constant(np.arange(count - 1), dtype), step), first)
    return op.concatenate([inner, op.reshape(last, newshape=[1])], axis=0)


def reverse(c: Conversion):
    """ReverseV2(data, axes)."""
    made = c.x
    for axis in c.axes(1):
        made = op.reverse(made, axis=axis)
    return made


def reverse_sequence(c: Conversion):
    return op.reverse_sequence(
        c.x, cast(c.y, "int32"), seq_axis=axis_of(c("seq_dim"), c.rank(0)),
        batch_axis=axis_of(c("batch_dim", 0), c.rank(0)),
    )  # fmt: skip


def roll(c: Conversion):
    """Roll(data, shifts, axes)."""
    made, shifts, axes = c.x, c.ints(1, "its shifts"), [axis_of(one, c.rank(0)) for one in c.ints(2, "its axes")]
    for shift, axis in zip(shifts, axes, strict=True):
        extent = shape_of(made)[axis]
        if isinstance(extent, Dim):
            at = -shift
        elif extent == 0:
            continue
        else:
            at = -(shift % extent)
        if at == 0:
            continue
        parts = [([at], [_ALL]), ([0], [at])]
        made = op.concatenate(
            [op.strided_slice(made, begin=b, end=e, strides=[1], axes=[axis]) for b, e in parts], axis=axis
        )
    return made


def _block(c: Conversion, function):
    layout, block = c.text("data_format", "NHWC"), c("block_size")
    if layout not in ("NHWC", "NCHW"):
        raise Refused(f"its data format is {layout}", "use NHWC or NCHW")
    return function(c.x, block_size=block, layout=layout, mode="DCR")


def depth_to_space(c: Conversion):
    return _block(c, op.nn.depth_to_space)


def space_to_depth(c: Conversion):
    return _block(c, op.nn.space_to_depth)


def space_to_batch(c: Conversion):
    """SpaceToBatchND(data, block, paddings); SpaceToBatch has one block size."""
    block, paddings = _blocks(c)
    return op.nn.space_to_batch_nd(c.x, block_shape=block, paddings=paddings)


def batch_to_space(c: Conversion):
    block, crops = _blocks(c)
    return op.nn.batch_to_space_nd(c.x, block_shape=block, crops=crops)


def _blocks(c: Conversion) -> tuple[list, list]:
    if c.node.op in ("SpaceToBatch", "BatchToSpace"):
        widths = c.elements(1, "its paddings")
        block = [c("block_size")] * 2
    else:
        block, widths = c.ints(1, "its block"), c.elements(2, "its paddings")
    if widths.dtype == object or widths.shape != (len(block), 2):
        raise Refused(f"its paddings have the shape {widths.shape}, and its block {len(block)} sizes")
    return block, [[int(one) for one in row] for row in widths]


def unravel_index(c: Conversion):
    return op.unravel_index(c.x, c.y)


def invert_permutation(c: Conversion):
    return op.invert_permutation(c.x)


def identity_n(c: Conversion):
    return list(c.inputs)


def broadcast_args(c: Conversion):
    raise refuse_open("one of the shapes that it joins")


def nothing(c: Conversion):
    """A node without results: NoOp, Assert."""
    return [Absent("the result of a node that has none")]


def parallel_concat(c: Conversion):
    """ParallelConcat: rows of size 1, joined along the first axis."""
    return op.concatenate(c.exprs(), axis=0) if len(c.inputs) > 1 else c.value(0)


def empty(c: Conversion):
    """Empty(sizes): TensorFlow leaves its elements open, here they are 0."""
    return op.zeros(c.sizes(0), dtype=c("dtype"))
