"""Operators of MXNet that change shapes, join, divide and choose."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Constant, Expr
from ..shared.expressions import axis_of, bounded, dtype_of, known, number, shape_of
from ..shared.problems import Refused
from .conversion import Operator

MOST = 1 << 28  # elements of a constant


def _reshaped(c: Operator, shape: list) -> Expr:
    """Returns the input in another shape. A constant stays one."""
    if isinstance(c.x, Constant) and all(isinstance(one, int) for one in shape):
        return c.constant(c.array(0, "it").reshape(shape))
    return op.reshape(c.x, shape)


def reshape(c: Operator):
    c.ignore("keep_highest")
    codes = c.ints("shape", []) or c.ints("target_shape", [])
    return _reshaped(c, new_sizes(c.shape, codes, c.flag("reverse")))


def new_sizes(old: list, codes: list[int], is_reversed: bool) -> list:
    """Returns a shape from MXNet's codes: 0 copies a size, -1 takes what is left, -2 copies all further sizes, -3 joins
    two, -4 divides one into the next two."""
    if is_reversed:
        if -4 in codes:
            raise Refused("the code -4 with `reverse` is not imported")
        return new_sizes(old[::-1], codes[::-1], False)[::-1]
    made, at, place = [], 0, 0

    def take():
        nonlocal at
        if at >= len(old):
            raise Refused(f"`shape` {tuple(codes)} copies more sizes than {old} has")
        at += 1
        return old[at - 1]

    while place < len(codes):
        code = codes[place]
        place += 1
        if code > 0:
            made.append(code)
            at += 1
        elif code == 0:
            made.append(take())
        elif code == -1:
            made.append(-1)
            at += 1
        elif code == -2:
            made += old[at:]
            at = len(old)
        elif code == -3:
            made.append(known(take(), "a joined axis") * known(take(), "a joined axis"))
        elif code == -4 and place + 1 < len(codes):
            size, parts = known(take(), "a divided axis"), codes[place : place + 2]
            place += 2
            if -1 in parts:
                other = parts[1 - parts.index(-1)]
                if other < 1 or size % other:
                    raise Refused(f"an axis of {size} is not divided into {tuple(parts)}")
                parts[parts.index(-1)] = size // other
            made += parts
        else:
            raise Refused(f"`shape` {tuple(codes)} has the unknown code {code}")
    return _completed(old, made)


def _completed(old: list, made: list) -> list:
    """Returns sizes with a number in place of -1, if all others are known."""
    if made.count(-1) > 1:
        raise Refused(f"two sizes of {made} are left open")
    if -1 in made and all(isinstance(one, int) for one in [*old, *made]):
        rest = math.prod(one for one in made if one != -1)
        if not rest or math.prod(old) % rest:
            raise Refused(f"the shape {old} does not fit into {made}")
        made[made.index(-1)] = math.prod(old) // rest
    return made


def npx_reshape(c: Operator):
    """Codes of the interface like NumPy's: -2 copies a size, -3 skips a one, -4 copies all further, -5 joins two, -6
    divides one."""
    c.ignore("order")
    codes = c.ints("newshape")
    other = {-2: 0, -4: -2, -5: -3, -6: -4}
    if -3 in codes:
        old, made = list(c.shape), []
        for code in codes:
            if code == -3:
                if old[len(made)] != 1:
                    raise Refused(f"the code -3 skips an axis of {old[len(made)]}, not 1")
                del old[len(made)]
            else:
                made.append(code)
        return _reshaped(c, new_sizes(old, [other.get(one, one) for one in made], c.flag("reverse")))
    return _reshaped(c, new_sizes(c.shape, [other.get(one, one) for one in codes], c.flag("reverse")))


def reshape_like(c: Operator):
    begin, end = c.int("lhs_begin", 0), c.int("lhs_end", c.rank)
    other = shape_of(c.input(1))
    begin_, end_ = c.int("rhs_begin", 0), c.int("rhs_end", len(other))
    return op.reshape(c.x, [*c.shape[:begin], *other[begin_:end_], *c.shape[end:]])


def flatten(c: Operator):
    return c.x if c.rank == 2 else op.nn.batch_flatten(c.x)


def transpose(c: Operator):
    axes = c.ints("axes", [])
    return op.transpose(c.x, axes=[axis_of(one, c.rank) for one in axes] if axes else None)


def swap_axis(c: Operator):
    first, second = c.axis("dim1", 0), c.axis("dim2", 0)
    axes = list(range(c.rank))
    axes[first], axes[second] = second, first
    return op.transpose(c.x, axes=axes)


def expand_dims(c: Operator):
    return op.expand_dims(c.x, axis=axis_of(c.int("axis"), c.rank + 1))


def squeeze(c: Operator):
    axes = c.ints("axis", [])
    axes = [axis_of(one, c.rank) for one in axes] if axes else [at for at, one in enumerate(c.shape) if one == 1]
    kept = [one for at, one in enumerate(c.shape) if at not in axes]
    return op.reshape(c.x, kept or [1])


def concat(name: str):
    def convert(c: Operator):
        c.ignore("num_args")
        return op.concatenate(c.inputs, axis=axis_of(c.int(name, 1 if name == "dim" else 0), c.rank))

    return convert


def stack(c: Operator):
    c.ignore("num_args")
    return op.stack(c.inputs, axis=axis_of(c.int("axis", 0), c.rank + 1))


def slice_channel(c: Operator):
    count, axis = bounded(c.count("num_outputs"), 10_000, "`num_outputs`"), c.axis("axis", 1)
    size = c.size(axis, "a divided axis")
    if size % count:
        raise Refused(f"an axis of {size} has no {count} equal parts")
    parts = list(op.split(c.x, count, axis=axis)) if count > 1 else [c.x]
    return [op.squeeze(one, axis=[axis]) for one in parts] if c.flag("squeeze_axis") else parts


def split_v2(c: Operator):
    axis, sections = c.axis("axis", 0), c.int("sections", 0)
    size = c.size(axis, "a divided axis")
    if sections:
        if size % sections:
            raise Refused(f"an axis of {size} has no {sections} equal parts")
        c.ignore("indices")
        points = [size // sections * one for one in range(1, sections)]
    else:
        points = [one for one in c.ints("indices", []) if one]  # the first is 0
    parts = list(op.split(c.x, points, axis=axis)) if points else [c.x]
    return [op.squeeze(one, axis=[axis]) for one in parts] if c.flag("squeeze_axis") else parts


def _bounds(size: int, begin, end, step) -> tuple[int, int, int]:
    """Returns begin, end and step of a slice as Python computes them."""
    step = 1 if step in (None, 0) else step
    return slice(begin, end, step).indices(size)


def _sliced(c: Operator, bounds: list[tuple[int, int, int]], axes: list[int]) -> Expr:
    """Returns the first input between bounds. Negative steps are a choice of positions."""
    begins, ends, steps = (list(one) for one in zip(*bounds, strict=True))
    if any(one < 0 for one in steps):
        x = c.x
        for (begin, end, step), axis in zip(bounds, axes, strict=True):
            places = np.arange(begin, end, step)
            x = op.take(x, c.constant(places, "int32"), axis=axis)
        return x
    return op.strided_slice(c.x, begin=begins, end=ends, strides=steps, axes=axes)


def slice_(c: Operator):
    begins, ends, steps = (c._literal(name, ()) for name in ("begin", "end", "step"))
    begins, ends, steps = ([one] if one is None or isinstance(one, int) else list(one) for one in (begins, ends, steps))
    steps = steps or [None] * len(begins)
    if not len(begins) == len(ends) == len(steps) <= c.rank:
        raise Refused(f"it has {len(begins)} begins, {len(ends)} ends and {len(steps)} steps for {c.rank} axes")
    sizes = [known(one, "a slice") for one in c.shape[: len(begins)]]
    bounds = [_bounds(*one) for one in zip(sizes, begins, ends, steps, strict=True)]
    return _sliced(c, bounds, list(range(len(bounds))))


def slice_axis(c: Operator):
    axis, begin = c.axis("axis"), c.int("begin")
    end = c.int("end") if c.has("end") else None
    return _sliced(c, [_bounds(c.size(axis, "a slice"), begin, end, None)], [axis])


def slice_like(c: Operator):
    axes = c.ints("axes", [])
    other = shape_of(c.input(1))
    axes = [axis_of(one, c.rank) for one in axes] if axes else list(range(min(c.rank, len(other))))
    ends = [known(other[axis], "a slice") for axis in axes]
    if any(end > known(c.shape[axis], "a slice") for axis, end in zip(axes, ends, strict=True)):
        raise Refused(f"the shape {other} is larger than {c.shape}")
    return op.strided_slice(c.x, begin=[0] * len(axes), end=ends, axes=axes)


def tile(c: Operator):
    reps = c.ints("reps")
    bounded(math.prod(reps), MOST, "the number of copies")
    return op.tile(c.x, reps=reps)


def repeat(c: Operator):
    count = bounded(c.count("repeats"), 1 << 20, "`repeats`")
    if not c.has("axis"):
        return op.repeat(op.reshape(c.x, [-1]), count, axis=0)
    return op.repeat(c.x, count, axis=c.axis("axis"))


def reverse(c: Operator):
    made = c.x
    for axis in c.axes("axis"):
        made = op.reverse(made, axis=axis)
    return made


def pad(c: Operator):
    mode = c.text("mode", "constant", ("constant", "edge", "reflect"))
    widths = c.ints("pad_width", count=2 * c.rank)
    if any(not 0 <= one < 1 << 20 for one in widths):
        raise Refused(f"`pad_width` is {tuple(widths)}")
    pairs = [[widths[2 * axis], widths[2 * axis + 1]] for axis in range(c.rank)]
    value = c.real("constant_value", 0.0)
    c.ignore("reflect_type")
    return op.nn.pad(c.x, pad_width=pairs, pad_value=value, pad_mode=mode) if mode == "constant" else op.nn.pad(
        c.x, pad_width=pairs, pad_mode=mode)  # fmt: skip


def npi_pad(c: Operator):
    mode = c.text("mode", "constant", ("constant", "edge", "reflect"))
    found = c._literal("pad_width", None)
    pairs = [list(one) for one in found] if isinstance(found, (tuple, list)) else []
    if len(pairs) != c.rank or not all(len(one) == 2 and all(type(n) is int and n >= 0 for n in one) for one in pairs):
        raise Refused(f"`pad_width` is {found!r}, not a pair for each of {c.rank} axes")
    c.ignore("reflect_type", "stat_length", "end_values")
    value = c.real("constant_values", c.real("constant_value", 0.0))
    how = {"pad_value": value} if mode == "constant" else {}
    return op.nn.pad(c.x, pad_width=pairs, pad_mode=mode, **how)


def crop(c: Operator):
    """An image of a given size, or of that of the second input, from an offset or from the middle."""
    c.ignore("num_args")
    x = c.with_rank(4)
    high, wide = c.ints("h_w", (0, 0)) if len(c.inputs) == 1 else [known(one, "it") for one in shape_of(c.input(1))[2:]]
    sizes = [known(one, "it") for one in c.shape[2:]]
    top, left = c.ints("offset", (0, 0))
    if c.flag("center_crop"):
        top, left = (sizes[0] - high) // 2, (sizes[1] - wide) // 2
    if top < 0 or left < 0 or top + high > sizes[0] or left + wide > sizes[1]:
        raise Refused(f"an image of {high}x{wide} at {top}, {left} is not inside of {sizes[0]}x{sizes[1]}")
    return op.strided_slice(x, begin=[top, left], end=[top + high, left + wide], axes=[2, 3])


def broadcast_axis(c: Operator):
    axes, sizes = [axis_of(one, c.rank) for one in c.ints("axis", [])], c.ints("size", [])
    if len(axes) != len(sizes):
        raise Refused(f"it has {len(axes)} axes and {len(sizes)} sizes")
    shape = list(c.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    return op.broadcast_to(c.x, shape)


def broadcast_to(c: Operator):
    shape = c.ints("shape")
    old = [1] * (len(shape) - c.rank) + list(c.shape)
    return op.broadcast_to(c.x, [have if want == 0 else want for want, have in zip(shape, old, strict=True)])


def broadcast_like(c: Operator):
    other = shape_of(c.input(1))
    if not c.has("lhs_axes"):
        return op.broadcast_to(c.x, other)
    shape = list(c.shape)
    for mine, its in zip(c.ints("lhs_axes"), c.ints("rhs_axes"), strict=True):
        shape[mine] = other[its]
    return op.broadcast_to(c.x, shape)


# --- constants --------------------------------------------------------------------------------------------------------
def filled(value: float | None):
    """Returns the converter of a constant tensor; None stands for the attribute `value`."""

    def convert(c: Operator):
        c.ignore("ctx", "order")
        found = c.real("value") if value is None else value
        shape = c.ints("shape", [])
        if any(one < 0 for one in shape) or math.prod(shape) > MOST:
            raise Refused(f"the shape {tuple(shape)} is not allowed")
        return c.constant(np.full(shape, found), c.dtype_of_attribute("float32"))

    return convert


def arange(c: Operator):
    c.ignore("ctx", "infer_range")
    start, step, count = c.real("start", 0.0), c.real("step", 1.0), c.count("repeat", 1)
    stop = c.real("stop") if c.has("stop") else None
    start, stop = (0.0, start) if stop is None else (start, stop)
    if step == 0 or abs((stop - start) / step) * count > MOST:
        raise Refused(f"a range from {start} to {stop} by {step} is not allowed")
    return c.constant(np.arange(start, stop, step).repeat(count), c.dtype_of_attribute("float32"))


def arange_like(c: Operator):
    """start, start + step, .. for each element of the input, or of one axis of it."""
    c.ignore("ctx")
    start, step, repeat = c.real("start", 0.0), c.real("step", 1.0), c.count("repeat", 1)
    shape = [c.size(c.axis("axis"), "a range")] if c.has("axis") else [known(one, "a range") for one in c.shape]
    count = math.prod(shape)
    values = start + step * (np.arange(count) // repeat)
    return c.constant(values.reshape(shape), c.dtype)


def shape_array(c: Operator):
    c.ignore("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")
    return c.constant(np.array([known(one, "its result") for one in c.shape], np.int64))


def size_array(c: Operator):
    return c.constant(np.array([math.prod(known(one, "its result") for one in c.shape)], np.int64))


# --- choice -----------------------------------------------------------------------------------------------------------
def take(c: Operator):
    axis, mode = c.axis("axis", 0), c.text("mode", "clip", ("clip", "wrap", "raise"))
    places = op.cast(c.input(1), "int32")
    return op.take(c.x, places, axis=axis, mode={"clip": "clip", "wrap": "wrap", "raise": "checked"}[mode])


def batch_take(c: Operator):
    rows, columns = (known(one, "it") for one in c.shape)
    start = c.constant(np.arange(rows, dtype=np.int32) * columns)
    return op.take(op.reshape(c.x, [rows * columns]), op.add(op.cast(c.input(1), "int32"), start), axis=0)


def pick(c: Operator):
    """Picks an element along an axis for each of the others."""
    c.without("mode", "clip")
    axis, keepdims = c.axis("axis", -1), c.flag("keepdims")
    size = c.size(axis, "it")
    places = op.clip(op.cast(c.input(1), "int32"), 0, size - 1)
    places = places if len(shape_of(places)) == c.rank else op.expand_dims(places, axis=axis)
    made = op.gather(c.x, axis, places)
    return made if keepdims else op.squeeze(made, axis=[axis])


def gather_nd(c: Operator):
    return op.gather_nd(c.x, op.cast(c.input(1), "int32"))


def scatter_nd(c: Operator):
    shape = c.ints("shape")
    bounded(math.prod(shape), MOST, "the size of its result")
    zeros = c.constant(np.zeros(shape), c.dtype)
    return op.scatter_nd(zeros, op.cast(c.input(1), "int32"), c.x, mode="update")


def one_hot(c: Operator):
    on, off = c.real("on_value", 1.0), c.real("off_value", 0.0)
    dtype = c.dtype_of_attribute("float32")
    return op.one_hot(
        op.cast(c.x, "int32"), number(on, dtype), number(off, dtype), depth=c.count("depth"), axis=-1, dtype=dtype
    )


def topk(c: Operator):
    count, ascends = c.int("k", 1), c.flag("is_ascend")
    kind = c.text("ret_typ", "indices", ("value", "indices", "both", "mask"))
    dtype = c.dtype_of_attribute("float32")
    x, axis = (c.x, c.axis("axis", -1)) if not (c.has("axis") is False and "axis" in c.node.attributes) else (
        op.reshape(c.x, [-1]), 0)  # fmt: skip
    size = known(shape_of(x)[axis], "it")
    count = size if count < 1 else min(count, size)
    values, places = op.topk(x, k=count, axis=axis, ret_type="both", is_ascend=ascends, dtype="int32")
    if kind == "mask":
        hot = op.one_hot(places, number(1.0, c.dtype), number(0.0, c.dtype), depth=size, axis=-1, dtype=c.dtype)
        made = op.sum(hot, axis=[axis])  # the depth is the last axis
        order = list(range(len(shape_of(made))))
        order.insert(axis, order.pop())
        return op.transpose(made, axes=order)
    return {"value": [values], "indices": [op.cast(places, dtype)], "both": [values, op.cast(places, dtype)]}[kind]


def argsort(c: Operator):
    return op.cast(op.argsort(c.x, axis=c.axis("axis", -1), is_ascend=c.flag("is_ascend", True), dtype="int32"),
                   c.dtype_of_attribute("float32"))  # fmt: skip


def sort(c: Operator):
    return op.sort(c.x, axis=c.axis("axis", -1), is_ascend=c.flag("is_ascend", True))


def unravel_index(c: Operator):
    shape = c.ints("shape")
    made = op.unravel_index(op.cast(c.x, "int32"), c.constant(np.array(shape, np.int32)))
    return op.cast(made, c.dtype)


def cumsum(c: Operator):
    x, axis = (c.x, c.axis("axis")) if c.has("axis") else (op.reshape(c.x, [-1]), 0)
    made = op.cumsum(x, axis=axis)
    return op.cast(made, c.dtype_of_attribute("float32")) if c.has("dtype") else made


def diag(c: Operator):
    """The diagonal of matrices, or a matrix with a given diagonal."""
    offset = c.int("k", 0)
    if c.rank == 1:
        size = c.size(0, "it")
        rows = c.constant(np.stack([np.arange(size) + max(-offset, 0), np.arange(size) + max(offset, 0)]), "int32")
        whole = size + abs(offset)
        return op.scatter_nd(c.constant(np.zeros((whole, whole)), c.dtype), rows, c.x, mode="update")
    if c.rank != 2:
        raise Refused("diagonals of more than two axes are not imported")
    high, wide = (known(one, "it") for one in c.shape)
    count = min(high - max(-offset, 0), wide - max(offset, 0))
    places = (np.arange(count) + max(-offset, 0)) * wide + np.arange(count) + max(offset, 0)
    return op.take(op.reshape(c.x, [high * wide]), c.constant(places, "int32"), axis=0)


# --- sequences --------------------------------------------------------------------------------------------------------
def sequence_mask(c: Operator):
    axis, value = c.int("axis", 0), c.real("value", 0.0)
    if not c.flag("use_sequence_length"):
        return c.x
    return op.sequence_mask(c.x, op.cast(c.input(1), "int32"), mask_value=value, axis=axis)


def sequence_reverse(c: Operator):
    c.without("axis", 0)
    if not c.flag("use_sequence_length"):
        return op.reverse(c.x, axis=0)
    return op.reverse_sequence(c.x, op.cast(c.input(1), "int32"), seq_axis=0, batch_axis=1)


def sequence_last(c: Operator):
    axis = c.int("axis", 0)
    x = c.x if axis == 0 else op.transpose(c.x, axes=[1, 0, *range(2, c.rank)])
    steps = known(shape_of(x)[0], "it")
    if not c.flag("use_sequence_length"):
        return op.squeeze(op.strided_slice(x, begin=[steps - 1], end=[steps], axes=[0]), axis=[0])
    last = op.subtract(op.cast(c.input(1), "int32"), number(1, "int32"))
    rows = op.transpose(x, axes=[1, 0, *range(2, c.rank)])
    taken = op.take(rows, op.reshape(last, [-1, 1]), axis=1, batch_dims=1)
    return op.squeeze(taken, axis=[1])


def ring_buffer(c: Operator):
    """The last elements of a buffer and the new data behind it, as many as the buffer holds."""
    axis = c.axis("axis", 0)
    data, buffer = c.counted(2)
    size, more = known(shape_of(buffer)[axis], "it"), known(shape_of(data)[axis], "it")
    both = op.concatenate([buffer, op.cast(data, dtype_of(buffer))], axis=axis)
    return op.strided_slice(both, begin=[more], end=[more + size], axes=[axis])


# --- images -----------------------------------------------------------------------------------------------------------
def blocks(function):
    def convert(c: Operator):
        return function(c.with_rank(4), block_size=c.count("block_size"))

    return convert


def up_sampling(c: Operator):
    c.ignore("num_args", "workspace", "multi_input_mode", "num_filter")
    scale, kind = bounded(c.count("scale"), 64, "`scale`"), c.text("sample_type", "nearest", ("nearest", "bilinear"))
    if kind == "nearest":
        if len(c.inputs) > 1:
            raise Refused("several images are not imported", "use one UpSampling for each")
        return op.nn.upsampling(c.with_rank(4), scale_h=float(scale), scale_w=float(scale))
    channels = c.size(1, "the channels")
    size, padding = 2 * scale - scale % 2, math.ceil((scale - 1) / 2)
    kernel = c.shaped(1, [channels, 1, size, size], "the weights")
    return op.nn.conv2d_transpose(
        c.with_rank(4), kernel, strides=[scale] * 2, padding=[padding] * 4, groups=channels, channels=channels,
        kernel_size=[size, size],
    )  # fmt: skip


def bilinear_resize(c: Operator):
    sizes = [known(one, "it") for one in c.shape[2:]]
    mode = c.text(
        "mode", "size", ("size", "like", "odd_scale", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up")
    )
    if mode == "like":
        wanted = [known(one, "it") for one in shape_of(c.input(1))[2:]]
    elif mode != "size":
        raise Refused(f"the mode {mode!r} is not imported", "use mode='size'")
    elif c.has("scale_height"):
        wanted = [int(one * c.real(name)) for one, name in zip(sizes, ("scale_height", "scale_width"), strict=True)]
    else:
        wanted = [c.count("height", 1), c.count("width", 1)]
    c.ignore("height", "width", "scale_height", "scale_width")
    corners = "align_corners" if c.flag("align_corners", True) else "half_pixel"
    return op.image.resize2d(c.with_rank(4), size=wanted, method="linear", coordinate_transformation_mode=corners)
