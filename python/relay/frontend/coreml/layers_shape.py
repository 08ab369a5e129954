"""Layers of neural networks that change or compute shapes, and take parts of tensors by position. Places and sizes are
floats in networks."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import axes_of, axis_of, bounded, cast, known, number, shape_of
from ..shared.problems import Refused
from ..shared.values import is_any
from . import functions as f
from . import parts
from . import shape as shapes
from .conversion import Layer

_MOST = 1 << 31  # elements
_MODES = ("update", "add", "sub", "mul", "div", "max", "min")


def _axis(c: Layer, rank: int | None = None) -> int:
    return axis_of(c.p.axis, c.rank if rank is None else rank)


def _ints(found) -> list[int]:
    return [int(one) for one in found]


def _places(x: Expr) -> Expr:
    return op.cast(x, "int32")


# --- the first versions -----------------------------------------------------------------------------------------------
def _last_first(x: Expr) -> Expr:
    """Returns (.., C, H, W) as (.., H, W, C)."""
    rank = len(shape_of(x))
    return op.transpose(x, axes=[*range(rank - 3), rank - 2, rank - 1, rank - 3])


def flatten(c: Layer):
    """(.., C, H, W) to (.., C * H * W, 1, 1)."""
    x = _last_first(c.x) if c.enum("mode", ("FIRST", "LAST")) == "LAST" else c.x
    return op.reshape(x, [*c.shape[:-3], math.prod(known(one, "it") for one in c.shape[-3:]), 1, 1])


def reshape(c: Layer):
    """To (C, H, W), or (sequence, C, H, W)."""
    wanted, mode = _ints(c.p.targetShape), c.enum("mode", ("FIRST", "LAST"))
    if len(wanted) not in (3, 4) or any(one < 1 for one in wanted):
        raise Refused(f"`targetShape` is {wanted}, not three or four sizes")
    is_compact = c.node.inputs[0] in c.importer.compact
    lead = c.shape[:-3] if len(wanted) == 3 else []
    if len(wanted) == 4 and not is_compact and c.rank == 5:
        wanted = [wanted[0], c.shape[1], *wanted[1:]]
    x = c.x
    if mode == "LAST":  # elements are taken and put with the channels last
        made = op.reshape(_last_first(x), [*lead, *wanted[:-3], *wanted[-2:], wanted[-3]])
        rank = len(shape_of(made))
        return op.transpose(made, axes=[*range(rank - 3), rank - 1, rank - 3, rank - 2])
    total = math.prod(known(one, "a reshape") for one in c.shape)
    if math.prod(known(one, "a reshape") for one in [*lead, *wanted]) != total:
        raise Refused(f"{total} elements do not have the shape {[*lead, *wanted]}")
    return op.reshape(x, [*lead, *wanted])


def permute(c: Layer):
    """Exchanges the axes sequence, channels, height, width."""
    axes = _ints(c.p.axis)
    if sorted(axes) != [0, 1, 2, 3]:
        raise Refused(f"{axes} is not a permutation of 4 axes")
    if c.rank == 4:
        return op.transpose(c.x, axes=axes)
    if c.rank != 5:
        raise Refused(f"its input has {c.rank} axes, not four or five")
    own = [0, 2, 3, 4]
    return op.transpose(c.x, axes=[own[axes[0]], 1, *(own[one] for one in axes[1:])])


def concat(c: Layer):
    axis = 0 if c.p.sequenceConcat else c.rank - 3
    if axis < 0:
        raise Refused(f"its inputs have {c.rank} axes, not three or more")
    return shapes.joined(list(c.inputs), axis)


def split(c: Layer):
    count = bounded(c.p.nOutputs, shapes.MOST_PARTS, "`nOutputs`")
    size = c.size(-3, "a split")
    if count < 1 or size % count:
        raise Refused(f"{size} channels are not {count} equal parts")
    return shapes.parted(c.x, c.rank - 3, [size // count] * count)


def slice_axis(c: Layer):
    axis = c.rank - 3 + ("C", "H", "W").index(c.enum("axis", ("C", "H", "W")))
    first, end, step = c.p.startIndex, c.p.endIndex, max(c.p.stride, 1)
    return op.strided_slice(c.x, begin=[first], end=[end], strides=[step], axes=[axis])


def load_constant(c: Layer):
    sizes = _ints(c.p.shape)
    bounded(math.prod(sizes), _MOST, "the number of its elements")
    made = c.constant(c.weights("data", sizes))
    return op.expand_dims(made, axis=0) if c.node.kind == "loadConstant" and c.importer.is_compact else made


# --- shapes -----------------------------------------------------------------------------------------------------------
def get_shape(c: Layer):
    if any(isinstance(one, Dim) for one in c.shape):
        return op.cast(op.shape_of(c.x, dtype="int32"), "float32")
    return c.constant(np.asarray(c.shape, np.float32))


def reshape_static(c: Layer):
    return shapes.reshaped(c.x, _ints(c.p.targetShape))


def rank_preserving_reshape(c: Layer):
    wanted = _ints(c.p.targetShape)
    if len(wanted) != c.rank:
        raise Refused(f"`targetShape` has {len(wanted)} sizes for {c.rank} axes")
    return shapes.reshaped(c.x, wanted)


def reshape_dynamic(c: Layer):
    if c.importer.folded(c.input(1)) is None:
        return op.dyn.reshape(c.x, op.cast(c.input(1), "int64"), allowzero=False)
    return shapes.reshaped(c.x, c.sizes(1))


def reshape_like(c: Layer):
    return op.reshape(c.x, shape_of(c.input(1)))


def flatten_to_2d(c: Layer):
    return shapes.flattened(c.x, c.p.axis)


def transpose(c: Layer):
    axes = _ints(c.p.axes)
    if sorted(axes) != list(range(c.rank)):
        raise Refused(f"{axes} is not a permutation of {c.rank} axes")
    return op.transpose(c.x, axes=axes)


def expand_dims(c: Layer):
    return shapes.expanded(c.x, _ints(c.p.axes))


def squeeze(c: Layer):
    axes = [place for place, one in enumerate(c.shape) if one == 1] if c.p.squeezeAll else axes_of(
        _ints(c.p.axes), c.rank)  # fmt: skip
    if any(c.shape[one] != 1 for one in axes):
        raise Refused(f"it leaves out the axes {axes} of a tensor {c.shape}")
    axes = axes[1:] if len(axes) == c.rank else axes  # networks have no tensors without axes
    return op.squeeze(c.x, axis=axes) if axes else c.x


def concat_nd(c: Layer):
    return shapes.joined(list(c.inputs), _axis(c), c.p.interleave)


def stack(c: Layer):
    return op.stack(list(c.inputs), axis=_axis(c, c.rank + 1))


def split_nd(c: Layer):
    axis, sizes = _axis(c), _ints(c.p.splitSizes)
    if not sizes:
        count = bounded(max(c.p.numSplits, 1), shapes.MOST_PARTS, "`numSplits`")
        size, rest = divmod(c.size(axis, "a split"), count)
        sizes = [size + (place < rest) for place in range(count)]  # the first parts are one larger
    return shapes.parted(c.x, axis, sizes)


def tile(c: Layer):
    reps = _ints(c.p.reps)
    if not reps and c.importer.folded(c.input(1)) is None:
        return op.dyn.tile(c.x, op.cast(c.input(1), "int64"))
    return op.tile(c.x, reps=reps or c.sizes(1))


def reverse(c: Layer):
    made = c.x
    for axis, is_reversed in enumerate(c.p.reverseDim):
        made = op.reverse(made, axis=axis_of(axis, c.rank)) if is_reversed else made
    return made


def reverse_sequence(c: Layer):
    return op.reverse_sequence(c.x, _places(c.input(1)), seq_axis=axis_of(c.p.sequenceAxis, c.rank),
                               batch_axis=axis_of(c.p.batchAxis, c.rank))  # fmt: skip


def constant_pad(c: Layer):
    amounts = _ints(c.p.padAmounts) or c.sizes(1, "`padAmounts`")
    if len(amounts) != 2 * c.rank:
        raise Refused(f"it has {len(amounts)} numbers of padding for {c.rank} axes")
    before, after = amounts[::2], amounts[1::2]
    if c.p.padToGivenOutputSizeMode:  # the larger of each pair is the size of the result
        sizes = [known(one, "padding") for one in c.shape]
        after = [max(b - size - a, 0) if a == 0 else 0 for a, b, size in zip(before, after, sizes, strict=True)]
        before = [max(a - size, 0) if a else 0 for a, size in zip(before, sizes, strict=True)]
    return shapes.padded(c.x, before, after, "constant", c.p.value)


def broadcast_like(c: Layer):
    return op.broadcast_to(c.x, shape=shape_of(c.input(1)))


def broadcast_static(c: Layer):
    return op.broadcast_to(c.x, shape=_ints(c.p.targetShape))


def broadcast_dynamic(c: Layer):
    if c.importer.folded(c.input(1)) is None:
        return op.dyn.broadcast_to(c.x, op.cast(c.input(1), "int64"))
    return op.broadcast_to(c.x, shape=c.sizes(1))


def _filled(c: Layer, sizes: list) -> Expr:
    bounded(math.prod(one for one in sizes if isinstance(one, int)), _MOST, "the number of its elements")
    return op.full(number(c.p.value, "float32"), shape=sizes)


def fill_static(c: Layer):
    return _filled(c, _ints(c.p.targetShape))


def fill_like(c: Layer):
    if any(is_any(one) for one in c.shape):
        return op.full_like(c.x, c.number(c.p.value))
    return _filled(c, c.shape)


def fill_dynamic(c: Layer):
    if c.importer.folded(c.x) is None:
        return op.dyn.full(number(c.p.value, "float32"), op.cast(c.x, "int64"), dtype="float32")
    return _filled(c, c.sizes(0))


def _range(c: Layer, start: float, end: float, step: float) -> Expr:
    if step == 0:
        raise Refused("its step is 0")
    bounded(max(0, math.ceil((end - start) / step)), 1 << 24, "the number of its elements")
    return c.constant(np.arange(start, end, step, dtype=np.float32))


def range_static(c: Layer):
    return _range(c, c.p.startValue, c.p.endValue, c.p.stepSizeValue or 1.0)


def range_dynamic(c: Layer):
    """Inputs: the end, then the start, then the step."""
    values = [c.importer.folded(one) for one in c.inputs]
    given = [0.0, c.p.startValue, c.p.stepSizeValue or 1.0]
    if all(one is not None for one in values):
        for place, one in enumerate(values):
            given[place] = float(one.reshape(-1)[0])
        return _range(c, given[1], given[0], given[2])
    parts = [op.reshape(one, []) for one in c.inputs]
    parts += [number(one, "float32") for one in given[len(parts) :]]
    return op.arange(parts[1], parts[0], parts[2], dtype="float32")


# --- parts ------------------------------------------------------------------------------------------------------------
def _masks(c: Layer) -> list[list[bool]]:
    found = [[bool(one) for one in _of_axes(c, getattr(c.p, f"{name}Masks"))] or [False] * c.rank
             for name in ("begin", "end", "squeeze")]  # fmt: skip
    if any(len(one) != c.rank for one in found):
        raise Refused(f"its masks have {[len(one) for one in found]} elements for {c.rank} axes")
    return found


def _of_axes(c: Layer, found):
    """Returns numbers for each axis; those for axes up to the fifth, which coremltools adds, are left out."""
    return found[: c.rank] if len(found) == 5 else found


def _sliced(c: Layer, begins: list[int], ends: list[int]) -> Expr:
    rank = c.rank
    masks = _masks(c)
    strides = _ints(_of_axes(c, c.p.strides)) or [1] * rank
    made = parts.sliced(c.x, begins, ends, strides, *masks)
    return op.reshape(made, [1]) if not shape_of(made) else made


def _first(x: Expr, count: int) -> Expr:
    return op.strided_slice(x, begin=[0], end=[count], strides=[1], axes=[0]) if shape_of(x) != [count] else x


def slice_static(c: Layer):
    return _sliced(c, _ints(c.p.beginIds), _ints(c.p.endIds))


def slice_dynamic(c: Layer):
    """Inputs: the tensor, the begins, then ends, strides, and masks if they are not in the layer."""
    if len(c.inputs) > 3:
        raise Refused("its strides or masks are computed at run time", "make them parameters of the layer")
    ends = c.input(2) if len(c.inputs) > 2 else c.constant(_ints(c.p.endIds), "int64")
    begin, end = (c.importer.folded(one) for one in (c.input(1), ends))
    if begin is not None and end is not None:
        return _sliced(c, *(_ints(_of_axes(c, one.reshape(-1))) for one in (begin, end)))
    masks, strides = _masks(c), _ints(_of_axes(c, c.p.strides)) or [1] * c.rank
    begin, end = (_first(one, c.rank) for one in (c.input(1), ends))
    if any(one < 1 for one in strides):
        raise Refused("it takes a part backwards, from a place that is computed at run time")
    return parts.taken(c.x, *parts.bounds(c.x, begin, end, *masks), strides, masks[2])


def slice_by_size(c: Layer):
    axis, size = _axis(c), c.p.size
    bounded(size, 1 << 31, "`size`")
    begin = c.importer.folded(c.input(1))
    if begin is not None:
        first = int(begin.reshape(-1)[0])
        return op.strided_slice(c.x, begin=[first], end=[first + size], strides=[1], axes=[axis])
    places = op.add(c.constant(np.arange(size), "int32"), op.reshape(_places(c.input(1)), [1]))
    return op.take(c.x, places, axis=axis, mode="clip")


def sliding_windows(c: Layer):
    return f.windows_along(c.x, _axis(c), bounded(c.p.windowSize, 1 << 24, "`windowSize`"), max(c.p.step, 1))


# --- elements by index ------------------------------------------------------------------------------------------------
def gather(c: Layer):
    axis = _axis(c)
    return op.take(c.x, f.non_negative(_places(c.input(1)), c.shape[axis]), axis=axis, mode="clip")


def gather_nd(c: Layer):
    return f.gathered_nd(c.x, _places(c.input(1)))


def gather_along_axis(c: Layer):
    axis = _axis(c)
    return op.gather(c.x, axis, f.non_negative(_places(c.input(1)), c.shape[axis]))


def scatter(c: Layer):
    data, indices, updates = c.counted(3)
    axis, rank, extra = _axis(c), c.rank, len(shape_of(indices))
    indices = f.non_negative(_places(indices), c.shape[axis])
    if axis:  # the axis moves to the front
        data = op.transpose(data, axes=[axis, *range(axis), *range(axis + 1, rank)])
        places = list(range(axis, axis + extra))
        others = [one for one in range(rank - 1 + extra) if one not in places]
        updates = op.transpose(updates, axes=[*places, *others])
    made = f.scattered_nd(data, op.expand_dims(indices, axis=-1), updates, c.enum("mode", _MODES))
    return op.transpose(made, axes=[*range(1, axis + 1), 0, *range(axis + 1, rank)]) if axis else made


def scatter_nd(c: Layer):
    data, indices, updates = c.counted(3)
    return f.scattered_nd(data, _places(indices), updates, c.enum("mode", _MODES))


def scatter_along_axis(c: Layer):
    data, indices, updates = c.counted(3)
    return f.scattered_along(data, _places(indices), updates, _axis(c), c.enum("mode", _MODES))


def top_k(c: Layer):
    axis = _axis(c)
    if len(c.inputs) > 1 and c.importer.folded(c.input(1)) is None:
        computed = op.reshape(op.cast(c.input(1), "int64"), [1])
        made = op.topk(c.x, k=computed, axis=axis, ret_type="both", is_ascend=c.p.useBottomK, dtype="int32")
        return [made[0], op.cast(made[1], "float32")]
    count = int(c.elements(1, "`K`").reshape(-1)[0]) if len(c.inputs) > 1 else c.p.K
    if not 1 <= count <= c.size(axis, "`K`"):
        raise Refused(f"it takes {count} of {c.shape[axis]} elements")
    made = op.topk(c.x, k=count, axis=axis, ret_type="both", is_ascend=c.p.useBottomK, dtype="int32")
    return [made[0], op.cast(made[1], "float32")]


def argsort(c: Layer):
    return op.cast(op.argsort(c.x, axis=_axis(c), is_ascend=not c.p.descending, dtype="int32"), "float32")


def one_hot(c: Layer):
    if len(c.inputs) > 1 and c.importer.folded(c.input(1)) is None:
        depth = op.reshape(op.cast(c.input(1), "int64"), [])
        return op.dyn.one_hot(_places(c.x), number(c.p.onValue, "float32"), number(c.p.offValue, "float32"), depth,
                              axis=_axis(c, c.rank + 1), dtype="float32")  # fmt: skip
    depth = int(c.elements(1, "its depth").reshape(-1)[0]) if len(c.inputs) > 1 else c.p.oneHotVectorSize
    if not 1 <= bounded(depth, 1 << 24, "its depth"):
        raise Refused(f"its depth is {depth}")
    return op.one_hot(_places(c.x), number(c.p.onValue, "float32"), number(c.p.offValue, "float32"), depth=depth,
                      axis=_axis(c, c.rank + 1), dtype="float32")  # fmt: skip


def where_non_zero(c: Layer):
    return cast(op.argwhere(op.not_equal(c.x, c.number(0.0))), "float32")


def band_part(c: Layer):
    return f.band(c.x, c.p.numLower, c.p.numUpper)


def triangular(is_upper: bool):
    return lambda c: op.trilu(c.x, number(c.p.k, "int64"), upper=is_upper)
