"""Reductions, sums along an axis, and orders of elements of PaddlePaddle."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared import functions
from ..shared.expressions import axis_of, bounded, cast, dtype_of, is_float, known, shape_of
from ..shared.problems import Refused
from .conversion import Operator


def axes_of(c: Operator) -> list[int]:
    """Returns the axes of a reduction: all of them if there are none."""
    found = c.list_of("dim", "Axis", [])
    whole = c.flag("reduce_all", False) or not found
    return list(range(c.rank)) if whole else sorted({axis_of(one, c.rank) for one in found})


def reduction(function, of: str = ""):
    """Returns the converter of a reduction. of: the element type that it has first; "number" for whole ones as well."""

    def convert(c: Operator):
        c.ignore("in_dtype", "use_mkldnn")
        x, axes, keepdims = c.x, axes_of(c), c.flag("keep_dim", False)
        found = c.value("out_dtype", -1)
        dtype = c.dtype_named("out_dtype", c.dtype) if found not in (-1, "") else ""
        if of:
            x = cast(x, of)
        elif dtype:
            x = cast(x, dtype)
        elif dtype_of(x) == "bool" or (dtype_of(x) == "int32" and function is op.sum and c.node.kind == "reduce_sum"):
            x = cast(x, "int64")
        return function(x, axis=axes, keepdims=keepdims) if axes else x

    return convert


def mean_all(c: Operator):
    return op.mean(c.x, axis=list(range(c.rank)))


def logsumexp(c: Operator):
    found, keepdims = c.ints("axis", []), c.flag("keepdim", False)
    whole = c.flag("reduce_all", False) or not found
    axes = list(range(c.rank)) if whole else [axis_of(one, c.rank) for one in found]
    return op.logsumexp(c.x, axis=axes, keepdims=keepdims)


def squared_norm(c: Operator):
    return op.reshape(op.sum(op.multiply(c.x, c.x)), newshape=[1])


def l1_norm(c: Operator):
    return op.sum(op.abs(c.x))


def arg(function):
    """Returns the converter of positions of extremes."""

    def convert(c: Operator):
        dtype, keepdims = c.dtype_named("dtype", "int64"), c.flag("keepdims", False)
        flat = c.flag("flatten", False)
        x = op.reshape(c.x, newshape=[-1]) if flat else c.x
        rank = 1 if flat else c.rank
        axis = 0 if flat else axis_of(c.int_of("axis", "Axis", -1), rank)
        c.ignore("axis")
        made = cast(function(x, axis=[axis], keepdims=keepdims and not flat), dtype)
        return op.reshape(made, newshape=[1] * c.rank) if flat and keepdims else made

    return convert


def _along(c: Operator, otherwise: int = -1) -> tuple[Expr, int]:
    """Returns the data and the axis; `flatten` puts all elements into one row."""
    if c.flag("flatten", False):
        c.ignore("axis")
        return op.reshape(c.x, newshape=[-1]), 0
    return c.x, axis_of(c.int_of("axis", "Axis", otherwise), c.rank)


def cumulative(function):
    def convert(c: Operator):
        x, axis = _along(c)
        exclusive, backward = c.flag("exclusive", False), c.flag("reverse", False)
        x = op.reverse(x, axis=axis) if backward else x
        made = function(x, axis=axis, exclusive=exclusive)
        return op.reverse(made, axis=axis) if backward else made

    return convert


def cumprod(c: Operator):
    c.ignore("exclusive", "reverse")
    axis = axis_of(c.int("dim", 0), c.rank)
    return op.cumprod(c.x, axis=axis)


def log_cumsum_exp(c: Operator):
    x, axis = _along(c)
    c.without_value("exclusive", False)
    c.without_value("reverse", False)
    return functions.running_logsumexp(x, axis)


def cumulative_extreme(sign: int):
    """Returns the converter of the extreme of each element and those before it, and of its position."""

    def convert(c: Operator):
        dtype, axis = c.dtype_named("dtype", "int64"), axis_of(c.int("axis", -1), c.rank)
        size = bounded(c.size(axis, "it"), 4096, "the size of its axis")
        order = [*(at for at in range(c.rank) if at != axis), axis]
        back = list(np.argsort(order))
        x = op.transpose(c.x, axes=order)
        sizes = shape_of(x)
        rows = op.broadcast_to(op.expand_dims(x, axis=c.rank - 1), [*sizes[:-1], size, size])
        lowest = c.number((-np.inf if sign > 0 else np.inf) if is_float(c.dtype) else np.iinfo(c.dtype).min // sign)
        masked = op.where(c.constant(np.tri(size, dtype=bool)), rows, lowest)
        function = op.argmax if sign > 0 else op.argmin
        index = function(masked, axis=[c.rank], select_last_index=True)
        values = op.gather(x, c.rank - 1, index)
        return {"Out": op.transpose(values, axes=back), "Indices": cast(op.transpose(index, axes=back), dtype)}

    return convert


# --- orders -----------------------------------------------------------------------------------------------------------
def top_k(c: Operator):
    c.ignore("sorted")
    count, largest = c.int_of("k", "K", 1), c.flag("largest", True)
    axis = c.axis_named("axis", -1)
    size = shape_of(c.x)[axis]
    if count < 1 or (isinstance(size, int) and count > size):
        raise Refused(f"`k` is {count} of {size} elements")
    values, places = op.topk(c.x, k=count, axis=axis, ret_type="both", is_ascend=not largest, dtype="int64")
    return {"Out": values, "Indices": places}


def argsort(c: Operator):
    c.ignore("stable")
    axis, ascends = c.axis_named("axis", -1), not c.flag("descending", False)
    if not c.rank:
        return {"Out": c.x, "Indices": op.zeros([], dtype="int64")}
    places = op.argsort(c.x, axis=axis, is_ascend=ascends, dtype="int64")
    return {"Out": op.gather(c.x, axis, places), "Indices": places}


def kth_value(c: Operator):
    axis, keepdims, count = c.axis_named("axis", -1), c.flag("keepdim", False), c.count("k", 1)
    places = op.argsort(c.x, axis=axis, is_ascend=True, dtype="int64")
    taken = op.strided_slice(places, begin=[count - 1], end=[count], axes=[axis])
    values = op.gather(c.x, axis, taken)
    if not keepdims:
        taken, values = (op.squeeze(one, axis=[axis]) for one in (taken, values))
    return {"Out": values, "Indices": taken}


def unique(c: Operator):
    """The distinct elements of all, in order."""
    c.ignore("return_index", "return_inverse", "return_counts")
    dtype = c.dtype_named("dtype", "int64")
    if c.ints("axis", []):
        raise Refused("distinct rows along an axis are not imported", "leave the axis out")
    is_sorted = c.flag("is_sorted", True)
    flat = op.reshape(c.x, newshape=[-1])
    made = op.unique(flat, is_sorted=is_sorted, return_counts=True)
    values, first, inverse, count, counts = (made[place] for place in range(5))

    def cut(value: Expr) -> Expr:
        end = op.reshape(cast(count, "int64"), newshape=[1])
        zero, one = c.constant(np.zeros(1), "int64"), c.constant(np.ones(1), "int64")
        return op.dyn.strided_slice(value, zero, end, one)

    index = cast(inverse, dtype)
    found = {"Out": cut(values), "Indices": cast(cut(first), dtype), "Index": index, "Counts": cast(cut(counts), dtype)}
    if not is_sorted:
        found["Index"] = index
    return found


def searchsorted(c: Operator):
    dtype = "int32" if c.flag("out_int32", False) else "int64"
    return op.searchsorted(c["SortedSequence"], c["Values"], right=c.flag("right", False), dtype=dtype)


def trace(c: Operator):
    from .shape import diagonal_of  # the diagonal is a matter of shapes

    offset, first, second = c.int("offset", 0), c.axis_named("axis1", 0), c.axis_named("axis2", 1)
    return op.sum(diagonal_of(c, c.x, offset, first, second), axis=[-1])


def bincount(c: Operator):
    """The number of times of each value. The length of the result must be known."""
    least = c.int_of("minlength", "MinLength", 0)
    values = c.elements("X")
    if values is None:
        raise Refused("the length of its result depends on the values", "use a histogram with a fixed number of bins")
    size = max(least, int(values.max(initial=-1)) + 1)
    bounded(size, 1 << 24, "the length of its result")
    weights = c["Weights"] if c.gives("Weights") else op.ones([known(c.shape[0], "it")], dtype="int64")
    zeros = op.zeros([size], dtype=dtype_of(weights))
    return op.scatter_elements(zeros, cast(c.x, "int32"), weights, axis=0, reduction="add")
