"""Operators of PaddlePaddle that choose elements, or put them somewhere."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import axis_of, bounded, cast, dtype_of, is_known, known, number, shape_of
from ..shared.problems import Refused
from ..shared.values import size_number
from .conversion import Operator
from .shape import bounds, is_next


def _places(c: Operator, slot: str = "Index") -> Expr:
    found = c[slot]
    return cast(found, "int64") if dtype_of(found) != "int32" else found


def where(c: Operator):
    x, y = c["X"], c["Y"]
    return op.where(cast(c["Condition"], "bool"), x, cast(y, dtype_of(x)))


def where_index(c: Operator):
    return cast(op.argwhere(c.x), "int64")


def masked_select(c: Operator):
    x, mask = c["X"], c["Mask"]
    sizes = shape_of(x)
    mask = op.broadcast_to(mask, sizes) if shape_of(mask) != sizes else mask
    return {"Y": op.compress(op.reshape(x, newshape=[-1]), op.reshape(mask, newshape=[-1]), axis=0)}


def masked_fill(c: Operator):
    x = c["X"]
    value = c.real_of("value", "Value", 0.0)
    filled = number(value, dtype_of(x)) if isinstance(value, float) else cast(value, dtype_of(x))
    return op.where(cast(c["Mask"], "bool"), filled, x)


def gather(c: Operator):
    """Rows of an axis. An index of one column counts as a vector."""
    index = _places(c)
    axis = axis_of(c.int_of("axis", "Axis", 0), c.rank)
    c.ignore("overwrite")
    sizes = shape_of(index)
    if len(sizes) == 2 and sizes[1] == 1:
        index = op.reshape(index, newshape=[sizes[0]])
    return op.take(c.x, index, axis=axis, mode="checked")


def index_select(c: Operator):
    return op.take(c.x, _places(c), axis=c.axis_named("dim", 0), mode="checked")


def gather_nd(c: Operator):
    """The last axis of the index has positions along the first axes."""
    index = _places(c)
    rank = len(shape_of(index))
    depth = known(shape_of(index)[-1], "the number of indexed axes")
    if depth == 0:
        return op.broadcast_to(c.x, [*shape_of(index)[:-1], *c.shape])
    return op.gather_nd(c.x, op.transpose(index, axes=[rank - 1, *range(rank - 1)]))


def take_along_axis(c: Operator):
    axis = c.axis_named("Axis", 0)
    index, x = _places(c), c.x
    sizes, own = list(shape_of(index)), list(c.shape)
    if is_known(*sizes, *own):  # sizes of one element are broadcast
        both = [size if at == axis else max(size, mine) for at, (size, mine) in enumerate(zip(sizes, own, strict=True))]
        index = op.broadcast_to(index, both) if both != sizes else index
        both[axis] = own[axis]
        x = op.broadcast_to(x, both) if both != own else x
    return {"Result": op.gather(x, axis, _positive(index, shape_of(x)[axis]))}


def _positive(index: Expr, size) -> Expr:
    """Returns indices that count from the front."""
    dtype = dtype_of(index)
    whole = number(size, dtype) if isinstance(size, int) else cast(size_number(size), dtype)
    return op.where(op.less(index, number(0, dtype)), op.add(index, whole), index)


_REDUCE = {"assign": "update", "add": "add", "mul": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def put_along_axis(c: Operator):
    axis, rule = c.axis_named("Axis", 0), c.text("Reduce", "assign", tuple(_REDUCE))
    if not c.flag("Include_self", True) and rule != "assign":
        raise Refused("values that are not part of the reduction are not imported", "use include_self=True")
    index = _places(c)
    values, sizes = cast(c["Value"], c.dtype), shape_of(index)
    values = op.broadcast_to(values, sizes) if shape_of(values) != sizes else values
    made = op.scatter_elements(c.x, _positive(index, c.shape[axis]), values, axis=axis, reduction=_REDUCE[rule])
    return {"Result": made}


def index_sample(c: Operator):
    return op.gather(c.x, 1, _places(c))


def scatter(c: Operator):
    """Rows are replaced; or set to zero first, and added."""
    index, updates = _places(c, "Ids"), c["Updates"]
    sizes = shape_of(index)
    index = op.reshape(index, newshape=[-1]) if len(sizes) == 2 and sizes[1] == 1 else index
    if not shape_of(index):
        index, updates = op.reshape(index, newshape=[1]), op.expand_dims(updates, axis=0)
    places = op.reshape(index, newshape=[1, -1])
    if c.flag("overwrite", True):
        return op.scatter_nd(c.x, places, updates, mode="update")
    cleared = op.scatter_nd(c.x, places, op.zeros_like(updates), mode="update")
    return op.scatter_nd(cleared, places, updates, mode="add")


def scatter_nd_add(c: Operator):
    index = _places(c)
    rank = len(shape_of(index))
    return op.scatter_nd(c.x, op.transpose(index, axes=[rank - 1, *range(rank - 1)]), c["Updates"], mode="add")


def index_add(c: Operator):
    axis = c.axis_named("axis", 0)
    order = [axis, *(at for at in range(c.rank) if at != axis)]
    x, more = op.transpose(c.x, axes=order), op.transpose(c["AddValue"], axes=order)
    made = op.scatter_nd(x, op.reshape(_places(c), newshape=[1, -1]), more, mode="add")
    return op.transpose(made, axes=list(np.argsort(order)))


def index_put(c: Operator):
    x, indices, value = c["x"], c.every("indices"), c["value"]
    mode = "add" if c.flag("accumulate", False) else "update"
    if len(indices) == 1 and dtype_of(indices[0]) == "bool":
        mask = indices[0]
        if math.prod(one if isinstance(one, int) else 2 for one in shape_of(value)) != 1:
            raise Refused("it puts several values where a mask holds", "use paddle.where")
        rest = len(shape_of(x)) - len(shape_of(mask))
        mask = op.reshape(mask, newshape=[*shape_of(mask), *[1] * rest])
        value = op.reshape(cast(value, dtype_of(x)), newshape=[])
        return {"out": op.where(mask, op.add(x, value) if mode == "add" else value, x)}
    made = [_positive(cast(one, "int64"), size) for one, size in zip(indices, shape_of(x), strict=False)]
    sizes = _broadcast([shape_of(one) for one in made])
    stacked = op.stack([op.broadcast_to(one, sizes) for one in made], axis=0)
    wanted = [*sizes, *shape_of(x)[len(made) :]]
    value = cast(value, dtype_of(x))
    value = op.broadcast_to(value, wanted) if shape_of(value) != wanted else value
    return {"out": op.scatter_nd(x, stacked, value, mode=mode)}


def _broadcast(shapes: list[list]) -> list:
    rank = max(len(one) for one in shapes)
    rows = [[1] * (rank - len(one)) + list(one) for one in shapes]
    return [next((one for one in column if one != 1), 1) for column in zip(*rows, strict=True)]


def multiplex(c: Operator):
    """Row i comes from the operand that the index names."""
    parts = op.stack(c.every("X"), axis=0)
    sizes = shape_of(parts)
    rows = known(sizes[1], "it")
    ids = op.reshape(_places(c, "Ids"), newshape=[rows])
    places = op.stack([cast(ids, "int64"), c.constant(np.arange(rows), "int64")], axis=0)
    return op.gather_nd(parts, places)


def sequence_mask(c: Operator):
    """True at positions below each length."""
    dtype = c.dtype_named("out_dtype", "int64")
    longest = c.int_of("maxlen", "MaxLenTensor", -1)
    lengths = c.x
    if longest < 0:
        raise Refused("the longest length is computed at run time", "give maxlen")
    bounded(longest, 1 << 24, "`maxlen`")
    steps = c.constant(np.arange(longest), dtype_of(lengths))
    return {"Y": cast(op.less(steps, op.expand_dims(lengths, axis=c.rank)), dtype)}


# --- parts that are replaced ------------------------------------------------------------------------------------------
def set_value(c: Operator):
    """Replaces a part of a tensor. Bounds may be computed at run time."""
    c.ignore("dtype", "none_axes")
    x, rank, sizes = c.x, c.rank, c.shape
    if c.ints("none_axes", []):
        raise Refused("new axes in an assignment are not imported", "reshape the value first")
    axes = [axis_of(one, rank) for one in c.ints("axes", [])]
    begins, ends, steps = bounds(c, "starts", "Starts"), bounds(c, "ends", "Ends"), bounds(c, "steps", "Steps")
    away = [axis_of(one, rank) for one in c.ints("decrease_axes", [])]
    if not len(axes) == len(begins) == len(ends) == len(steps):
        raise Refused(f"it has {len(axes)} axes, {len(begins)} begins and {len(ends)} ends")
    value = _value(c)
    places: list = [None] * rank  # of each axis: positions, or None for all
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        places[axis] = _positions(c, sizes[axis], begin, end, step)
    counts = [sizes[at] if one is None else one[1] for at, one in enumerate(places)]
    kept = [one for at, one in enumerate(counts) if at not in away]
    if len(shape_of(value)) > len(kept):
        value = op.reshape(value, newshape=kept)
    value = op.broadcast_to(value, kept) if shape_of(value) != kept else value
    value = op.reshape(value, newshape=counts) if away else value
    last = max((at for at, one in enumerate(places) if one is not None), default=-1)
    if last < 0:
        return value
    indexed = last + 1
    grids, shape = [], counts[:indexed]
    for at in range(indexed):
        row = places[at][0] if places[at] is not None else _steps(c, sizes[at])
        row = op.reshape(row, newshape=[-1 if axis == at else 1 for axis in range(indexed)])
        grids.append(op.broadcast_to(row, shape))
    return op.scatter_nd(x, op.stack(grids, axis=0), value, mode="update")


def _steps(c: Operator, size) -> Expr:
    if isinstance(size, Dim):
        return op.arange(number(0, "int64"), size_number(size), number(1, "int64"), dtype="int64")
    return c.constant(np.arange(size), "int64")


def _positions(c: Operator, size, begin, end, step) -> tuple[Expr, object] | None:
    """Returns the positions along an axis and their number; None for all of them."""
    if isinstance(step, Expr) or isinstance(step, Dim) or step == 0:
        raise Refused("a step is computed at run time")
    if isinstance(begin, Expr) and is_next(begin, end) and step == 1:
        index = op.reshape(cast(begin, "int64"), newshape=[1])
        return _positive(index, size), 1
    if not isinstance(begin, int) or not isinstance(end, (int, Dim)):
        raise Refused("a part with bounds that are computed at run time is replaced", "replace one row at a time")
    if isinstance(end, Dim):
        end = size if end == size else end
    if not isinstance(size, int) or isinstance(end, Dim):
        if begin == 0 and step == 1 and (end is size or (isinstance(end, int) and end >= (1 << 31) - 1)):
            return None
        if isinstance(end, int) and 0 <= begin < end < (1 << 31) - 1:
            return c.constant(np.arange(begin, end, step), "int64"), len(range(begin, end, step))
        raise Refused("a part of an axis whose size is open is replaced", "give the sizes of the inputs")
    found = np.arange(*slice(begin, end, step).indices(size))
    if np.array_equal(found, np.arange(size)):
        return None
    return c.constant(found, "int64"), len(found)


def _value(c: Operator) -> Expr:
    """Returns the value as an expression of the type of the data."""
    if c.gives("ValueTensor"):
        c.ignore("values", "shape", "bool_values", "int32_values", "int64_values", "fp32_values", "fp64_values")
        return cast(c["ValueTensor"], c.dtype)
    found = c.value("values")
    for name in ("bool_values", "int32_values", "int64_values", "fp32_values", "fp64_values", "fp16_values"):
        old = c.value(name)
        found = old if not found and old else found
    sizes = c.ints("shape", [1])
    if not isinstance(found, list) or not found or len(found) != math.prod(sizes):
        raise Refused(f"its value has the shape {sizes}, and {len(found or [])} elements")
    return c.constant(np.array(found).reshape(sizes), c.dtype)
