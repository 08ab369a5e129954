"""Reductions over axes, sums along an axis, and sums of segments."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared import functions
from ..shared.expressions import cast, dtype_of, is_float, shape_of
from ..shared.problems import Refused
from ..shared.values import constant, number, size_number
from .conversion import Conversion


def reduction(function, in_bools: bool = False):
    """Returns the converter of a reduction. The axes are the second input; an empty list of them changes nothing."""

    def convert(c: Conversion):
        axes = c.axes(1)
        x = cast(c.x, "bool") if in_bools else c.x
        if not axes and c.rank(0):
            return x
        return function(x, axis=axes, keepdims=bool(c("keep_dims", False))) if axes else x

    return convert


def mean_of(x: Expr, axis, keepdims) -> Expr:
    if is_float(dtype_of(x)):
        return op.mean(x, axis=axis, keepdims=keepdims)
    count = math.prod(size for place, size in enumerate(shape_of(x)) if place in axis)
    total = op.sum(x, axis=axis, keepdims=keepdims)
    return op.trunc_divide(total, size_number(count, dtype_of(x)))


def euclidean_norm(x: Expr, axis, keepdims) -> Expr:
    return op.sqrt(op.sum(op.multiply(x, x), axis=axis, keepdims=keepdims))


def arg_reduction(function):
    def convert(c: Conversion):
        axis = c.axis(1) if c.has(1) else 0
        made = function(c.x, axis=[axis])
        return cast(made, c("output_type", "int64"))

    return convert


def cumulative(function):
    """Cumsum and Cumprod, from either end, with or without the element itself."""

    def convert(c: Conversion):
        axis = c.axis(1)
        x = op.reverse(c.x, axis=axis) if c("reverse", False) else c.x
        made = function(x, axis=axis, exclusive=bool(c("exclusive", False)))
        return op.reverse(made, axis=axis) if c("reverse", False) else made

    return convert


def log_cumulative(c: Conversion):
    """CumulativeLogsumexp, from either end, with or without the element itself."""
    axis = c.axis(1)
    x = op.reverse(c.x, axis=axis) if c("reverse", False) else c.x
    made = functions.running_logsumexp(x, axis)
    if c("exclusive", False):
        made = op.strided_slice(made, begin=[0], end=[-1], strides=[1], axes=[axis])
        widths = [[int(place == axis), 0] for place in range(c.rank(0))]
        made = op.nn.pad(made, c.number(-math.inf), pad_width=widths)
    return op.reverse(made, axis=axis) if c("reverse", False) else made


def _lowest(dtype: str):
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


def _highest(dtype: str):
    return np.inf if is_float(dtype) else np.iinfo(dtype).max


# The reduction of scatter_elements by operator, and the value of a segment without elements.
_SEGMENTS = {"Sum": ("add", 0), "Prod": ("mul", 1), "Max": ("max", None), "Min": ("min", None)}


def scattered(kind: str, x: Expr, segments: Expr, count, empty=None) -> Expr:
    """Returns a row for each segment: the sum (or product, ..) of the rows of x with its number. Negative numbers
    belong to no segment."""
    reduction_, start = _SEGMENTS[kind]
    dtype, sizes = dtype_of(x), shape_of(x)
    if start is None:
        start = _lowest(dtype) if kind == "Max" else _highest(dtype)
    start = empty if empty is not None else start
    rest = sizes[1:]
    ids = cast(segments, "int64")
    if isinstance(count, int):
        into = op.full(number(start, dtype), shape=[count + 1, *rest])
        places = op.where(op.less(ids, number(0, "int64")), number(count, "int64"), ids)
    else:
        raise Refused("the number of segments is known only at run time", "give num_segments as a constant")
    places = op.reshape(places, newshape=[sizes[0], *[1] * len(rest)])
    places = op.broadcast_to(places, shape=sizes) if rest else places
    made = op.scatter_elements(into, places, x, axis=0, reduction=reduction_)
    return op.strided_slice(made, begin=[0], end=[count], strides=[1], axes=[0])


def unsorted_segment(kind: str):
    """UnsortedSegmentSum and others: (data, segment of each element, number of segments)."""

    def convert(c: Conversion):
        x, segments = c.x, c.y
        outer = c.rank(1)
        if outer != 1:
            sizes = shape_of(x)
            if any(isinstance(one, Dim) for one in sizes[:outer]):
                raise Refused("its segments have several axes, whose sizes are known only at run time")
            count = math.prod(sizes[:outer])
            x, segments = op.reshape(x, newshape=[count, *sizes[outer:]]), op.reshape(segments, newshape=[count])
        count = c.int(2, "its number of segments")
        if kind in ("Max", "Min"):
            dtype = dtype_of(x)
            finite = np.finfo(np.float32) if is_float(dtype) else np.iinfo(dtype)
            return scattered(kind, x, segments, count, float(finite.min if kind == "Max" else finite.max)
                             if is_float(dtype) else (finite.min if kind == "Max" else finite.max))  # fmt: skip
        return scattered(kind, x, segments, count)

    return convert


def segment(kind: str):
    """SegmentSum and others: the numbers of segments ascend; a segment without rows is 0."""

    def convert(c: Conversion):
        ids = c.known(1)
        if ids is None:
            raise Refused(
                "the numbers of its segments are known only at run time, and so is the number of rows of its result",
                "use tf.math.unsorted_segment_sum with num_segments",
            )
        count = int(ids[-1]) + 1 if ids.size else 0
        return _of_segments(kind, c.x, c.y, count, ids)

    return convert


def _of_segments(kind: str, x: Expr, segments: Expr, count: int, ids: np.ndarray) -> Expr:
    if kind == "Mean":
        total = scattered("Sum", x, segments, count)
        counts = np.maximum(np.bincount(ids.astype(np.int64), minlength=count), 1)
        counts = counts.reshape([-1] + [1] * (len(shape_of(x)) - 1))
        return op.divide(total, constant(counts, dtype_of(x))) if is_float(dtype_of(x)) else op.floor_divide(
            total, constant(counts, dtype_of(x)))  # fmt: skip
    made = scattered(kind, x, segments, count)
    empty = np.bincount(ids.astype(np.int64), minlength=count) == 0
    if kind == "Sum" or not empty.any():
        return made
    mask = constant(empty.reshape([-1] + [1] * (len(shape_of(x)) - 1)))
    return op.where(mask, number(1 if kind == "Prod" else 0, dtype_of(x)), made)


def sparse_segment(kind: str, has_count: bool):
    """SparseSegmentSum and others: rows are chosen and summed; a mean is divided by their number, SqrtN by its root."""

    def convert(c: Conversion):
        rows = op.take(c.x, c.y, axis=0, mode="checked")
        segments = c.expr(2)
        ids = c.known(2)
        if has_count:
            count = c.int(3, "its number of segments")
        elif ids is not None:
            count = int(ids[-1]) + 1 if ids.size else 0
        else:
            raise Refused("the numbers of its segments are known only at run time", "give num_segments")
        total = scattered("Sum", rows, segments, count)
        if kind == "Sum":
            return total
        ones = op.ones([shape_of(segments)[0]], dtype=dtype_of(rows))
        counts = op.maximum(scattered("Sum", ones, segments, count), number(1, dtype_of(rows)))
        counts = op.sqrt(counts) if kind == "SqrtN" else counts
        return op.divide(total, op.reshape(counts, newshape=[count, *[1] * (c.rank(0) - 1)]))

    return convert


def bincount(c: Conversion):
    """Bincount(values, size, weights)."""
    size, dtype = c.int(1, "its size"), c.type("T", "int32")
    values = op.reshape(c.x, newshape=[-1])
    weighted = c.has(2) and 0 not in c.shape(2)
    weights = op.reshape(c.expr(2), newshape=[-1]) if weighted else op.cast(op.ones_like(values), dtype)
    return _counted(values, weights, size)


def _counted(values: Expr, weights: Expr, size: int) -> Expr:
    """Values at or above the size are not counted."""
    dtype = dtype_of(values)
    places = op.where(op.less(values, number(size, dtype)), values, number(-1, dtype))
    return scattered("Sum", weights, places, size)


def dense_bincount(c: Conversion):
    """DenseBincount(values, size, weights): of each row, if values have two axes."""
    size, dtype = c.int(1, "its size"), c.type("T", "float32")
    weighted = c.has(2) and 0 not in c.shape(2)
    binary = bool(c("binary_output", False))
    if c.rank(0) == 1:
        weights = c.expr(2) if weighted and not binary else op.cast(op.ones_like(c.x), dtype)
        made = _counted(c.x, weights, size)
    else:
        hot = op.one_hot(c.x, on_value=number(1, dtype), off_value=number(0, dtype), depth=size, axis=-1, dtype=dtype)
        if weighted and not binary:
            hot = op.multiply(hot, op.expand_dims(c.expr(2), axis=-1))
        made = op.sum(hot, axis=[1])
    return op.minimum(made, number(1, dtype)) if binary else made
