"""Converters of operations that move elements: broadcasts, slices, padding, constants."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Constant, Expr
from ..shared.expressions import shape_of
from ..shared.problems import Refused
from .attributes import numpy_dtype
from .conversion import Conversion, number, reshape, transpose
from .syntax import Dense

_MOST_CONSTANT = 1 << 16  # positions that are stored as a constant
_FEW = 64  # elements whose values are followed through arithmetic, for sizes


def constant(c: Conversion) -> Expr:
    value = c.attr("value")
    if not isinstance(value, Dense):
        raise Refused("its value is not dense<..>", "correct the text")
    sizes, elements = list(value.type.shape), value.array
    made = Constant(elements)
    if elements.ndim != len(sizes):
        made = op.broadcast_to(made, sizes)
    count = int(np.prod(sizes, dtype=object))
    if elements.dtype.kind in "iu" and count <= _FEW:
        c.importer.known[made] = [int(one) for one in np.broadcast_to(elements, sizes).reshape(-1)]
    return made


def iota(c: Conversion) -> Expr:
    return count_along(c.sizes(), c.axis(len(c.result().shape), "dim", "iota_dimension"), c.result().dtype)


def count_along(sizes: list, axis: int, dtype: str) -> Expr:
    """Returns positions along an axis."""
    if dtype == "bool":
        raise Refused("positions of type bool")
    if sizes[axis] <= _MOST_CONSTANT:
        steps = Constant(np.arange(sizes[axis]).astype(numpy_dtype(dtype)))
    else:
        steps = op.arange(number(0, "int64"), number(sizes[axis], "int64"), number(1, "int64"), dtype="int64")
        steps = op.cast(steps, dtype)
    shape = [sizes[axis] if one == axis else 1 for one in range(len(sizes))]
    return op.broadcast_to(reshape(steps, shape), sizes)


def broadcast_in_dim(c: Conversion) -> Expr:
    if c.importer.is_on_elements and not c.result().shape:
        return c.x
    return broadcast(c.x, c.axes(len(c.result().shape), "dims", "broadcast_dimensions"), c.sizes())


def broadcast(x: Expr, axes: list[int], sizes: list) -> Expr:
    """Returns x in a larger shape, in which its axes are at these places."""
    shape = shape_of(x)
    if len(axes) != len(shape):
        raise Refused(f"it names {len(axes)} axes of {len(shape)}", "correct the text")
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    x = transpose(x, order)
    between = [1] * len(sizes)
    for place, size in zip(axes, shape, strict=True):
        between[place] = size
    x = reshape(x, between)
    return x if shape_of(x) == list(sizes) else op.broadcast_to(x, list(sizes))


def reshape_(c: Conversion) -> Expr:
    c.expect_inputs(1)
    return reshape(c.x, c.sizes())


def transpose_(c: Conversion) -> Expr:
    axes = c.axes(c.rank(), "dims", "permutation")
    if len(axes) != c.rank():
        raise Refused("it does not name each axis once", "correct the text")
    return transpose(c.x, axes)


def slice_(c: Conversion) -> Expr:
    ranges = c.attr("ranges", default=None)
    if ranges is None:
        starts, ends = c.ints("start_indices"), c.ints("limit_indices")
        ranges = list(zip(starts, ends, c.ints("strides", default=[1] * len(starts)), strict=True))
    if len(ranges) != c.rank():
        raise Refused(f"it has {len(ranges)} ranges for {c.rank()} axes", "correct the text")
    for (start, end, step), size in zip(ranges, c.shape(), strict=True):
        if step < 1 or not 0 <= start <= end or (isinstance(size, int) and end > size):
            raise Refused(f"the range {start}:{end}:{step} is not inside {size} elements", "correct the text")
    if all(r[0] == 0 and r[1] == size and r[2] == 1 for r, size in zip(ranges, c.shape(), strict=True)):
        return c.x
    starts, ends, steps = (list(one) for one in zip(*ranges, strict=True))
    return op.strided_slice(c.x, begin=starts, end=ends, strides=steps)


def concatenate(c: Conversion) -> Expr:
    axis = c.axis(c.rank(), "dim", "dimension")
    return c.x if len(c.inputs) == 1 else op.concatenate(list(c.inputs), axis=axis)


def reverse(c: Conversion) -> Expr:
    x = c.x
    for axis in c.axes(c.rank(), "dims", "dimensions"):
        x = op.reverse(x, axis=axis)
    return x


def pad(c: Conversion) -> Expr:
    c.expect_inputs(2)
    rank = c.rank()
    low = c.each(rank, "low", "edge_padding_low", otherwise=0)
    high = c.each(rank, "high", "edge_padding_high", otherwise=0)
    return padded(c.x, c.input(1), low, high, c.each(rank, "interior", "interior_padding", otherwise=0))


def padded(x: Expr, value: Expr, low: list[int], high: list[int], interior: list[int]) -> Expr:
    """Returns x with `value` around it, and `interior` elements of it between two of x. Negative numbers cut off."""
    if any(one < 0 for one in interior):
        raise Refused("negative padding between elements", "correct the text")
    if any(interior):
        x = dilated(x, value, [one + 1 for one in interior])
    if not any(low) and not any(high):
        return x
    return op.nn.pad(x, pad_width=[list(one) for one in zip(low, high, strict=True)], pad_value=value)


def dilated(x: Expr, value: Expr, steps: list[int]) -> Expr:
    """Returns x with step - 1 elements of `value` between two of x along each axis."""
    for axis, step in enumerate(steps):
        if step == 1:
            continue
        shape = shape_of(x)
        apart = reshape(x, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
        width = [[0, 0] for _ in range(len(shape) + 1)]
        width[axis + 1][1] = step - 1
        apart = op.nn.pad(apart, pad_width=width, pad_value=value)
        joined = reshape(apart, [*shape[:axis], shape[axis] * step, *shape[axis + 1 :]])
        ends = [[0, 0] for _ in shape]
        ends[axis][1] = 1 - step
        x = op.nn.pad(joined, pad_width=ends, pad_value=value)
    return x


def zero_of(dtype: str) -> Expr:
    return number(numpy_dtype(dtype).type(0), dtype)
