"""Arithmetic on elements that are known at import: shapes, and everything that models compute from them.

Elements are numbers, or sizes over shape variables. An operator that is not here, or that has too many elements,
becomes an expression as usual.
"""

from __future__ import annotations

import math

import numpy as np

from ..._core import Dim
from ..shared.expressions import numpy_type
from ..shared.known import MOST_FOLDED, Known, is_any, plain
from ..shared.problems import Refused
from .conversion import Conversion, axis_of
from .slices import windows_of


def sizes_array(sizes: list) -> np.ndarray:
    """Returns sizes as an array: of int64, or of objects if a size is a Dim."""
    if any(isinstance(one, Dim) for one in sizes):
        made = np.empty(len(sizes), object)
        made[:] = sizes
        return made
    return np.asarray(sizes, np.int64)


def shape(c: Conversion):
    """Returns the shape as known sizes, or None if the number of elements along an axis is not known at all."""
    sizes = c.shape(0)
    if any(is_any(one) for one in sizes):
        return None
    return Known(_typed(sizes_array(sizes), c("out_type", "int32")), c("out_type", "int32"))


def shape_n(c: Conversion):
    made = []
    for place in range(len(c.inputs)):
        sizes = c.shape(place)
        if any(is_any(one) for one in sizes):
            return None
        made.append(Known(_typed(sizes_array(sizes), c("out_type", "int32")), c("out_type", "int32")))
    return made


def size(c: Conversion):
    sizes = c.shape(0)
    if any(is_any(one) for one in sizes):
        return None
    total = np.empty((), object)
    total[()] = plain(math.prod(sizes[1:], start=sizes[0])) if sizes else 1
    return Known(_typed(total, c("out_type", "int32")), c("out_type", "int32"))


def rank(c: Conversion):
    return Known(np.asarray(c.rank(0), np.int32))


def _typed(elements: np.ndarray, dtype: str) -> np.ndarray:
    """Returns elements in their own type, unless one of them is a Dim."""
    if elements.dtype == object and any(isinstance(one, Dim) for one in elements.reshape(-1)):
        return elements
    return elements.astype(numpy_type(dtype))


def _elementwise(function):
    def convert(c: Conversion, *arrays):
        return function(*arrays)

    return convert


def _floor_divide(a, b):
    if not np.all(b != 0):
        raise ZeroDivisionError
    return a // b


def _divide(a, b):
    if a.dtype == object or b.dtype == object:
        raise TypeError
    return a / b if a.dtype.kind == "f" else np.trunc(a / b)


def _cast(c: Conversion, x):
    dtype = c("DstT")
    if x.dtype == object:
        if dtype not in ("int32", "int64"):
            raise TypeError
        return x
    with np.errstate(all="ignore"):
        return x.astype(numpy_type(dtype))


def _reduced(function):
    def convert(c: Conversion, x, axes):
        axes = tuple(sorted({axis_of(int(one), x.ndim) for one in axes.reshape(-1)}))
        return function(x, axis=axes, keepdims=bool(c("keep_dims", False)))

    return convert


def _product(x, axis, keepdims):
    return np.multiply.reduce(x, axis=axis, keepdims=keepdims)


def _pack(c: Conversion, *arrays):
    axis = c("axis", 0)
    return np.stack(_as_objects(arrays), axis)


def _as_objects(arrays):
    mixed = any(one.dtype == object for one in arrays)
    return [one.astype(object) if mixed else one for one in arrays]


def _concat(c: Conversion, *arrays):
    axis, parts = (arrays[0], arrays[1:]) if c.node.op == "Concat" else (arrays[-1], arrays[:-1])
    return np.concatenate(_as_objects(parts), int(axis))


def _strided_slice(c: Conversion, x, *_):
    made = x
    index, axes = [], windows_of(c, list(x.shape))
    for one in axes:
        index.append(one.as_index())
    return made[tuple(index)]


def _slice(c: Conversion, x, begin, lengths):
    index = []
    for size_, first, length in zip(x.shape, begin.reshape(-1), lengths.reshape(-1), strict=True):
        end = size_ if int(length) == -1 else int(first) + int(length)
        index.append(slice(int(first), end))
    return x[tuple(index)]


def _gather(c: Conversion, x, indices, *axis):
    if c("batch_dims", 0):
        raise TypeError
    return np.take(x, indices.astype(np.int64), int(axis[0]) if axis else 0)


def _expand_dims(c: Conversion, x, axis):
    return np.expand_dims(x, int(axis.reshape(-1)[0]))


def _squeeze(c: Conversion, x):
    axes = tuple(c.list("squeeze_dims", []))
    return np.squeeze(x, axes or None)


def _reshape(c: Conversion, x, sizes):
    return x.reshape([int(one) for one in sizes.reshape(-1)])


def _range(c: Conversion, first, limit, step):
    if any(one.dtype == object for one in (first, limit, step)):
        raise TypeError
    count = max(0, math.ceil((limit.item() - first.item()) / step.item()))
    if count > MOST_FOLDED:
        raise TypeError
    return (first + np.arange(count) * step).astype(first.dtype)


def _fill(c: Conversion, sizes, value):
    sizes = [int(one) for one in sizes.reshape(-1)]
    if math.prod(sizes) > MOST_FOLDED:
        raise TypeError
    return np.full(sizes, value.item() if value.dtype != object else value[()], value.dtype)


def _unpack(c: Conversion, x):
    axis = axis_of(c("axis", 0), x.ndim)
    return [np.take(x, place, axis) for place in range(x.shape[axis])]


def _split(c: Conversion, axis, x):
    count = c("num_split")
    return np.split(x, count, int(axis)) if x.shape[int(axis)] % count == 0 else _stop()


def _stop():
    raise TypeError


def _select(c: Conversion, condition, a, b):
    if condition.dtype == object:
        raise TypeError
    if c.node.op == "Select" and condition.ndim == 1 and a.ndim > 1:
        condition = condition.reshape([-1] + [1] * (a.ndim - 1))
    a, b = _as_objects([a, b])
    return np.where(condition, a, b)


def _compare(function):
    def convert(c: Conversion, a, b):
        if a.dtype == object or b.dtype == object:
            raise TypeError
        return function(a, b)

    return convert


def _extreme(of_numbers, of_dims: str):
    def convert(c: Conversion, a, b):
        if a.dtype != object and b.dtype != object:
            return of_numbers(a, b)
        return np.frompyfunc(lambda x, y: plain(getattr(Dim(x), of_dims)(y)), 2, 1)(a, b)

    return convert


def _broadcast_args(c: Conversion, a, b):
    a, b = ([1] * (len(b) - len(a)) + list(a)), ([1] * (len(a) - len(b)) + list(b))
    made = []
    for x, y in zip(a, b, strict=True):
        if isinstance(x, Dim) or isinstance(y, Dim):
            if not (x is y or x == y or y == 1 or x == 1):
                raise TypeError
        made.append(y if not isinstance(x, Dim) and x == 1 else x)
    return sizes_array(made)


def _same(c: Conversion, x, *_):
    return x


def _like(value):
    return lambda c, x: np.full(x.shape, value, numpy_type(c.dtype(0)))


def _tile(c: Conversion, x, counts):
    if x.size * math.prod(int(one) for one in counts) > MOST_FOLDED:
        raise TypeError
    return np.tile(x, [int(one) for one in counts])


# Operators by name, for inputs whose elements are all known.
FOLDS = {
    "Add": _elementwise(np.add), "AddV2": _elementwise(np.add), "Sub": _elementwise(np.subtract),
    "Mul": _elementwise(np.multiply), "FloorDiv": _elementwise(_floor_divide), "RealDiv": _elementwise(_divide),
    "Neg": _elementwise(np.negative), "FloorMod": _elementwise(lambda a, b: a % b if np.all(b != 0) else _stop()),
    "Maximum": _extreme(np.maximum, "max"), "Minimum": _extreme(np.minimum, "min"),
    "Floor": _elementwise(np.floor), "Ceil": _elementwise(np.ceil), "Cast": _cast, "Prod": _reduced(_product),
    "Sum": _reduced(np.sum), "Max": _reduced(np.max), "Min": _reduced(np.min),
    "All": _reduced(np.all), "Any": _reduced(np.any), "Pack": _pack, "ConcatV2": _concat, "Concat": _concat,
    "StridedSlice": _strided_slice, "Slice": _slice, "GatherV2": _gather, "Gather": _gather,
    "ExpandDims": _expand_dims, "Squeeze": _squeeze, "Reshape": _reshape, "Range": _range, "Fill": _fill,
    "Unpack": _unpack, "Split": _split, "Select": _select, "SelectV2": _select,
    "Equal": _compare(np.equal), "NotEqual": _compare(np.not_equal), "Less": _compare(np.less),
    "LessEqual": _compare(np.less_equal), "Greater": _compare(np.greater),
    "GreaterEqual": _compare(np.greater_equal), "LogicalAnd": _compare(np.logical_and),
    "LogicalOr": _compare(np.logical_or), "LogicalNot": lambda c, x: ~x if x.dtype == bool else _stop(),
    "BroadcastArgs": _broadcast_args, "ZerosLike": _like(0), "OnesLike": _like(1), "Tile": _tile,
    "EnsureShape": _same,
}  # fmt: skip
# Operators that need only the types of their inputs.
OF_TYPES = {"Shape": shape, "ShapeN": shape_n, "Size": size, "Rank": rank}


def fold(c: Conversion):
    """Returns the results of a node whose inputs are known at import, or None to make an expression."""
    if c.node.op in OF_TYPES:
        return OF_TYPES[c.node.op](c)
    function = FOLDS.get(c.node.op)
    if function is None or not c.inputs or not all(isinstance(one, Known) for one in c.inputs):
        return None
    arrays = [one.array for one in c.inputs]
    if sum(one.size for one in arrays) > MOST_FOLDED or any(one.dtype == "string" for one in c.inputs):
        return None
    is_symbolic = any(one.is_symbolic for one in c.inputs)
    if not is_symbolic and any(one.dtype.kind == "V" or one.dtype.name == "bfloat16" for one in arrays):
        return None
    try:
        with np.errstate(all="ignore"):
            made = function(c, *arrays)
    except (TypeError, ValueError, ZeroDivisionError, IndexError, AttributeError, OverflowError):
        return None  # an expression takes its place, or refuses the node
    except Refused:
        return None
    dtype = _result_type(c)
    results = made if isinstance(made, list) else [made]
    known = [_result(np.asarray(one), dtype) for one in results]
    return known if isinstance(made, list) else known[0]


def _result(elements: np.ndarray, dtype: str) -> Known:
    if elements.dtype == object:
        simple = np.empty(elements.shape, object)
        flat, source = simple.reshape(-1), elements.reshape(-1)
        for place, one in enumerate(source):
            flat[place] = plain(one)
        elements = simple
    return Known(_typed(elements, dtype), dtype)


def _result_type(c: Conversion) -> str:
    op = c.node.op
    if op in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "All", "Any") or op[:7] == "Logical":
        return "bool"
    if op == "Cast":
        return c("DstT")
    place = {"Select": 1, "SelectV2": 1, "Fill": 1, "Split": 1, "Concat": 1}.get(op, 0)
    return c.dtype(place)
