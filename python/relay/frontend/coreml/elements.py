"""Arithmetic of ML programs on elements that are known at import: shapes, and what is computed from them."""

from __future__ import annotations

import math

import numpy as np

from ..._core import Dim
from ..shared.expressions import numpy_type
from ..shared.folded import MOST_FOLDED
from ..shared.problems import Refused
from ..shared.values import Known, plain
from .conversion import Operation
from .operations import TYPES


def _objects(*arrays):
    mixed = any(one.dtype == object for one in arrays)
    return [one.astype(object) if mixed else one for one in arrays]


def _numbers(*arrays) -> None:
    if any(one.dtype == object for one in arrays):
        raise TypeError


def _extreme(of_numbers, of_dims: str):
    def function(a, b):
        if a.dtype != object and b.dtype != object:
            return of_numbers(a, b)
        return np.frompyfunc(lambda x, y: plain(getattr(Dim(x), of_dims)(y)), 2, 1)(a, b)

    return function


def _checked(function):
    """Returns a division whose divisors are not zero."""

    def divide(a, b):
        if not np.all(b != 0):
            raise ZeroDivisionError
        return function(a, b)

    return divide


def _two(function, is_of_numbers: bool = False):
    def fold(c: Operation):
        a, b = c.elements("x"), c.elements("y")
        if is_of_numbers:
            _numbers(a, b)
        return function(*_objects(a, b))

    return fold


def _one(function):
    def fold(c: Operation):
        x = c.elements("x")
        _numbers(x)
        return function(x)

    return fold


def _real_div(a, b):
    _numbers(a, b)
    made = a / b
    return made if a.dtype.kind == "f" else np.trunc(made)


def _cast(c: Operation):
    x, dtype = c.elements("x"), TYPES[c.text("dtype", among=tuple(TYPES))]
    if x.dtype == object:
        if not dtype.startswith(("int", "uint")):
            raise TypeError
        return Known(x, dtype)
    return Known(x.astype(numpy_type(dtype)), dtype)


def _slice_by_index(c: Operation):
    x = c.elements("x")
    rank = x.ndim
    begins, ends, strides = c.ints("begin"), c.ints("end"), c.ints("stride", [1] * rank)
    masks = {}
    for one in ("begin", "end", "squeeze"):
        masks[one] = c.elements(f"{one}_mask").reshape(-1).tolist() if c.has(f"{one}_mask") else [False] * rank
    index = []
    for axis in range(rank):
        if masks["squeeze"][axis]:
            index.append(begins[axis])
        else:
            index.append(slice(None if masks["begin"][axis] else begins[axis],
                               None if masks["end"][axis] else ends[axis], strides[axis]))  # fmt: skip
    return x[tuple(index)]


def _slice_by_size(c: Operation):
    x = c.elements("x")
    parts = zip(c.ints("begin"), c.ints("size"), strict=True)
    return x[tuple(slice(first, None if size == -1 else first + size) for first, size in parts)]


def _parts(c: Operation) -> list[np.ndarray]:
    found = c.several("values")
    if not all(isinstance(one, Known) for one in found):
        raise TypeError
    return _objects(*(one.array for one in found))


def _concat(c: Operation):
    if c.flag("interleave"):
        raise TypeError
    return np.concatenate(_parts(c), c.int("axis"))


def _gather(c: Operation):
    c.ignore("validate_indices")
    if c.int("batch_dims", 0):
        raise TypeError
    return np.take(c.elements("x"), c.elements("indices").astype(np.int64), c.int("axis", 0))


def _axes(c: Operation) -> tuple[int, ...] | None:
    found = c.ints("axes", [])
    return tuple(found) or None


def _reduced(function):
    return lambda c: function(c.elements("x"), axis=_axes(c), keepdims=c.flag("keep_dims"))


def _select(c: Operation):
    condition = c.elements("cond")
    _numbers(condition)
    return np.where(condition, *_objects(c.elements("a"), c.elements("b")))


def _tile(c: Operation):
    x, reps = c.elements("x"), c.ints("reps")
    if x.size * math.prod(reps) > MOST_FOLDED:
        raise TypeError
    return np.tile(x, reps)


def _fill(c: Operation):
    sizes = c.ints("shape")
    if math.prod(sizes) > MOST_FOLDED:
        raise TypeError
    value = c.given("value")
    return Known(np.full(sizes, value.array.reshape(-1)[0], value.array.dtype), value.dtype)


_DIVIDE = _two(_checked(_real_div))
# Operations by name, for parameters whose elements are all known.
FOLDS = {
    "add": _two(np.add), "sub": _two(np.subtract), "mul": _two(np.multiply), "real_div": _DIVIDE,
    "floor_div": _two(_checked(lambda a, b: a // b)), "mod": _two(_checked(np.mod), True),
    "maximum": _two(_extreme(np.maximum, "max")), "minimum": _two(_extreme(np.minimum, "min")),
    "pow": _two(np.power, True), "equal": _two(np.equal, True), "not_equal": _two(np.not_equal, True),
    "less": _two(np.less, True), "less_equal": _two(np.less_equal, True), "greater": _two(np.greater, True),
    "greater_equal": _two(np.greater_equal, True), "logical_and": _two(np.logical_and, True),
    "logical_or": _two(np.logical_or, True), "logical_xor": _two(np.logical_xor, True),
    "logical_not": _one(np.logical_not), "floor": _one(np.floor), "ceil": _one(np.ceil), "abs": _one(np.abs),
    "round": _one(np.round), "sign": _one(np.sign), "square": _one(np.square), "sqrt": _one(np.sqrt), "cast": _cast,
    "slice_by_index": _slice_by_index, "slice_by_size": _slice_by_size, "concat": _concat,
    "stack": lambda c: np.stack(_parts(c), c.int("axis")), "gather": _gather,
    "reduce_prod": _reduced(np.multiply.reduce), "reduce_sum": _reduced(np.sum), "reduce_max": _reduced(np.max),
    "reduce_min": _reduced(np.min), "select": _select, "tile": _tile, "fill": _fill,
    "expand_dims": lambda c: np.expand_dims(c.elements("x"), tuple(c.ints("axes"))),
    "squeeze": lambda c: np.squeeze(c.elements("x"), _axes(c)),
    "reshape": lambda c: c.elements("x").reshape(c.ints("shape")) if 0 not in c.ints("shape") else _stop(),
}  # fmt: skip
_TRUTH = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _stop():
    raise TypeError


def fold(c: Operation):
    """Returns the result of an operation whose parameters are known at import, or None to make an expression."""
    function = FOLDS.get(c.node.kind)
    if function is None:
        return None
    flat = [part for one in c.node.attributes.values() for part in (one if isinstance(one, list) else [one])]
    if not flat or not all(isinstance(one, Known) for one in flat):
        return None
    if sum(one.array.size for one in flat) > MOST_FOLDED:
        return None
    try:
        with np.errstate(all="ignore"):
            made = function(c)
    except (TypeError, ValueError, ZeroDivisionError, IndexError, AttributeError, OverflowError, Refused):
        return None  # an expression takes its place, or refuses the operation
    if isinstance(made, Known):
        return made
    made = np.asarray(made)
    dtype = "bool" if c.node.kind in _TRUTH or c.node.kind.startswith("logical") else _type_of(c)
    if made.dtype != object:
        return Known(made.astype(numpy_type(dtype)), dtype)
    simple = np.empty(made.shape, object)
    for place, one in np.ndenumerate(made):
        simple[place] = plain(one)
    if not any(isinstance(one, Dim) for one in simple.reshape(-1)):
        return Known(simple.astype(numpy_type(dtype)), dtype)
    return Known(simple, dtype)


def _type_of(c: Operation) -> str:
    for name in ("x", "a", "values"):
        found = c.node.attributes.get(name)
        if found is not None:
            return (found[0] if isinstance(found, list) else found).dtype
    return "int32"
