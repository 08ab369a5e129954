"""Operators that read or write by indices. An index out of range is an error; one below zero counts from the end."""

from __future__ import annotations

from ... import op
from .conversion import Conversion, Refused, number


def embedding(c: Conversion):
    return op.take(c("weight"), c("indices"), axis=0, mode="checked")


def index_select(c: Conversion):
    return op.take(c("self"), op.reshape(c("index"), newshape=[-1]), axis=c.axis(), mode="checked")


def gather(c: Conversion):
    return op.gather(c("self"), c.axis(), c("index"))


def scatter(update: str):
    """scatter.src, scatter.value and scatter_add."""

    def convert(c):
        if "src" in c._raw:
            source, wanted = c.val("src").shape, c.val("index").shape
            if tuple(source) != tuple(wanted):
                raise Refused("the source of scatter is larger than its indices")
            updates = c("src")
        else:
            updates = op.broadcast_to(number(c("value"), c.dtype), shape=c.shape("index"))
        return op.scatter_elements(c("self"), c("index"), updates, axis=c.axis(), reduction=update)

    return convert


def index(c: Conversion):
    """x[:, i, j]: one tensor of indices goes to take, several to adv_index, with their axes first."""
    nodes = c._raw["indices"]
    places = [axis for axis, one in enumerate(nodes) if one is not None]
    if any(str(nodes[axis].meta["val"].dtype) in ("torch.bool", "torch.uint8") for axis in places):
        raise Refused("a mask of truth values as an index: the size of the result depends on its elements")
    if len(places) == 1:
        return op.take(c("self"), c._values[nodes[places[0]]], axis=places[0], mode="checked")
    if places != list(range(len(places))):
        raise Refused("several tensors of indices that are not those of the first axes")
    wrapped = []
    for axis in places:
        extent, value = c.shape("self")[axis], c._values[nodes[axis]]
        if not isinstance(extent, int):
            raise Refused("several tensors of indices along an axis whose size is not known before the run")
        dtype = str(nodes[axis].meta["val"].dtype).removeprefix("torch.")
        below = op.less(value, number(0, dtype))
        wrapped.append(op.where(below, op.add(value, number(extent, dtype)), value))
    return op.adv_index([c("self"), *wrapped])
