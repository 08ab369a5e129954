"""Operators that write by indices into a copy of a tensor."""

from __future__ import annotations

import numpy as np
import torch

from ... import op
from ...ir.expr import const
from .conversion import Conversion, Refused, UnknownSize, number, number_of_sizes, of_vectors, size
from .index import from_zero, order, places, together

_REDUCTIONS = {
    "sum": "add",
    "add": "add",
    "prod": "mul",
    "multiply": "mul",
    "amax": "max",
    "amin": "min",
    "mean": "add",
}
LAST = 2**63 - 1


def _source(c: Conversion, name: str, dtype: str):
    """Returns the written values in the shape of the indices; the source may be larger."""
    if name == "value":
        return op.broadcast_to(number(c("value"), dtype), shape=c.shape("index"))
    wanted, given = c.shape("index"), c.shape(name)
    source = c.as_(name, dtype)
    if wanted == given:
        return source
    if not all(isinstance(one, int) for one in wanted):
        return op.slice_like(source, c("index"))
    return op.strided_slice(source, begin=[0] * len(wanted), end=wanted)


def _nothing(c: Conversion) -> bool:
    return 0 in c.shape("index")


def scatter(update: str):
    """Imports scatter.src, scatter.value and scatter_add."""

    @of_vectors("self", "index", "src")
    def convert(c):
        if _nothing(c):
            return c("self")
        if c.dtype == "bool" and update == "add":
            return _reduced(c, "sum", True)
        name = "src" if "src" in c._raw else "value"
        return op.scatter_elements(
            c("self"), from_zero(c, "index"), _source(c, name, c.dtype), axis=c.axis(), reduction=update
        )

    return convert


@of_vectors("self", "index", "src")
def scatter_reduce(c: Conversion):
    return c("self") if _nothing(c) else _reduced(c, c("reduce"), bool(c("include_self")))


@of_vectors("self", "index", "src")
def scatter_with(c: Conversion):
    """Imports scatter.reduce and scatter.value_reduce."""
    return c("self") if _nothing(c) else _reduced(c, c("reduce"), True)


def _identity(reduction: str, dtype: str):
    if reduction in ("add", "mul"):
        return int(reduction == "mul")
    low = reduction == "max"
    if dtype.startswith(("float", "bfloat")):
        return -np.inf if low else np.inf
    return np.iinfo(dtype).min if low else np.iinfo(dtype).max


def _reduced(c: Conversion, reduce: str, with_self: bool):
    dtype, axis, index = c.dtype, c.axis(), from_zero(c, "index")
    inner = "int32" if dtype == "bool" else dtype
    reduction = _REDUCTIONS[reduce]
    data = op.cast(c("self"), inner) if inner != dtype else c("self")
    source = _source(c, "src" if "src" in c._raw else "value", inner)

    def written(target, value, how):
        return op.scatter_elements(target, index, value, axis=axis, reduction=how)

    def all_over(value, shape):
        return op.broadcast_to(number(value, inner), shape=shape)

    if not with_self:
        data = written(data, all_over(_identity(reduction, inner), c.shape("index")), "update")
    result = written(data, source, reduction)
    if reduce == "mean":
        ones = all_over(1, c.shape("index"))
        counts = all_over(1, c.out_shape if not c._lifted else [1])
        counts = counts if with_self else written(counts, all_over(0, c.shape("index")), "update")
        divide = op.divide if dtype.startswith(("float", "bfloat")) else op.floor_divide
        result = divide(result, written(counts, ones, "add"))
    if inner == dtype:
        return result
    return op.cast(result, "bool")


def _put_along(c: Conversion, axis: int, node):
    """Writes slices along a later axis, by a vector of indices. Nothing is transposed, so a cache of keys can be
    updated in place."""
    shape, extent = c.shape("self"), size(node.meta["val"].shape[0])
    written = [*shape[:axis], extent, *shape[axis + 1 :]]
    index = op.reshape(c._values[node], newshape=[*[1] * axis, extent, *[1] * (len(shape) - axis - 1)])
    updates = op.broadcast_to(c.as_("values"), shape=written)
    how = "add" if c("accumulate") else "update"
    return op.scatter_elements(c("self"), op.broadcast_to(index, shape=written), updates, axis=axis, reduction=how)


def index_put(c: Conversion):
    """Imports x[i] = y. A mask with one value becomes `where`; everything else writes slices, with the indexed axes
    first."""
    nodes, dtype = c._raw["indices"], c.dtype
    given = [node for node in nodes if node is not None]
    if len(given) == 1 and nodes[0] is None:
        val = given[0].meta["val"]
        if val.dtype in (torch.int32, torch.int64) and val.dim() == 1 and not (dtype == "bool" and c("accumulate")):
            return _put_along(c, nodes.index(given[0]), given[0])
    masks = [node for node in given if str(node.meta["val"].dtype) in ("torch.bool", "torch.uint8")]
    if masks and len(given) == 1:
        before, many = nodes.index(masks[0]), masks[0].meta["val"].dim()
        behind = c.rank("self") - before - many
        shape = [*[1] * (before + 1 + behind - c.rank("values")), *c.shape("values")]
        if shape[before] == 1:  # one slice for all positions where the mask is true
            spread = op.reshape(c.as_("values"), newshape=[*shape[:before], *[1] * many, *shape[before + 1 :]])
            extents = c.shape("self")[before : before + many]
            chosen = op.cast(c._values[masks[0]], "bool") if masks[0].meta["val"].dtype != torch.bool else None
            chosen = c._values[masks[0]] if chosen is None else chosen
            if c("accumulate"):
                spread = (op.logical_or if dtype == "bool" else op.add)(c("self"), spread)
            return op.where(op.reshape(chosen, newshape=[*extents, *[1] * behind]), spread, c("self"))
    found = places(c)
    axes, rank = list(found), c.rank("self")
    if masks:
        if len(given) != 1 or c.rank("values") != rank - len(axes) + 1:
            raise Refused("a boolean mask as an index, with values that are broadcast")
        shared = None
    else:
        shared = [size(one) for one in torch.broadcast_shapes(*(node.meta["val"].shape for node in given))]
    many = 1 if shared is None else len(shared)
    index = together(given, [value for value, _ in found.values()])
    turn = order(axes, rank)
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    left = [c.shape("self")[axis] for axis in turn[len(axes) :]]
    updates = c.as_("values")
    if shared is not None:
        updates = op.broadcast_to(updates, shape=[*left[:first], *shared, *left[first:]])
    if first:
        ahead = [*range(first, first + many), *range(first), *range(first + many, many + len(left))]
        updates = op.transpose(updates, axes=ahead)
    moved = c("self") if turn == list(range(rank)) else op.transpose(c("self"), axes=turn)
    mode = "add" if c("accumulate") else "update"
    if dtype == "bool" and mode == "add":
        moved, updates = op.cast(moved, "int32"), op.cast(updates, "int32")
    result = op.scatter_nd(moved, op.stack(index, axis=0), updates, mode=mode)
    result = op.cast(result, "bool") if dtype == "bool" and mode == "add" else result
    return result if turn == list(range(rank)) else op.transpose(result, axes=[turn.index(i) for i in range(rank)])


def _set(c: Conversion, value, axis: int, begin: int, end: int, step: int):
    extents = c.shape("self")[:axis]
    extents = [one if isinstance(one, int) else 2**31 - 1 for one in extents]  # the operator's positions are int32
    return op.strided_set(
        c("self"), value, begin=[0] * axis + [begin], end=[*extents, end], strides=[1] * axis + [step]
    )


def _set_from(c: Conversion, axis: int):
    """Writes to a range whose sizes are known at run time only: element i of the source goes to start + i * step."""
    if c.val("start") is not None and not isinstance(c.val("start"), int):
        first = c.as_("start", "int64")
    elif (c("start") or 0) >= 0:
        first = number(c("start") or 0, "int64")
    else:
        raise UnknownSize("the range of a slice begins before the end of an axis whose size is known only at run time")
    shape = c.shape("src")
    steps = op.arange(number(0, "int64"), _extent(c, "src", axis), number(1, "int64"), dtype="int64")
    places = op.add(first, op.multiply(steps, number(c("step"), "int64")))
    index = op.reshape(places, newshape=[*[1] * axis, shape[axis], *[1] * (len(shape) - axis - 1)])
    return op.scatter_elements(c("self"), op.broadcast_to(index, shape=shape), c.as_("src"), axis=axis)


def _extent(c: Conversion, name: str, axis: int):
    """Returns the size of an axis as a number of the program."""
    extent = c.val(name).shape[axis]
    return number(extent, "int64") if isinstance(extent, int) else number_of_sizes(extent.node.expr, c._sizes)[0]


def slice_scatter(c: Conversion):
    axis = c.axis()
    extent, start, end = c.shape("self")[axis], c("start") or 0, c("end")
    if not all(isinstance(one, int) for one in (extent, start, c("step"))) or not isinstance(end, (int, type(None))):
        return _set_from(c, axis)
    start, end, step = slice(start, end, c("step")).indices(extent)
    return c("self") if start >= end else _set(c, c.as_("src"), axis, start, end, step)


def select_scatter(c: Conversion):
    axis, index = c.axis(), c("index")
    extent = c.shape("self")[axis]
    if not isinstance(index, int) or not isinstance(extent, int):
        raise UnknownSize("the index of a selection is known only at run time")
    return _set(c, op.expand_dims(c.as_("src"), axis=axis), axis, index % extent, index % extent + 1, 1)


def diagonal_scatter(c: Conversion):
    """Writes elements of the diagonal by their row-major positions."""
    shape = c.shape("self")
    if not all(isinstance(one, int) for one in shape):
        raise UnknownSize("the diagonal of a matrix whose size is known only at run time")
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    chosen = np.diagonal(numbers, c("offset"), c("dim1") % len(shape), c("dim2") % len(shape)).reshape(-1)
    flat = op.reshape(c("self"), newshape=[numbers.size])
    updates = op.reshape(c.as_("src"), newshape=[chosen.size])
    return op.reshape(op.scatter_elements(flat, const(chosen), updates, axis=0), newshape=shape)


def copy(c: Conversion):
    return op.broadcast_to(c.as_("src"), shape=c.out_shape)


def max_pool_backward(c: Conversion):
    """Sends gradients to the positions of the maxima."""
    shape, given = c.shape("self"), c.shape("indices")
    if not all(isinstance(one, int) for one in [*shape[-2:], *given[-2:]]):
        raise UnknownSize("images whose size is known only at run time")
    flat = [*shape[:-2], shape[-2] * shape[-1]]
    places = op.reshape(c("indices"), newshape=[*given[:-2], given[-2] * given[-1]])
    gradients = op.reshape(c("grad_output"), newshape=[*given[:-2], given[-2] * given[-1]])
    zeros = op.full(number(0, c.dtype), shape=flat)
    return op.reshape(
        op.scatter_elements(zeros, places, gradients, axis=len(flat) - 1, reduction="add"), newshape=shape
    )


def col2im(c: Conversion):
    """Imports F.fold: sums windows at their positions in an image."""
    height, width = c("output_size")
    kernel, dilation, padding, stride = (c(name) for name in ("kernel_size", "dilation", "padding", "stride"))
    extents = [extent + 2 * p for extent, p in zip((height, width), padding, strict=True)]
    along = []
    for extent, k, d, s in zip(extents, kernel, dilation, stride, strict=True):
        windows = (extent - d * (k - 1) - 1) // s + 1
        along.append(np.arange(k)[:, None] * d + np.arange(windows) * s)  # (kernel, windows)
    rows, columns = along
    pixels = (rows[:, None, :, None] * extents[1] + columns[None, :, None, :]).reshape(-1)
    batched = c.rank("self") == 3
    shape = [*c.out_shape[:-2], pixels.size]
    given = op.reshape(c("self"), newshape=shape)
    zeros = op.full(number(0, c.dtype), shape=[*c.out_shape[:-2], extents[0] * extents[1]])
    places = op.broadcast_to(const(pixels), shape=shape)
    image = op.scatter_elements(zeros, places, given, axis=2 if batched else 1, reduction="add")
    image = op.reshape(image, newshape=[*c.out_shape[:-2], *extents])
    first = 2 if batched else 1
    end = [p + extent for p, extent in zip(padding, (height, width), strict=True)]
    return op.strided_slice(image, begin=list(padding), end=end, axes=[first, first + 1])
