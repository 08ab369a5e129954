"""Operators that read by indices.

An index out of range is an error. A negative index counts from the end in x[i] only.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from ... import op
from ...ir.expr import const
from .conversion import Conversion, Refused, UnknownSize, counted, dtype_name, number, of_vectors, size

aten = torch.ops.aten
_CONTIGUOUS = "call contiguous() first"


def from_zero(c: Conversion, name: str):
    """Makes negative indices too large, so that they do not count from the end."""
    dtype = dtype_name(c.val(name).dtype)
    return op.reinterpret(c(name), dtype=f"u{dtype}") if dtype.startswith("int") else c(name)


def embedding(c: Conversion):
    return op.take(c("weight"), from_zero(c, "indices"), axis=0, mode="checked")


@of_vectors("self")
def index_select(c: Conversion):
    return op.take(c("self"), op.reshape(from_zero(c, "index"), newshape=[-1]), axis=c.axis(), mode="checked")


@of_vectors("self", "index")
def gather(c: Conversion):
    return op.gather(c("self"), c.axis(), from_zero(c, "index"))


def _columns(mask, rank: int) -> list:
    """Returns the positions where a mask is true, as one tensor of indices for each of its axes."""
    places = op.cast(op.argwhere(mask), "int64")
    return [
        op.squeeze(op.strided_slice(places, begin=[axis], end=[axis + 1], axes=[1]), axis=[1]) for axis in range(rank)
    ]


def places(c: Conversion) -> dict:
    """Returns, by axis, the integer tensors that index it: (expression, rank). A mask stands for one tensor for each
    axis."""
    found, axis = {}, 0
    for node in c._raw["indices"]:
        if node is None:
            axis += 1
            continue
        val, value = node.meta["val"], c._values[node]
        if val.dtype in (torch.bool, torch.uint8):
            if val.dim() == 0:
                raise Refused("a mask without axes as an index")
            mask = value if val.dtype == torch.bool else op.cast(value, "bool")
            found |= {axis + i: (one, 1) for i, one in enumerate(_columns(mask, val.dim()))}
            axis += val.dim()
            continue
        found[axis] = (value, val.dim())
        axis += 1
    return found


def together(nodes: list, values: list) -> list:
    """Broadcasts tensors of indices to one shape. Those of a mask have one shape already, which is known at run time
    only."""
    vals = [node.meta["val"] for node in nodes]
    if not any(val.dtype in (torch.bool, torch.uint8) for val in vals):
        shared = [size(one) for one in torch.broadcast_shapes(*(val.shape for val in vals))]
        return [op.broadcast_to(value, shape=shared) for value in values]
    if len(nodes) > 1:
        raise Refused("a boolean mask together with another tensor of indices")
    return values


def order(axes: list[int], rank: int) -> list[int]:
    """Returns the axes with the indexed ones first."""
    return [*axes, *(axis for axis in range(rank) if axis not in axes)]


def index(c: Conversion):
    """Imports x[:, i, j]. One tensor of indices becomes take; several become gather_nd with their axes first."""
    nodes = c._raw["indices"]
    of_integers = [node for node in nodes if node is not None]
    if len(of_integers) == 1 and of_integers[0].meta["val"].dtype not in (torch.bool, torch.uint8):
        return op.take(c("self"), c._values[of_integers[0]], axis=nodes.index(of_integers[0]), mode="checked")
    found = places(c)
    axes, rank = list(found), c.rank("self")
    moved = c("self") if axes == list(range(len(axes))) else op.transpose(c("self"), axes=order(axes, rank))
    tuples = op.stack(together(of_integers, [value for value, _ in found.values()]), axis=0)
    picked = op.gather_nd(moved, tuples, index_rank=len(axes))
    first, many = axes[0], max(rank for _, rank in found.values())
    if first == 0 or axes != list(range(first, first + len(axes))):
        return picked
    left = rank - len(axes)
    return op.transpose(picked, axes=[*range(many, many + first), *range(many), *range(many + first, many + left)])


def diagonal(c: Conversion):
    """Merges both axes into one and picks its elements, or picks by both axes if sizes vary."""
    rank = c.rank("self")
    first, second = c("dim1") % rank, c("dim2") % rank
    rest = [axis for axis in range(rank) if axis not in (first, second)]
    shape, extent = c.shape("self"), c.out_shape[-1]
    rows, columns = shape[first], shape[second]
    offset = c("offset")
    if not all(isinstance(one, int) for one in (rows, columns)):
        moved = op.transpose(c("self"), axes=[first, second, *rest])
        ends = (op.add(counted(extent), number(max(one, 0), "int64")) for one in (-offset, offset))
        picked = op.gather_nd(moved, op.stack(list(ends), axis=0), index_rank=2)
        return op.transpose(picked, axes=[*range(1, rank - 1), 0])
    start = -offset * columns if offset < 0 else offset
    flat = op.transpose(c("self"), axes=[*rest, first, second])
    flat = op.reshape(flat, newshape=[*(shape[axis] for axis in rest), rows * columns], allowzero=True)
    return op.take(flat, const(start + (columns + 1) * np.arange(extent)), axis=len(rest), mode="checked")


# Operators whose results are stored as PyTorch's fake tensors say.
_STORED_AS_REPORTED = (
    *(
        aten.convolution,
        aten.mm,
        aten.addmm,
        aten.bmm,
        aten.baddbmm,
        aten.clone,
        aten._to_copy,
        aten._unsafe_view,
        aten.mean,
        aten.sum,
    ),
    *(aten.scatter, aten.copy, aten.zeros, aten.new_zeros, aten.new_ones, aten.new_full, aten.new_empty),
)


def _of_unsure_layout(node) -> list:
    """Returns the nodes that decide the layout of this one's result, if PyTorch's fake tensors may report another
    layout; otherwise none. For views, elementwise operators and products, the report is right."""
    seen, work, sure = [], [node], True
    while work:
        one = work.pop()
        if one in seen or one.op in ("placeholder", "get_attr"):
            continue
        seen.append(one)
        target = one.target
        packet = getattr(target, "overloadpacket", None)
        follows = getattr(target, "is_view", False) or torch.Tag.pointwise in getattr(target, "tags", ())
        sure = sure and (follows or packet in _STORED_AS_REPORTED or not one.all_input_nodes)
        work.extend(read for read in one.all_input_nodes if isinstance(read.meta.get("val"), torch.Tensor))
    return [] if sure else seen


def as_strided(c: Conversion):
    """Reads elements by their position in memory, from a tensor that is stored row by row."""
    if unsure := _of_unsure_layout(c.node.args[0]):
        raise Refused("the memory layout of its tensor is unknown: call contiguous() first", unsure, help=_CONTIGUOUS)
    val, shape = c.val("self"), c.out_shape
    sizes = [*val.shape, *shape, *c("stride"), c("storage_offset") or 0]
    if not all(isinstance(one, int) for one in sizes):
        raise UnknownSize("the memory layout is known only at run time")
    if not val.is_contiguous() or val.storage_offset():
        raise Refused("a tensor that is not stored row by row: call contiguous() first", help=_CONTIGUOUS)
    places = np.full(shape, c("storage_offset") or 0, "int64")
    for axis, stride in enumerate(c("stride")):
        steps = [1] * len(shape)
        steps[axis] = shape[axis]
        places = places + (np.arange(shape[axis]) * stride).reshape(steps)
    if places.size and places.max() >= val.numel():
        raise Refused("elements of memory beyond the tensor", help="take the view of the whole tensor")
    return op.take(op.reshape(c("self"), newshape=[val.numel()]), const(places), axis=0, mode="checked")


def nonzero(c: Conversion):
    return op.cast(op.argwhere(c.as_("self", "bool")), "int64")


def masked_scatter(c: Conversion):
    """Writes elements of the source, in order, where the mask is true."""
    extent = math.prod(c.out_shape, start=1)
    if 0 in c.shape("source") or extent == 0:
        return c("self")
    mask = op.broadcast_to(c("mask"), shape=c.out_shape)
    counted = op.cumsum(op.cast(op.reshape(mask, newshape=[extent]), "int64"), axis=0)
    source = op.reshape(c("source"), newshape=[-1])
    picked = op.take(source, op.subtract(counted, number(1, "int64")), axis=0, mode="clip")
    data = op.broadcast_to(c("self"), shape=c.out_shape)
    return op.where(mask, op.reshape(picked, newshape=c.out_shape), data)


def masked_select(c: Conversion):
    shape = [size(one) for one in torch.broadcast_shapes(c.val("self").shape, c.val("mask").shape)] or [1]
    data, mask = (op.broadcast_to(one, shape=shape) for one in (c("self"), c("mask")))
    return op.gather_nd(data, op.transpose(op.argwhere(mask), axes=[1, 0]), index_rank=len(shape))


def searchsorted(sorted_: str, values: str):
    """Imports searchsorted and bucketize."""

    def convert(c):
        right = bool(c("right")) or (c("side") == "right" if "side" in c._raw else False)
        dtype = c.common_dtype(sorted_, values)
        sequence = c.as_(sorted_, dtype)
        if "sorter" in c._raw and c.has("sorter"):
            sequence = op.gather(sequence, c.rank(sorted_) - 1, c("sorter"))
        return op.searchsorted(sequence, c.as_(values, dtype), right=right, dtype=c.dtype)

    return convert


@of_vectors("self")
def unfold(c: Conversion):
    """Imports windows along an axis, whose elements become the last axis."""
    rank = c.rank("self")
    axis, last = c.axis("dimension"), rank - 1
    away = [*(one for one in range(rank) if one != axis), axis]
    windows = op.sliding_window(
        op.transpose(c("self"), axes=away) if axis != last else c("self"),
        axis=last,
        window_shape=[c("size")],
        strides=[c("step")],
    )
    if axis == last:
        return windows
    return op.transpose(windows, axes=[*range(axis), last, *range(axis, last), rank])


def grid_sample(c: Conversion):
    rank = c.rank("grid")
    grid = op.transpose(c("grid"), axes=[0, rank - 1, *range(1, rank - 1)])
    return op.image.grid_sample(
        c("input"),
        grid,
        layout="NCHW" if rank == 4 else "NCDHW",
        method=("bilinear", "nearest", "bicubic")[c("interpolation_mode")],
        padding_mode=("zeros", "border", "reflection")[c("padding_mode")],
        align_corners=bool(c("align_corners")),
    )


def bincount(c: Conversion):
    """Counts the occurrences of each number, or sums its weights."""
    data = c.as_("self", "int64")
    most = op.max(op.concatenate([data, op.full(number(-1, "int64"), shape=[1])], axis=0))
    extent = op.maximum(op.add(most, number(1, "int64")), number(c("minlength"), "int64"))
    zeros = op.zeros(op.reshape(extent, newshape=[1]), dtype=c.dtype)
    added = c.as_("weights") if c.has("weights") else op.full(number(1, c.dtype), shape=c.shape("self"))
    return op.scatter_elements(zeros, data, added, axis=0, reduction="add")


def histogram(c: Conversion):
    """Imports histc: counts the numbers in equal parts of a range, or of the data's range if both ends are equal."""
    data, bins, dtype = op.reshape(c.as_("self"), newshape=[-1]), int(c("bins")), c.dtype
    low, high = (number(float(c(name)), dtype) for name in ("min", "max"))
    if c("min") == c("max"):
        low, high = op.min(data), op.max(data)
        flat = op.equal(low, high)  # one number: half a unit around it
        one = number(1, dtype)
        low, high = op.where(flat, op.subtract(low, one), low), op.where(flat, op.add(high, one), high)
    if not dtype.startswith("float"):
        data, low, high = (op.cast(one, "float64") for one in (data, low, high))
        dtype = "float64"
    place = op.multiply(op.divide(op.subtract(data, low), op.subtract(high, low)), number(bins, dtype))
    place = op.minimum(op.cast(op.floor(place), "int64"), number(bins - 1, "int64"))
    inside = op.logical_and(op.less_equal(low, data), op.less_equal(data, high))
    ones = op.cast(inside, c.dtype)
    zeros = op.full(number(0, c.dtype), shape=[bins])
    place = op.where(inside, place, number(0, "int64"))
    return op.scatter_elements(zeros, place, ones, axis=0, reduction="add")


def unique(c: Conversion):
    """Imports _unique2: distinct elements, the number of each element, and the counts."""
    shape = c.shape("self")
    found = op.unique(op.reshape(c("self"), newshape=[-1]), is_sorted=True, return_counts=bool(c("return_counts")))
    count = op.cast(found[3], "int64")

    def filled(vector):
        return op.strided_slice(vector, begin=[0], end=count)

    inverse = op.reshape(op.cast(found[2], "int64"), newshape=shape) if c("return_inverse") else None
    return [filled(found[0]), inverse, op.cast(filled(found[4]), "int64") if c("return_counts") else None]


def repeat_interleave(c: Conversion):
    """Imports repeat_interleave.Tensor: the number i occurs repeats[i] times."""
    ends = op.cumsum(op.cast(c("repeats"), "int64"), axis=0)
    total = op.sum(op.cast(c("repeats"), "int64"))
    places = op.arange(number(0, "int64"), total, number(1, "int64"), dtype="int64")
    return op.cast(op.searchsorted(ends, places, right=True, dtype="int64"), c.dtype)
