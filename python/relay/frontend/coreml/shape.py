"""Operations of ML programs that change or compute shapes, and take parts of tensors by position."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import axis_of, bounded, cast, dtype_of, known, new_shape, number, shape_of
from ..shared.problems import Refused
from ..shared.values import Known, is_any, plain, refuse_open
from ..shared.windows import to_first, to_last
from . import functions as f
from .conversion import Operation

MOST_PARTS = 10_000


def sizes_known(sizes: list, dtype: str = "int32") -> Known | None:
    """Returns sizes as known elements; None if one of them is not known at all."""
    if any(is_any(one) for one in sizes):
        return None
    if any(isinstance(one, Dim) for one in sizes):
        made = np.empty(len(sizes), object)
        made[:] = sizes
        return Known(made, dtype)
    return Known(np.asarray(sizes, dtype), dtype)


def shape(c: Operation):
    made = sizes_known(c.shape_of("x"))
    return op.shape_of(c.x, dtype="int32") if made is None else made


def reshape(c: Operation):
    if not c.is_known("shape"):
        return op.dyn.reshape(c.x, cast(c.expr("shape"), "int64"))
    return reshaped(c.x, c.sizes("shape"))


def reshaped(x: Expr, wanted: list) -> Expr:
    """Returns a tensor in another shape: 0 keeps the size at this place, counted from the last axis, -1 takes the
    rest."""
    own = shape_of(x)
    shift = len(own) - len(wanted)
    if any(not isinstance(one, Dim) and one < -1 for one in wanted) or wanted.count(-1) > 1:
        raise Refused(f"it asks for the shape {wanted}")
    wanted = [(own[place + shift] if place + shift >= 0 else 1) if isinstance(one, int) and one == 0 else one
              for place, one in enumerate(wanted)]  # fmt: skip
    if not any(isinstance(one, Dim) for one in [*own, *wanted]):
        rest, total = math.prod(one for one in wanted if one != -1), math.prod(own)
        if -1 in wanted and (rest == 0 or total % rest):
            raise Refused(f"{total} elements do not have the shape {wanted}")
        wanted = [total // rest if one == -1 else one for one in wanted]
        if math.prod(wanted) != total:
            raise Refused(f"{total} elements do not have the shape {wanted}")
    if list(wanted) == own:
        return x
    return op.reshape(x, new_shape(wanted))


def reshape_like(c: Operation):
    """Sizes that are taken from parts of the shapes of other tensors."""
    references = c.several("ref_tensors")
    begins, ends, masks = (_numbers(c, one) for one in ("begins", "ends", "end_masks"))
    sizes = []
    for one, begin, end, mask in zip(references, begins, ends, masks, strict=True):
        own = one.shape if isinstance(one, Known) else shape_of(one)
        sizes += own[begin : None if mask else end]
    return reshaped(c.x, sizes)


def _numbers(c: Operation, name: str) -> list[int]:
    """Returns a parameter that is a list of numbers."""
    found = c.several(name)
    if not all(isinstance(one, Known) and not one.is_symbolic for one in found):
        raise refuse_open(f"`{name}`")
    return [int(number_) for one in found for number_ in one.array.reshape(-1)]


def flatten2d(c: Operation):
    return flattened(c.x, c.int("axis", 1))


def flattened(x: Expr, axis: int) -> Expr:
    """Returns the axes before `axis` as one, and the others as one."""
    sizes = shape_of(x)
    axis += len(sizes) if axis < 0 else 0
    if not 0 <= axis <= len(sizes):
        raise Refused(f"axis {axis} is not one of the {len(sizes)} axes")
    first = 1
    for one in sizes[:axis]:
        first = first * one
    return op.reshape(x, [plain(first), -1])


def transpose(c: Operation):
    axes = [axis_of(one, c.rank) for one in c.ints("perm")]
    if sorted(axes) != list(range(c.rank)):
        raise Refused(f"{axes} is not a permutation of {c.rank} axes")
    return op.transpose(c.x, axes=axes)


def expand_dims(c: Operation):
    return expanded(c.x, c.ints("axes"))


def expanded(x: Expr, axes: list[int]) -> Expr:
    rank = len(shape_of(x)) + len(axes)
    for axis in sorted(axis_of(one, rank) for one in axes):
        x = op.expand_dims(x, axis=axis)
    return x


def squeeze(c: Operation):
    axes = [axis_of(one, c.rank) for one in c.ints("axes", [])]
    axes = axes or [place for place, one in enumerate(c.shape) if one == 1]
    return op.squeeze(c.x, axis=axes) if axes else c.x


def concat(c: Operation):
    values = c.exprs("values")
    axis = c.axis("axis", None, len(shape_of(values[0])) if values else 1)
    return joined(values, axis, c.flag("interleave"))


def joined(values: list[Expr], axis: int, interleave: bool = False) -> Expr:
    if not values:
        raise Refused("it joins no tensors")
    values = [cast(one, dtype_of(values[0])) for one in values]
    if not interleave:
        return op.concatenate(values, axis=axis) if len(values) > 1 else values[0]
    sizes = shape_of(values[0])
    if any(shape_of(one) != sizes for one in values):
        raise Refused("it interleaves tensors of different shapes")
    return op.reshape(op.stack(values, axis=axis + 1), [*sizes[:axis], plain(sizes[axis] * len(values)),
                                                        *sizes[axis + 1 :]])  # fmt: skip


def stack(c: Operation):
    values = c.exprs("values")
    if not values:
        raise Refused("it joins no tensors")
    return op.stack(values, axis=c.axis("axis", None, len(shape_of(values[0])) + 1))


def split(c: Operation):
    axis = c.axis("axis")
    if c.has("split_sizes"):
        c.ignore("num_splits")
        return parted(c.x, axis, c.ints("split_sizes"))
    count = bounded(c.count("num_splits"), MOST_PARTS, "`num_splits`")
    size = c.size(axis, "a split")
    if size % count:
        raise Refused(f"{size} elements are not {count} equal parts")
    return parted(c.x, axis, [size // count] * count)


def parted(x: Expr, axis: int, sizes: list[int]) -> list[Expr]:
    bounded(len(sizes), MOST_PARTS, "the number of its parts")
    if sum(sizes) != known(shape_of(x)[axis], "a split") or any(one < 0 for one in sizes):
        raise Refused(f"the parts {sizes[:8]} are not an axis of {shape_of(x)[axis]}")
    made, first = [], 0
    for one in sizes:
        made.append(op.strided_slice(x, begin=[first], end=[first + one], strides=[1], axes=[axis]))
        first += one
    return made


# --- rearranged elements ----------------------------------------------------------------------------------------------
def tile(c: Operation):
    if not c.is_known("reps"):
        return op.dyn.tile(c.x, cast(c.expr("reps"), "int64"))
    reps = c.sizes("reps")
    if any(isinstance(one, Dim) for one in reps):
        raise refuse_open("`reps`")
    return op.tile(c.x, reps=reps)


def reverse(c: Operation):
    made = c.x
    for axis in c.axes("axes"):
        made = op.reverse(made, axis=axis)
    return made


def reverse_sequence(c: Operation):
    return op.reverse_sequence(c.x, cast(c.expr("lengths"), "int32"), seq_axis=c.axis("seq_axis", 0),
                               batch_axis=c.axis("batch_axis", 0))  # fmt: skip


def pad(c: Operation):
    amounts = c.ints("pad")
    if len(amounts) % 2 or len(amounts) > 2 * c.rank:
        raise Refused(f"it has {len(amounts)} numbers of padding for {c.rank} axes")
    amounts = [0] * (2 * c.rank - len(amounts)) + amounts
    mode = c.text("mode", "constant", ("constant", "reflect", "replicate"))
    value = c.real("constant_val", 0.0)
    return padded(c.x, amounts[::2], amounts[1::2], mode, value)


def padded(x: Expr, before: list[int], after: list[int], mode: str, value: float = 0.0) -> Expr:
    width = [[a, b] for a, b in zip(before, after, strict=True)]
    if mode == "reflect":
        return op.nn.mirror_pad(x, mode="REFLECT", pad_width=width)
    return op.nn.pad(x, width, pad_value=value, pad_mode="edge" if mode == "replicate" else "constant")


def crop(c: Operation):
    """Cuts off rows and columns."""
    height, width = c.ints("crop_height", count=2), c.ints("crop_width", count=2)
    return cropped(c.x, height, width)


def cropped(x: Expr, height: list[int], width: list[int]) -> Expr:
    sizes = [known(one, "a crop") for one in shape_of(x)[-2:]]
    ends = [sizes[0] - height[1], sizes[1] - width[1]]
    rank = len(shape_of(x))
    if any(a < 0 or a >= b for a, b in ((height[0], ends[0]), (width[0], ends[1]))):
        raise Refused(f"it cuts {height} rows and {width} columns off an image of {sizes}")
    return op.strided_slice(x, begin=[height[0], width[0]], end=ends, strides=[1, 1], axes=[rank - 2, rank - 1])


def band_part(c: Operation):
    return f.band(c.x, c.int("lower", -1), c.int("upper", -1))


def blocks(function, name: str, mode: str):
    return lambda c: function(c.x, block_size=c.window(name), layout="NCHW", mode=mode)


def pixel_unshuffle(c: Operation):
    """(N, C, H * r, W * r) to (N, C * r * r, H, W), the places in a block behind the channels."""
    factor, x = c.window("downscale_factor"), c.with_axes(4)
    count, channels = c.shape[:2]
    height, width = (c.size(axis, "an image") for axis in (2, 3))
    if height % factor or width % factor:
        raise Refused(f"images of {height} x {width} have no blocks of {factor}")
    apart = op.reshape(x, [count, channels, height // factor, factor, width // factor, factor])
    made = op.transpose(apart, axes=[0, 1, 3, 5, 2, 4])
    return op.reshape(made, [count, plain(channels * factor * factor), height // factor, width // factor])


def space_to_batch(c: Operation):
    block = c.ints("block_shape")
    paddings = np.asarray(c.elements("paddings")).reshape(-1, 2).tolist()
    made = op.nn.space_to_batch_nd(to_last(c.x), block_shape=block, paddings=paddings)
    return to_first(made)


def batch_to_space(c: Operation):
    crops = np.asarray(c.elements("crops")).reshape(-1, 2).tolist()
    return to_first(op.nn.batch_to_space_nd(to_last(c.x), block_shape=c.ints("block_shape"), crops=crops))


# --- created tensors --------------------------------------------------------------------------------------------------
def fill(c: Operation):
    value = c.given("value")
    dtype = c.dtype_of("value") if value is not None else "float32"
    element = c.expr("value") if value is not None else number(0, dtype)
    if not c.is_known("shape"):
        return op.dyn.full(op.reshape(element, []), cast(c.expr("shape"), "int64"), dtype=dtype)
    sizes = c.sizes("shape")
    bounded(math.prod(one for one in sizes if isinstance(one, int)), 1 << 31, "the number of its elements")
    return op.full(op.reshape(element, []), shape=sizes)


def fill_like(c: Operation):
    dtype = c.dtype_of("value") if c.has("value") else "float32"
    element = op.reshape(c.expr("value", 0.0, dtype), [])
    return op.full(element, shape=c.shape_of("ref_tensor"))


def range_1d(c: Operation):
    ends = [c.given(one) for one in ("start", "end", "step")]
    if not all(isinstance(one, Known) and not one.is_symbolic for one in ends):
        start, end, step = (op.reshape(c.expr(one), []) for one in ("start", "end", "step"))
        return op.arange(start, end, step, dtype=dtype_of(start))
    start, end, step = (one.array.reshape(-1)[0].item() for one in ends)
    if step == 0:
        raise Refused("its step is 0")
    bounded(max(0, math.ceil((end - start) / step)), 1 << 24, "the number of its elements")
    return Known(np.arange(start, end, step, dtype=ends[0].array.dtype), ends[0].dtype)


def one_hot(c: Operation):
    name = "on_value" if c.has("on_value") else "off_value"
    dtype = c.dtype_of(name) if c.has(name) else "int32"
    on, off = (
        op.reshape(cast(c.expr(one, value, dtype), dtype), []) for one, value in (("on_value", 1), ("off_value", 0))
    )
    indices = cast(c.expr("indices"), "int32")
    rank = len(shape_of(indices))
    axis = c.axis("axis", -1, rank + 1)
    if not c.is_known("one_hot_vector_size"):
        depth = op.reshape(cast(c.expr("one_hot_vector_size"), "int64"), [])
        return op.dyn.one_hot(indices, on, off, depth, axis=axis, dtype=dtype)
    depth = bounded(c.count("one_hot_vector_size"), 1 << 24, "`one_hot_vector_size`")
    return op.one_hot(indices, on, off, depth=depth, axis=axis, dtype=dtype)
