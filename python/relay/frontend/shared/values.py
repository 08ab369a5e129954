"""The values that nodes compute: expressions, elements that are known at import, and handles of variables and lists."""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import op
from ..._core import Constant, Dim, Expr, TensorType
from ...data.arrays import own_array
from .expressions import GIVE_SHAPES, numpy_type
from .problems import Refused


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
    return Constant.sharing(own_array(made, source=elements))


def number(value, dtype: str) -> Expr:
    """Returns a constant without axes."""
    return constant(np.asarray(value), dtype)


def size_number(size, dtype: str = "int64") -> Expr:
    """Returns a size as a number without axes."""
    if isinstance(size, Dim):
        made = op.reshape(op.shape_of(op.zeros([size], dtype="int8"), dtype="int64"), newshape=[])
        return made if dtype == "int64" else op.cast(made, dtype)
    return number(size, dtype)


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


class Failed:
    """Stands for the results of a node that could not be imported; the problem is recorded."""


FAILED = Failed()


@dataclasses.dataclass(frozen=True)
class Absent:
    """Stands for a result that has no value here, because only training or another run needs it."""

    why: str = "a result that only training needs"


@dataclasses.dataclass(eq=False)
class Variable:
    """The handle of a variable. node: the node of the main graph that makes it. name: its shared name."""

    node: str
    name: str
    dtype: str
    shape: list | None


@dataclasses.dataclass(eq=False)
class Function:
    """The name of a function, with the values of its attributes."""

    name: str
    attrs: dict


@dataclasses.dataclass(eq=False)
class List:
    """A TensorList or TensorArray: its elements along the first axis of an expression.

    `stack` is None while no element is known, so that the shape of elements is not known either; then `count` is the
    number of elements. dtype: of the elements. shape: of an element as far as it is declared, or None. grows: true if
    writes past the end make it longer. is_new: true until an element is written.
    """

    dtype: str
    shape: list | None
    count: Expr | Known
    stack: Expr | None = None
    grows: bool = False

    def with_stack(self, stack: Expr) -> List:
        return dataclasses.replace(self, stack=stack)


@dataclasses.dataclass(eq=False)
class Complex:
    """A tensor of complex numbers, whose real and imaginary parts are the last axis of an expression."""

    parts: Expr
    dtype: str = "complex64"


def refuse_open(what: str) -> Refused:
    return Refused(f"{what} is known only at run time", GIVE_SHAPES)
