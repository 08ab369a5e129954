"""Arithmetic on elements that are known at import: shapes, and everything that models compute from them.

Elements are numbers, or sizes over shape variables. An operator that is not here becomes an expression as usual.
"""

from __future__ import annotations

import math

import numpy as np

from ..._core import Dim
from ..shared.expressions import axis_of
from ..shared.folded import MOST_FOLDED
from ..shared.problems import Refused
from ..shared.values import Known, is_any, plain
from .conversion import Operator, shape_held


def fold(c: Operator):
    """Returns the results of an operator whose operands are known, or None to make an expression."""
    kind = c.node.kind
    if kind in ("shape", "size"):
        return _of_type(c, kind)
    function = FOLDS.get(kind)
    if function is None or not c.inputs or not all(isinstance(one, Known) for one in c.inputs):
        return None
    if sum(one.array.size for one in c.inputs) > MOST_FOLDED:
        return None
    read = set(c.read)
    try:
        with np.errstate(all="ignore"):
            made = function(c)
    except (TypeError, ValueError, ZeroDivisionError, IndexError, AttributeError, OverflowError, Refused):
        made = None  # an expression takes its place, or refuses the operator
    if made is None:
        c.read = read
    return made


def _of_type(c: Operator, kind: str):
    """Sizes of an operand, or None if one of them is not known at all."""
    sizes = shape_held(c.held(c.first))
    if any(is_any(one) for one in sizes):
        return None
    if kind == "shape":
        dtype = "int64" if c.flag("is_long", False) else "int32"
        return _made(np.array(sizes, object if any(isinstance(one, Dim) for one in sizes) else np.int64), dtype)
    return _made(np.array(math.prod(sizes[1:], start=sizes[0]) if sizes else 1, object), "int64")


def _made(elements: np.ndarray, dtype: str) -> Known:
    """Returns elements in their type. Those with sizes stay objects."""
    if elements.dtype == object:
        elements = np.frompyfunc(plain, 1, 1)(elements) if elements.size else elements
        elements = np.asarray(elements, object)
        if any(isinstance(one, Dim) for one in elements.reshape(-1)):
            if dtype not in ("int32", "int64"):
                raise TypeError
            return Known(elements, dtype)
    return Known(elements.astype(dtype), dtype)


def _array(c: Operator, slot: str) -> np.ndarray:
    return c.held(slot).array


def _dtype(c: Operator) -> str:
    return c.held(c.first).dtype


def _alike(arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [one.astype(object) for one in arrays] if any(one.dtype == object for one in arrays) else arrays


def _binary(function, dtype: str = ""):
    def fold_two(c: Operator):
        if c.int("axis", -1) != -1:
            return None
        a, b = _alike([_array(c, "X"), _array(c, "Y")])
        if dtype == "bool" and a.dtype == object:
            return None
        return _made(np.asarray(function(a, b)), dtype or _dtype(c))

    return fold_two


def _floor_divide(a, b):
    if not np.all(b != 0):
        raise ZeroDivisionError
    return a // b


def _modulo(a, b):
    if not np.all(b != 0):
        raise ZeroDivisionError
    return a % b


def _divide(a, b):
    if a.dtype == object or a.dtype.kind != "f":
        raise TypeError
    return a / b


def _extreme(of_numbers, of_sizes: str):
    def function(a, b):
        if a.dtype != object:
            return of_numbers(a, b)
        return np.frompyfunc(lambda x, y: plain(getattr(Dim(x), of_sizes)(y)), 2, 1)(a, b)

    return function


def _cast(c: Operator):
    c.ignore("in_dtype")
    dtype = c.dtype_named("out_dtype" if c.has("out_dtype") else "dtype")
    c.ignore("dtype")
    return _made(_array(c, "X"), dtype)


def _scale(c: Operator):
    if _dtype(c) not in ("int32", "int64") or c.gives("BiasTensor"):
        return None
    factor, bias, after = c.real_of("scale", "ScaleTensor", 1.0), c.real("bias", 0.0), c.flag("bias_after_scale", True)
    if not float(factor).is_integer() or not bias.is_integer():
        return None
    x = _array(c, "X")
    return _made(x * int(factor) + int(bias) if after else (x + int(bias)) * int(factor), _dtype(c))


def _slice(c: Operator):
    c.ignore("infer_flags")
    x, axes = _array(c, "Input"), c.ints("axes")
    begins, ends = _bounds(c, "starts", "Starts"), _bounds(c, "ends", "Ends")
    steps = _bounds(c, "strides", "Strides") if c.node.kind == "strided_slice" else [1] * len(axes)
    index = [slice(None)] * x.ndim
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        index[axis_of(axis, x.ndim)] = slice(begin, end, step)
    made = x[tuple(index)]
    away = c.ints("decrease_axis", [])
    if any(made.shape[axis] != 1 for axis in away):
        return None
    return _made(made.reshape([one for at, one in enumerate(made.shape) if at not in away]), _dtype(c))


def _bounds(c: Operator, attribute: str, slot: str) -> list[int]:
    if c.gives(f"{slot}TensorList"):
        found = c.sizes_of_every(f"{slot}TensorList")
        c.ignore(attribute)
    else:
        found = c.list_of(attribute, f"{slot}Tensor", [])
    if not all(type(one) is int for one in found):
        raise TypeError
    return found


def _concat(c: Operator):
    arrays = _alike([one.array for one in c.every_held("X")])
    axis = axis_of(c.int_of("axis", "AxisTensor", 0), arrays[0].ndim)
    return _made(np.concatenate(arrays, axis), c.every_held("X")[0].dtype)


def _stack(c: Operator):
    arrays = _alike([one.array for one in c.every_held("X")])
    return _made(np.stack(arrays, c.int("axis", 0)), c.every_held("X")[0].dtype)


def _same(c: Operator):
    return c.held("X")


def _increment(c: Operator):
    step = c.real("step", 1.0)
    return _made(_array(c, "X") + int(step), _dtype(c)) if step.is_integer() else None


def _reshape(c: Operator):
    sizes = c.list_of("shape", "Shape", []) if not c.gives("ShapeTensor") else c.sizes_of_every("ShapeTensor")
    c.ignore("shape")
    x = _array(c, "X")
    return _made(x.reshape([x.shape[at] if one == 0 else int(one) for at, one in enumerate(sizes)]), _dtype(c))


def _squeeze(c: Operator):
    x, axes = _array(c, "X"), c.list_of("axes", "AxesTensor", [])
    axes = [axis_of(one, x.ndim) for one in axes] or list(range(x.ndim))
    kept = [one for at, one in enumerate(x.shape) if at not in axes or one != 1]
    return _made(x.reshape(kept), _dtype(c))


def _unsqueeze(c: Operator):
    made = _array(c, "X")
    for axis in c.list_of("axes", "AxesTensor", []):
        made = np.expand_dims(made, axis)
    return _made(made, _dtype(c))


def _product(c: Operator):
    c.ignore("in_dtype", "out_dtype")
    x = _array(c, "X")
    axes = c.list_of("dim", "Axis", [])
    whole = c.flag("reduce_all", False) or not axes
    axes = tuple(range(x.ndim)) if whole else tuple(axis_of(one, x.ndim) for one in axes)
    return _made(np.asarray(np.multiply.reduce(x, axis=axes, keepdims=c.flag("keep_dim", False))), _dtype(c))


def _gather(c: Operator):
    axis = c.int_of("axis", "Axis", 0)
    return _made(np.take(_array(c, "X"), _array(c, "Index").astype(np.int64), axis), _dtype(c))


def _range(c: Operator):
    arrays = [_array(c, slot) for slot in ("Start", "End", "Step")]
    if any(one.dtype == object or one.size != 1 for one in arrays):
        return None
    begin, end, step = (one.reshape(-1)[0] for one in arrays)
    dtype = c.dtype_named("dtype", c.held("Start").dtype)
    if not step or abs((float(end) - float(begin)) / float(step)) > MOST_FOLDED:
        return None
    count = max(0, math.ceil((float(end) - float(begin)) / float(step)))
    return _made(begin + np.arange(count) * step, dtype)


def _split(c: Operator):
    x = _array(c, "X")
    axis = axis_of(c.int_of("axis", "AxisTensor", 0), x.ndim)
    count = len(c.operation.outputs["Out"])
    c.ignore("num", "sections")
    if x.shape[axis] != count:
        return None
    return {"Out": [_made(one, _dtype(c)) for one in np.split(x, count, axis)]}


def _unstack(c: Operator):
    x = _array(c, "X")
    axis = axis_of(c.int("axis", 0), x.ndim)
    c.ignore("num")
    slot = "Y" if "Y" in c.operation.outputs else "Out"
    return {slot: [_made(np.take(x, at, axis), _dtype(c)) for at in range(x.shape[axis])]}


def _not(c: Operator):
    return _made(~_array(c, "X"), "bool") if _dtype(c) == "bool" else None


# Operators by name, for operands whose elements are all known.
FOLDS = {
    "elementwise_add": _binary(np.add), "elementwise_sub": _binary(np.subtract),
    "elementwise_mul": _binary(np.multiply),
    "elementwise_floordiv": _binary(_floor_divide), "elementwise_mod": _binary(_modulo),
    "elementwise_div": _binary(_divide), "elementwise_max": _binary(_extreme(np.maximum, "max")),
    "elementwise_min": _binary(_extreme(np.minimum, "min")),
    "equal": _binary(np.equal, "bool"), "not_equal": _binary(np.not_equal, "bool"),
    "less_than": _binary(np.less, "bool"), "less_equal": _binary(np.less_equal, "bool"),
    "greater_than": _binary(np.greater, "bool"), "greater_equal": _binary(np.greater_equal, "bool"),
    "logical_and": _binary(np.logical_and, "bool"), "logical_or": _binary(np.logical_or, "bool"), "logical_not": _not,
    "cast": _cast, "scale": _scale, "slice": _slice, "strided_slice": _slice, "concat": _concat, "stack": _stack,
    "assign": _same, "share_data": _same, "increment": _increment, "reshape2": _reshape, "reshape": _reshape,
    "squeeze2": _squeeze, "squeeze": _squeeze, "unsqueeze2": _unsqueeze, "unsqueeze": _unsqueeze,
    "reduce_prod": _product, "gather": _gather, "range": _range, "split": _split, "unstack": _unstack,
    "unbind": _unstack,
}  # fmt: skip
