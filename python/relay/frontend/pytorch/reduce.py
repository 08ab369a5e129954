"""Reductions, cumulative sums, softmax and sorting."""

from __future__ import annotations

import math

from ... import op
from .conversion import (
    Conversion,
    Refused,
    cast,
    checks_sizes,
    dtype_name,
    exact_type,
    number,
    number_of_size,
    of_vectors,
)


def _kept(c: Conversion) -> bool:
    return bool(c("keepdim")) if "keepdim" in c._raw else False


def _axes(c: Conversion) -> list[int]:
    return c.axes() if "dim" in c._raw else list(range(c.rank("self")))


def reduce(function, dtype: str | None = None):
    """Reduces along `dim` (all axes if the form has none), in the type of the result or the given type."""

    def convert(c):
        data = c.as_("self", dtype)
        return function(data, axis=_axes(c), keepdims=_kept(c)) if c.rank("self") else data

    return convert


def _not_empty(c: Conversion, data, axes: list[int]):
    """Returns the data, whose axes must have an element, as PyTorch requires. Sizes that vary are checked later."""
    for axis in axes:
        extent = c.shape("self")[axis]
        if not isinstance(extent, int):
            data = op.annotation.bounded(data, axis=axis, least=1)
        elif extent == 0:
            raise Refused(
                f"it reduces axis {axis} of a tensor of sizes {c.shape('self')}, which has no elements; PyTorch "
                "refuses it too",
                help="give the axis at least one element, or leave the reduction out for empty tensors",
            )
    return data


def extreme(function):
    """Imports a maximum or a minimum along `dim` (all axes if the form has none)."""

    @checks_sizes
    def convert(c):
        data = _not_empty(c, c.as_("self"), _axes(c) if c.rank("self") else [])
        return function(data, axis=_axes(c), keepdims=_kept(c)) if c.rank("self") else data

    return convert


def _place(c: Conversion, function, **how):
    """Returns the position of the greatest or least element, or of the first NaN if there is one. `function` refuses
    axes without elements."""
    return first_greatest(c("self"), dtype_name(c.val("self").dtype), function, **how)


def first_greatest(data, dtype: str, function=op.argmax, **how):
    """Returns the same for an expression of this element type."""
    place = function(data, **how)
    if dtype.startswith(("float", "bfloat")):
        unknown = op.isnan(data)
        place = op.where(op.any(unknown, **how), op.argmax(op.cast(unknown, "int32"), **how), place)
    return op.cast(place, "int64")


def arg(function):
    @checks_sizes
    def convert(c):
        if c.rank("self") == 0:
            return number(0, "int64")
        return _place(c, function, axis=_axes(c) if c.has("dim") else None, keepdims=_kept(c))

    return convert


def value_and_place(function, place):
    """Imports max.dim: the values and their positions."""

    @checks_sizes
    def convert(c):
        if c.rank("self") == 0:
            return [c("self"), number(0, "int64")]
        how = {"axis": [c.axis()], "keepdims": _kept(c)}
        return [function(_not_empty(c, c("self"), [c.axis()]), **how), _place(c, place, **how)]

    return convert


def variance(root: bool):
    """Imports var.correction and std.correction."""

    def convert(c):
        if "correction" in c._raw:
            correction = 1 if c("correction") is None else c("correction")
        else:
            correction = int(c("unbiased"))
        # PyTorch's std does so too, but its var does not: squares may overflow in float32 although the root does not.
        wide = root and c.dtype in ("float32", "bfloat16")
        dtype = "float64" if wide else exact_type(c.dtype)
        found = op.variance(c.as_("self", dtype), axis=c.axes(), keepdims=_kept(c), unbiased=False)
        count = math.prod((c.shape("self")[axis] for axis in c.axes()), start=1)
        if isinstance(count, int):
            left = max(count - correction, 0)
            factor = count / left if left else math.inf
            found = found if factor == 1 else op.multiply(found, number(factor, dtype))
        elif correction != 0:
            total = number_of_size(math.prod(c.val("self").shape[axis] for axis in c.axes()), c._sizes)
            total = op.cast(total, "float64")
            left = op.maximum(op.subtract(total, number(correction, "float64")), number(0, "float64"))
            found = op.multiply(found, cast(op.divide(total, left), "float64", dtype))
        return cast(op.sqrt(found) if root else found, dtype, c.dtype)

    return of_vectors("self")(convert)


def running(function):
    return lambda c: function(c.as_("self"), axis=c.axis()) if c.rank("self") else c.as_("self")


def softmax(function):
    return of_vectors("self")(lambda c: function(c.as_("self"), axis=c.axis()))


@of_vectors("self")
def topk(c: Conversion):
    k = c("k")
    how = {"axis": c.axis(), "is_ascend": not c("largest"), "dtype": "int64"}
    if isinstance(k, int) and k == 0:  # which the operator takes as all
        none = op.strided_slice(c("self"), begin=[0], end=[0], axes=[c.axis()])
        return [none, op.cast(none, dtype="int64")]
    if isinstance(k, int):
        both = op.topk(c("self"), k=k, **how)
        return [both[0], both[1]]
    both = op.topk(c("self"), k=c.as_("k", "int64"), **how)
    return [op.reshape(both[i], newshape=c.out_shape, allowzero=True) for i in (0, 1)]


@of_vectors("self")
def sort(c: Conversion):
    both = op.topk(c("self"), k=0, axis=c.axis(), is_ascend=not c("descending"), dtype="int64")
    return [both[0], both[1]]


def holds(function):
    """Imports any and all, in which nonzero counts as true."""

    def convert(c):
        data = c.as_("self", "bool")
        found = function(data, axis=_axes(c), keepdims=_kept(c)) if c.rank("self") else data
        return found if c.dtype == "bool" else op.cast(found, dtype_name(c.result.dtype))

    return convert


def _powers(c: Conversion, data, order: float, dtype: str, **how):
    """Computes (sum |x|^order)^(1 / order), and its limits."""
    size = op.abs(data)
    if abs(order) == math.inf:
        return (op.max if order > 0 else op.min)(size, **how)
    if order == 0:
        return op.sum(op.cast(op.not_equal(data, number(0, dtype)), dtype), **how)
    if order == 1:
        return op.sum(size, **how)
    if order == 2:
        return op.sqrt(op.sum(op.multiply(data, data), **how))
    total = op.sum(op.power(size, number(order, dtype)), **how)
    return op.power(total, number(1 / order, dtype))


@checks_sizes
@of_vectors("self")
def vector_norm(c: Conversion):
    axes = [0] if c._lifted else c.axes()
    dtype, order, shape = exact_type(c.dtype), float(c("ord")), c.shape("self")  # powers are larger than the norm
    data = c.as_("self", dtype)
    if order < 0 or order == math.inf:
        data = _not_empty(c, data, axes)
    if order != 0 and all(shape[axis] == 1 for axis in axes):
        order = 1.0  # as PyTorch: the power of one small or large number is 0 or infinite
    return cast(_powers(c, data, order, dtype, axis=axes, keepdims=_kept(c)), dtype, c.dtype)


def cdist(c: Conversion):
    """Distances between the rows of two matrices."""
    rank, dtype = c.rank("x1"), exact_type(c.dtype)
    first, second = c.as_("x1", dtype), c.as_("x2", dtype)
    apart = op.subtract(op.expand_dims(first, axis=rank - 1), op.expand_dims(second, axis=rank - 2))
    found = _powers(c, apart, float(c("p")), dtype, axis=[rank], keepdims=False)
    return cast(
        op.maximum(found, number(0, dtype)) if c("p") == math.inf else found, dtype, c.dtype
    )  # of empty rows, 0


def variance_and_mean(c: Conversion):
    mean = op.mean(c("self"), axis=c.axes(), keepdims=_kept(c)) if c.rank("self") else c("self")
    return [variance(False)(c), mean]
