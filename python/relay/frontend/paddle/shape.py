"""Operators of PaddlePaddle that change shapes, join and divide."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Call, Constant, Dim, Expr, Op
from ..shared.expressions import axis_of, bounded, cast, dtype_of, is_known, known, number, shape_of
from ..shared.problems import Refused
from ..shared.shapes import reshaped
from ..shared.values import refuse_open, size_number
from .conversion import Operator

MOST = 1 << 28  # elements of a constant
_LAST = (1 << 31) - 1  # an end behind every element
_INF = int(np.iinfo(np.int64).max)


def shape(c: Operator):
    """The shape of a tensor whose number of elements is computed at run time. Others are known at import."""
    return op.shape_of(c.x, dtype="int64" if c.flag("is_long", False) else "int32")


def size(c: Operator):
    return cast(op.ndarray_size(c.x), "int64")


# --- reshape ----------------------------------------------------------------------------------------------------------
def sizes_given(c: Operator, attribute: str, slot: str, slots: str) -> list | Expr:
    """Returns sizes that an operand gives, or several operands, or an attribute; an expression if one is computed."""
    if c.gives(slots):
        c.ignore(attribute)
        found = c.sizes_of_every(slots)
        if not any(isinstance(one, Expr) for one in found):
            return found
        parts = [one if isinstance(one, Expr) else size_number(one) for one in found]
        return op.stack([cast(op.reshape(one, newshape=[]), "int64") for one in parts], axis=0)
    if c.gives(slot):
        c.ignore(attribute)
        found = c.sizes(slot)
        return cast(c[slot], "int64") if found is None else found
    return c.ints(attribute, [])


def reshape(c: Operator):
    """0 copies a size, -1 takes what is left. An operand wins over the attribute."""
    c.ignore("use_quantizer", "act")
    wanted = sizes_given(c, "shape", "Shape", "ShapeTensor")
    if isinstance(wanted, Expr):
        return _reshaped_at_run_time(c, wanted)
    own = c.shape
    if sum(not isinstance(one, Dim) and one == 0 for one in wanted) and any(
        not isinstance(one, Dim) and one == 0 and at >= len(own) for at, one in enumerate(wanted)
    ):
        raise Refused(f"`shape` {wanted} copies a size that {own} has not")
    wanted = [own[at] if not isinstance(one, Dim) and one == 0 else one for at, one in enumerate(wanted)]
    if sum(not isinstance(one, Dim) and one == -1 for one in wanted) > 1:
        raise Refused(f"`shape` {wanted} leaves several sizes open")
    if isinstance(c.x, Constant) and is_known(*wanted):
        return c.constant(np.asarray(c.x.data.numpy()).reshape(wanted))
    return reshaped(c.x, wanted)


def _reshaped_at_run_time(c: Operator, wanted: Expr) -> Expr:
    count = shape_of(wanted)
    if len(count) != 1 or isinstance(count[0], Dim):
        raise refuse_open("the number of axes of its result")
    return op.dyn.reshape(c.x, wanted)


def flatten_range(c: Operator):
    if not c.rank:
        return op.reshape(c.x, newshape=[1])
    begin, end = c.axis_named("start_axis", 1), c.axis_named("stop_axis", -1)
    sizes = c.shape
    if begin >= end:
        return c.x
    return reshaped(c.x, [*sizes[:begin], -1, *sizes[end + 1 :]])


def flatten2(c: Operator):
    """Two axes: those before `axis`, and the others."""
    axis, sizes = c.int("axis", 1), c.shape
    if axis == 0:
        return reshaped(c.x, [1, -1])
    if axis == 1:
        return op.nn.batch_flatten(c.x) if c.rank != 2 else c.x
    return reshaped(c.x, [math.prod(known(one, "it") for one in sizes[:axis]), -1])


def squeeze(c: Operator):
    """Leaves out axes with one element; others that are named stay."""
    sizes, axes = c.shape, c.list_of("axes", "AxesTensor", [])
    named = [axis_of(one, c.rank) for one in axes] if axes else list(range(c.rank))
    away = sorted({at for at in named if isinstance(sizes[at], int) and sizes[at] == 1})
    return op.squeeze(c.x, axis=away) if away else c.held(c.first)


def unsqueeze(c: Operator):
    axes = c.list_of("axes", "AxesTensor", []) if not c.gives("AxesTensorList") else c.sizes_of_every("AxesTensorList")
    c.ignore("axes")
    made, rank = c.x, c.rank
    for axis in axes:
        rank += 1
        made = op.expand_dims(made, axis=axis_of(axis, rank))
    return made


def transpose(c: Operator):
    c.ignore("data_format")
    axes = [axis_of(one, c.rank) for one in c.ints("axis", [])]
    if sorted(axes) != list(range(c.rank)):
        raise Refused(f"`axis` {axes} is not an order of {c.rank} axes")
    if axes == list(range(c.rank)):
        return c.held(c.first)
    if isinstance(c.x, Constant):
        return c.constant(np.asarray(c.x.data.numpy()).transpose(axes))
    return op.transpose(c.x, axes=axes)


# --- joining and dividing ---------------------------------------------------------------------------------------------
def concat(c: Operator):
    parts = c.every("X")
    axis = axis_of(c.int_of("axis", "AxisTensor", 0), max(len(shape_of(parts[0])), 1))
    kept = [one for one in parts if not (shape_of(one) == [0] and len(shape_of(parts[0])) > 1)]
    return op.concatenate(kept, axis=axis) if len(kept) > 1 else kept[0]


def stack(c: Operator):
    parts = c.every("X")
    axis = axis_of(c.int("axis", 0), len(shape_of(parts[0])) + 1)
    slot = "Y" if "Y" in c.operation.outputs else "Out"
    return {slot: op.stack(parts, axis=axis)}


def unstack(c: Operator):
    axis = c.axis_named("axis", 0)
    count = c.size(axis, "the number of parts")
    c.ignore("num")
    bounded(count, 10_000, "the number of parts")
    slot = "Y" if "Y" in c.operation.outputs else "Out"
    return {slot: [op.take(c.x, number(at, "int32"), axis=axis) for at in range(count)]}


def split(c: Operator):
    axis = axis_of(c.int_of("axis", "AxisTensor", 0), c.rank)
    count = len(c.operation.outputs.get("Out", []))
    if c.gives("SectionsTensorList"):
        sections = c.sizes_of_every("SectionsTensorList")
        c.ignore("sections")
    else:
        sections = c.list_of("sections", "SectionsTensor", [])
    parts = c.int("num", 0) or count
    if not sections:
        if parts < 1 or (isinstance(c.shape[axis], int) and c.shape[axis] % parts):
            raise Refused(f"an axis of {c.shape[axis]} has no {parts} equal parts")
        return {"Out": list(op.split(c.x, parts, axis=axis)) if parts > 1 else [c.x]}
    if not is_known(*sections):
        raise refuse_open("the size of a part")
    if -1 in sections:
        whole = c.size(axis, "a divided axis")
        sections[sections.index(-1)] = whole - sum(one for one in sections if one != -1)
    if any(one < 0 for one in sections) or (isinstance(c.shape[axis], int) and sum(sections) != c.shape[axis]):
        raise Refused(f"an axis of {c.shape[axis]} is not divided into {sections}")
    points = np.cumsum(sections)[:-1].tolist()
    return {"Out": list(op.split(c.x, points, axis=axis)) if points else [c.x]}


def bounds(c: Operator, attribute: str, slot: str) -> list:
    """Returns begins, ends or steps: numbers, Dims and expressions. Operands win over the attribute."""
    if c.gives(f"{slot}TensorList"):
        c.ignore(attribute)
        return c.sizes_of_every(f"{slot}TensorList")
    if c.gives(f"{slot}Tensor"):
        c.ignore(attribute)
        found = c.sizes(f"{slot}Tensor")
        if found is not None:
            return found
        whole = c[f"{slot}Tensor"]
        count = known(shape_of(whole)[0], "the number of axes of a slice")
        return [op.take(whole, number(at, "int32"), axis=0) for at in range(count)]
    return c.ints(attribute, [])


def slice_(c: Operator):
    c.ignore("infer_flags")
    axes = [axis_of(one, c.rank) for one in c.ints("axes")]
    begins, ends = bounds(c, "starts", "Starts"), bounds(c, "ends", "Ends")
    steps = bounds(c, "strides", "Strides") if c.node.kind == "strided_slice" else [1] * len(axes)
    if not len(axes) == len(begins) == len(ends) == len(steps):
        raise Refused(f"it has {len(axes)} axes, {len(begins)} begins, {len(ends)} ends and {len(steps)} steps")
    made = sliced(c, c.x, axes, begins, ends, steps)
    away = [axis_of(one, c.rank) for one in c.ints("decrease_axis", [])]
    if not away:
        return made
    sizes = shape_of(made)
    for axis in away:
        if not isinstance(sizes[axis], int) or sizes[axis] != 1:
            made = op.strided_slice(made, begin=[0], end=[1], axes=[axis])
    return op.squeeze(made, axis=away)


def sliced(c: Operator, x: Expr, axes: list[int], begins: list, ends: list, steps: list) -> Expr:
    """Returns a part of a tensor. A single element at a position that is computed is taken; other parts whose bounds
    are computed have open sizes."""
    kept = []
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        if isinstance(begin, Expr) and is_next(begin, end) and step == 1:
            x = op.take(x, op.reshape(cast(begin, "int64"), newshape=[1]), axis=axis)
        else:
            kept.append((axis, begin, end, step))
    if not kept:
        return x
    axes, begins, ends, steps = (list(one) for one in zip(*kept, strict=True))
    if not any(isinstance(one, (Expr, Dim)) for one in (*begins, *ends, *steps)):
        if any(one == 0 for one in steps):
            raise Refused("a step of it is 0")
        return _plain_slice(x, axes, begins, ends, steps)
    rank = len(shape_of(x))

    def whole(values: list, fill: list) -> Expr:
        parts = list(fill)
        for axis, one in zip(axes, values, strict=True):
            parts[axis] = one
        made = [
            cast(op.reshape(one, newshape=[]), "int64") if isinstance(one, Expr) else size_number(one) for one in parts
        ]
        return op.stack(made, axis=0)

    return op.dyn.strided_slice(x, whole(begins, [0] * rank), whole(ends, [_LAST] * rank), whole(steps, [1] * rank))


def _plain_slice(x: Expr, axes: list[int], begins: list, ends: list, steps: list) -> Expr:
    sizes = shape_of(x)
    if not any(one < 0 for one in steps) or not all(isinstance(sizes[axis], int) for axis in axes):
        ends = [_INF if one >= _LAST else one for one in ends]
        return op.strided_slice(x, begin=begins, end=ends, strides=steps, axes=axes)
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        end = None if step < 0 and end < -sizes[axis] else end
        places = np.arange(*slice(begin, end, step).indices(sizes[axis]))
        x = op.take(x, number(places, "int32"), axis=axis)
    return x


def is_next(begin: Expr, end) -> bool:
    """Returns true if `end` is begin + 1, as exports write a single element."""
    if not isinstance(end, Expr):
        return False
    (first, a), (second, b) = _base(begin), _base(end)
    return first.same_as(second) and b - a == 1


def _base(value: Expr) -> tuple[Expr, int]:
    """Returns the expression to which a number was added, and the number."""
    total = 0
    while isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in _PLAIN:
        if value.op.name == "add":
            more = value.args[1]
            if (
                not isinstance(more, Constant)
                or more.data.numpy().size != 1
                or more.data.numpy().dtype.kind not in "iu"
            ):
                break
            total += int(more.data.numpy().reshape(-1)[0])
        value = value.args[0]
    return value, total


_PLAIN = ("add", "cast", "reshape", "expand_dims", "squeeze")


# --- broadcasting and repeating ---------------------------------------------------------------------------------------
def expand(c: Operator):
    """-1 keeps a size."""
    wanted = sizes_given(c, "shape", "Shape", "expand_shapes_tensor")
    if isinstance(wanted, Expr):
        return op.dyn.broadcast_to(c.x, wanted)
    own = [1] * (len(wanted) - c.rank) + list(c.shape)
    if len(own) > len(wanted):
        raise Refused(f"{c.shape} does not become {wanted}")
    return op.broadcast_to(
        c.x, [b if not isinstance(a, Dim) and a == -1 else a for a, b in zip(wanted, own, strict=True)]
    )


def expand_as(c: Operator):
    if c.gives("Y"):
        c.ignore("target_shape")
        return op.broadcast_to(c.x, shape_of(c["Y"]))
    return op.broadcast_to(c.x, c.ints("target_shape"))


def broadcast_tensors(c: Operator):
    parts = c.every("X")
    made = parts[0]
    for one in parts[1:]:
        made = op.add(made, op.multiply(cast(one, dtype_of(made)), number(0, dtype_of(made))))
    sizes = shape_of(made)
    return {"Out": [op.broadcast_to(one, sizes) for one in parts]}


def tile(c: Operator):
    counts = sizes_given(c, "repeat_times", "RepeatTimes", "repeat_times_tensor")
    if isinstance(counts, Expr):
        return op.dyn.tile(c.x, counts)
    if not is_known(*counts):
        counts = [size_number(one) for one in counts]
        return op.dyn.tile(c.x, op.stack(counts, axis=0))
    bounded(math.prod(counts), MOST, "the number of copies")
    return op.tile(c.x, reps=counts)


def old_expand(c: Operator):
    """The first version of `expand` repeats."""
    if c.gives("ExpandTimes"):
        c.ignore("expand_times")
        return op.tile(c.x, reps=c.ints_of("ExpandTimes", "the number of copies"))
    return op.tile(c.x, reps=c.ints("expand_times"))


def repeat(c: Operator):
    c.without_value("output_size", -1, 0)
    count = c.int_of("Repeats", "RepeatsTensor")
    return op.repeat(c.x, bounded(count, 1 << 20, "the number of copies"), axis=c.axis_named("dim", 0))


def meshgrid(c: Operator):
    return {"Out": list(op.meshgrid(c.every("X"), indexing="ij"))}


# --- padding, turning -------------------------------------------------------------------------------------------------
def _padded(c: Operator, x: Expr, pairs: list[list[int]], mode: str, value: float) -> Expr:
    if mode == "constant":
        return op.nn.pad(x, pad_width=pairs, pad_value=value)
    if any(one < 0 for pair in pairs for one in pair):
        raise Refused(f"it pads by {pairs} with {mode}")
    if mode == "circular":
        for axis, (before, after) in enumerate(pairs):
            if before or after:
                size_ = known(shape_of(x)[axis], "it")
                places = np.arange(-before, size_ + after) % size_
                x = op.take(x, c.constant(places, "int32"), axis=axis)
        return x
    return op.nn.pad(x, pad_width=pairs, pad_mode={"replicate": "edge", "edge": "edge", "reflect": "reflect"}[mode])


def pad_images(rank: int):
    """Pads axes of space: the last one first for volumes, the first one first for images."""

    def convert(c: Operator):
        mode = c.text("mode", "constant", ("constant", "reflect", "replicate", "circular", "edge"))
        value, is_first = c.real("value", c.real("pad_value", 0.0) if c.has("pad_value") else 0.0), c.is_first()
        c.ignore("pad_value")
        widths = c.list_of("paddings", "Paddings", [])
        if len(widths) != 2 * rank:
            raise Refused(f"`paddings` is {widths}, not {2 * rank} numbers")
        pairs = [[widths[2 * at], widths[2 * at + 1]] for at in range(rank)]
        if rank == 3:
            pairs.reverse()
        x = c.with_rank(rank + 2)
        pairs = [[0, 0], [0, 0], *pairs] if is_first else [[0, 0], *pairs, [0, 0]]
        return _padded(c, x, pairs, mode, value)

    return convert


def pad(c: Operator):
    widths = c.ints("paddings", [])
    value = c.real_of("pad_value", "PadValue", 0.0)
    c.ignore("pad_from_left_axis")
    if len(widths) != 2 * c.rank or not isinstance(value, float):
        raise Refused(f"`paddings` is {widths}, not {2 * c.rank} numbers")
    return _padded(c, c.x, [[widths[2 * at], widths[2 * at + 1]] for at in range(c.rank)], "constant", value)


def flip(c: Operator):
    made = c.x
    for axis in c.list_of("axis", "AxisTensor", []):
        made = op.reverse(made, axis=axis_of(axis, c.rank))
    return made


def roll(c: Operator):
    shifts, axes = c.list_of("shifts", "ShiftsTensor", []), c.ints("axis", [])
    x = c.x if axes else op.reshape(c.x, newshape=[-1])
    for shift, axis in zip(shifts, axes or [0], strict=True):
        axis = axis_of(axis, len(shape_of(x)))
        size_ = shape_of(x)[axis]
        if not isinstance(size_, int):
            parts = op.split(x, [-shift], axis=axis) if shift < 0 else None
            if parts is None:
                raise refuse_open("a rolled axis")
            x = op.concatenate([parts[1], parts[0]], axis=axis)
            continue
        places = (np.arange(size_) - shift) % max(size_, 1)
        x = op.take(x, c.constant(places, "int32"), axis=axis)
    return x if axes else op.reshape(x, newshape=c.shape)


def triangle(c: Operator):
    return op.trilu(c.x, c.int("diagonal", 0), upper=not c.flag("lower", True))


def crop(c: Operator):
    sizes = sizes_given(c, "shape", "Shape", "ShapeTensor")
    begins = sizes_given(c, "offsets", "Offsets", "OffsetsTensor")
    if isinstance(sizes, Expr) or isinstance(begins, Expr) or not is_known(*sizes, *begins):
        raise refuse_open("a part that it takes")
    begins = begins or [0] * c.rank
    sizes = [
        known(own, "a part") - begin if one == -1 else one
        for one, own, begin in zip(sizes, c.shape, begins, strict=True)
    ]
    ends = [begin + one for begin, one in zip(begins, sizes, strict=True)]
    return op.strided_slice(c.x, begin=begins, end=ends, axes=list(range(c.rank)))


# --- diagonals --------------------------------------------------------------------------------------------------------
def diagonal_of(c: Operator, x: Expr, offset: int, first: int, second: int) -> Expr:
    """Returns a diagonal of two axes, as the last axis."""
    rank, sizes = len(shape_of(x)), shape_of(x)
    high, wide = known(sizes[first], "a diagonal"), known(sizes[second], "a diagonal")
    order = [*(at for at in range(rank) if at not in (first, second)), first, second]
    moved = op.transpose(x, axes=order)
    count = max(0, min(high - max(-offset, 0), wide - max(offset, 0)))
    places = (np.arange(count) + max(-offset, 0)) * wide + np.arange(count) + max(offset, 0)
    flat = op.reshape(moved, newshape=[*shape_of(moved)[:-2], high * wide])
    return op.take(flat, c.constant(places, "int32"), axis=rank - 2)


def diagonal(c: Operator):
    return diagonal_of(c, c.x, c.int("offset", 0), c.axis_named("axis1", 0), c.axis_named("axis2", 1))


def diag(c: Operator):
    offset, fill = c.int("offset", 0), c.real("padding_value", 0.0)
    if c.rank == 2:
        return diagonal_of(c, c.x, offset, 0, 1)
    return _embedded(c, op.reshape(c.x, newshape=[1, -1]), offset, fill, flat=True)


def _embedded(c: Operator, x: Expr, offset: int, fill: float, flat: bool = False) -> Expr:
    """Returns matrices (.., n, n) with the last axis as a diagonal."""
    sizes = shape_of(x)
    count = known(sizes[-1], "a diagonal")
    whole = count + abs(offset)
    bounded(whole * whole, MOST, "the size of its result")
    index = np.zeros((whole, whole), np.int32)
    mask = np.zeros((whole, whole), bool)
    for at in range(count):
        row, column = at + max(-offset, 0), at + max(offset, 0)
        index[row, column], mask[row, column] = at, True
    spread = op.take(x, c.constant(index.reshape(-1), "int32"), axis=len(sizes) - 1)
    spread = op.where(c.constant(mask.reshape(-1)), spread, c.number(fill))
    return op.reshape(spread, newshape=[*([] if flat else sizes[:-1]), whole, whole])


def diag_embed(c: Operator):
    made = _embedded(c, c.x, c.int("offset", 0), 0.0)
    rank = c.rank + 1
    first, second = axis_of(c.int("dim1", -2), rank), axis_of(c.int("dim2", -1), rank)
    order: list[int | None] = [None] * rank
    order[first], order[second] = rank - 2, rank - 1
    rest = iter(range(rank - 2))
    order = [next(rest) if one is None else one for one in order]
    return op.transpose(made, axes=order) if order != list(range(rank)) else made


# --- blocks of images -------------------------------------------------------------------------------------------------
def pixel_shuffle(c: Operator):
    layout = "NCHW" if c.is_first() else "NHWC"
    return op.nn.depth_to_space(c.with_rank(4), block_size=c.count("upscale_factor"), layout=layout, mode="CRD")


def pixel_unshuffle(c: Operator):
    """Channels in the order channel, row, column."""
    factor, is_first = c.count("downscale_factor"), c.is_first()
    x = c.with_rank(4) if is_first else op.transpose(c.with_rank(4), axes=[0, 3, 1, 2])
    batch, channels, high, wide = shape_of(x)
    high, wide = known(high, "it") // factor, known(wide, "it") // factor
    apart = op.reshape(x, newshape=[batch, channels, high, factor, wide, factor])
    made = op.transpose(apart, axes=[0, 1, 3, 5, 2, 4])
    made = op.reshape(made, newshape=[batch, known(channels, "it") * factor * factor, high, wide])
    return made if is_first else op.transpose(made, axes=[0, 2, 3, 1])


def space_to_depth(c: Operator):
    return op.nn.space_to_depth(c.with_rank(4), block_size=c.count("blocksize"))


def shuffle_channel(name: str):
    def convert(c: Operator):
        groups, is_first = c.count(name, 1), c.is_first()
        axis, sizes = 1 if is_first else 3, c.shape
        channels = c.size(axis, "the channels")
        if channels % groups:
            raise Refused(f"{channels} channels are not divisible by {groups} groups")
        apart = op.reshape(c.x, newshape=[*sizes[:axis], groups, channels // groups, *sizes[axis + 1 :]])
        order = list(range(len(sizes) + 1))
        order[axis], order[axis + 1] = axis + 1, axis
        return op.reshape(op.transpose(apart, axes=order), newshape=sizes)

    return convert


def temporal_shift(c: Operator):
    """Moves a part of the channels one step back, and another one step forth."""
    steps, ratio, is_first = c.count("seg_num"), c.real("shift_ratio", 0.25), c.is_first()
    x = c.x if is_first else op.transpose(c.x, axes=[0, 3, 1, 2])
    whole, channels, high, wide = shape_of(x)
    channels = known(channels, "the channels")
    apart = op.reshape(x, newshape=[known(whole, "it") // steps, steps, channels, high, wide])
    first, second = int(channels * ratio), int(channels * 2 * ratio)
    back, forth, kept = op.split(apart, [first, second], axis=2)
    still = [[0, 0]] * 5
    back = op.nn.pad(back, pad_width=[still[0], [1, 0], *still[:3]])
    back = op.strided_slice(back, begin=[0], end=[steps], axes=[1])
    forth = op.nn.pad(forth, pad_width=[still[0], [0, 1], *still[:3]])
    forth = op.strided_slice(forth, begin=[1], end=[steps + 1], axes=[1])
    made = op.reshape(op.concatenate([back, forth, kept], axis=2), newshape=[whole, channels, high, wide])
    return made if is_first else op.transpose(made, axes=[0, 2, 3, 1])


def unfold(c: Operator):
    padding = c.ints("paddings", [0, 0])
    padding = padding * 2 if len(padding) == 2 else padding
    made = op.nn.im2col(
        c.with_rank(4), block_shape=c.ints("kernel_sizes", count=2), strides=c.ints("strides", [1, 1], 2),
        padding=padding, dilation=c.ints("dilations", [1, 1], 2),
    )  # fmt: skip
    return {"Y": made}


def fold(c: Operator):
    padding = c.ints("paddings", [0, 0])
    padding = padding * 2 if len(padding) == 2 else padding
    made = op.nn.col2im(
        c.with_rank(3), image_shape=c.ints("output_sizes", count=2), block_shape=c.ints("kernel_sizes", count=2),
        strides=c.ints("strides", [1, 1], 2), padding=padding, dilation=c.ints("dilations", [1, 1], 2),
    )  # fmt: skip
    return {"Y": made}
