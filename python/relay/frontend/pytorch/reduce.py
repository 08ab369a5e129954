"""Reductions, running sums, softmax and sorting."""

from __future__ import annotations

from ... import op
from .conversion import Conversion, Refused, dtype_name, number


def _kept(c: Conversion) -> bool:
    return bool(c("keepdim")) if "keepdim" in c._raw else False


def _axes(c: Conversion) -> list[int]:
    return c.axes() if "dim" in c._raw else list(range(c.rank("self")))


def reduce(function, dtype: str | None = None):
    """Along `dim` (all axes, where the form has none), in the type of the result or in the given one."""

    def convert(c):
        data = c.as_("self", dtype)
        return function(data, axis=_axes(c), keepdims=_kept(c)) if c.rank("self") else data

    return convert


def _place(c: Conversion, function, **how):
    """Where function finds the greatest or least element; that is the first one that is not a number, if there is one."""
    data = c("self")
    place = function(data, **how)
    if c.val("self").dtype.is_floating_point:
        unknown = op.isnan(data)
        place = op.where(op.any(unknown, **how), op.argmax(op.cast(unknown, "int32"), **how), place)
    return op.cast(place, "int64")


def arg(function):
    def convert(c):
        if c.rank("self") == 0:
            return number(0, "int64")
        return _place(c, function, axis=_axes(c) if c.has("dim") else None, keepdims=_kept(c))

    return convert


def value_and_place(function, place):
    """max.dim: the values and where they are."""

    def convert(c):
        if c.rank("self") == 0:
            return [c("self"), number(0, "int64")]
        how = {"axis": [c.axis()], "keepdims": _kept(c)}
        return [function(c("self"), **how), _place(c, place, **how)]

    return convert


def variance(root: bool):
    """var.correction and std.correction."""

    def convert(c):
        correction = 1 if c("correction") is None else c("correction")
        if correction not in (0, 1):
            raise Refused(f"correction is {correction}, not 0 or 1")
        if c.rank("self") == 0:
            raise Refused("the variance of a single number")
        found = op.variance(c("self"), axis=c.axes(), keepdims=_kept(c), unbiased=correction == 1)
        return op.sqrt(found) if root else found

    return convert


def running(function):
    return lambda c: function(c.as_("self"), axis=c.axis()) if c.rank("self") else c.as_("self")


def softmax(function):
    return lambda c: function(c.as_("self"), axis=c.axis())


def topk(c: Conversion):
    if not isinstance(c("k"), int):
        raise Refused("k is not known before the run")
    both = op.topk(c("self"), k=c("k"), axis=c.axis(), is_ascend=not c("largest"), dtype="int64")
    return [both[0], both[1]]


def sort(c: Conversion):
    both = op.topk(c("self"), k=0, axis=c.axis(), is_ascend=not c("descending"), dtype="int64")
    return [both[0], both[1]]


def holds(function):
    """any and all: of elements that are not zero."""

    def convert(c):
        data = c.as_("self", "bool")
        if c.rank("self") == 0:
            return data
        found = function(data, axis=_axes(c), keepdims=_kept(c))
        return found if c.dtype == "bool" else op.cast(found, dtype_name(c.result.dtype))

    return convert
