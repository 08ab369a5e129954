"""Elements that are known at import: numbers, and sizes over shape variables."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import (
    Call,
    Constant,
    Dim,
    Expr,
    Function,
    IRModule,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    evaluate,
    free_vars,
    infer_expr,
    post_order_visit,
)
from ...data.arrays import array
from ...data.values import from_value
from .expressions import GIVE_SHAPES, numpy_type
from .problems import Refused

MOST_FOLDED = 4096  # elements that a converter reads as numbers


class Known:
    """Elements that are known at import: numbers, and sizes over shape variables (Dim) in an array of objects."""

    __slots__ = ("_expr", "array", "dtype")

    def __init__(self, elements: np.ndarray, dtype: str | None = None):
        self.array = np.asarray(elements)
        self.dtype = dtype or _own_type(self.array)
        self._expr = None

    @property
    def is_symbolic(self) -> bool:
        return self.array.dtype == object and self.dtype != "string"

    @property
    def shape(self) -> list[int]:
        return list(self.array.shape)

    def expr(self) -> Expr:
        """Returns the elements as an expression, the same one each time."""
        if self._expr is None:
            self._expr = _stacked(self.array, self.dtype) if self.is_symbolic else constant(self.array, self.dtype)
        return self._expr


def _own_type(elements: np.ndarray) -> str:
    return "string" if elements.dtype.kind in "SO" else str(elements.dtype)


def constant(elements: np.ndarray, dtype: str | None = None) -> Expr:
    """Returns a constant. Complex numbers have a last axis with the real and the imaginary part."""
    made = np.asarray(elements)
    if dtype is not None and str(made.dtype) != dtype:
        with np.errstate(over="ignore", invalid="ignore"):
            made = made.astype(numpy_type(dtype))
    if made.dtype.kind == "c":
        made = np.stack([made.real, made.imag], axis=-1)
    return Constant(array(np.require(made, requirements=["C", "ALIGNED"])))


def size_number(size, dtype: str = "int64") -> Expr:
    """Returns a size as a number without axes."""
    if isinstance(size, Dim):
        made = op.reshape(op.shape_of(op.zeros([size], dtype="int8"), dtype="int64"), newshape=[])
        return made if dtype == "int64" else op.cast(made, dtype)
    return constant(np.asarray(size), dtype)


def _stacked(elements: np.ndarray, dtype: str) -> Expr:
    flat = [size_number(one, dtype) for one in elements.reshape(-1)]
    if elements.ndim == 0:
        return flat[0]
    made = op.stack(flat, axis=0)
    return made if elements.ndim == 1 else op.reshape(made, newshape=list(elements.shape))


def plain(size):
    """Returns a size as an int if it is one."""
    return TensorType([size], "int8").shape[0] if isinstance(size, Dim) else int(size)


def is_any(size) -> bool:
    return isinstance(size, Dim) and size.is_any


def refuse_open(what: str) -> Refused:
    return Refused(f"{what} is known only at run time", GIVE_SHAPES)


def folded(value: Expr, memo: dict) -> np.ndarray | None:
    """Returns the elements of an expression that depends on no input, computed by the evaluator; None for others."""
    key = id(value)
    if key not in memo:
        memo[key] = (value, _computed(value))  # keeps the expression, whose id is the key
    return memo[key][1]


def _computed(value: Expr) -> np.ndarray | None:
    about = infer_expr(value).checked_type
    if any(isinstance(one, Dim) for one in about.shape) or np.prod(about.shape, dtype=object) > MOST_FOLDED:
        return None
    if free_vars(value) or not _is_small(value):
        return None
    module = IRModule({"main": Function([], value)})
    return np.asarray(from_value(evaluate(module, [], "native")))


_MOST_EVALUATED = 1 << 22  # elements of all steps


def _is_small(value: Expr) -> bool:
    """Returns true if an expression has no loops, branches or large tensors, so that it is soon evaluated."""
    total, is_plain = 0, True

    def note(one):
        nonlocal total, is_plain
        is_plain &= isinstance(one, (Call, Constant, Op, Tuple, TupleGetItem)) and total < _MOST_EVALUATED
        about = one.checked_type if isinstance(one, (Call, Constant)) else None
        shape = getattr(about, "shape", None)
        if shape is not None:
            is_plain &= not any(isinstance(size, Dim) for size in shape)
            total += math.prod(shape) if is_plain else 0

    post_order_visit(value, note)
    return is_plain and total < _MOST_EVALUATED
