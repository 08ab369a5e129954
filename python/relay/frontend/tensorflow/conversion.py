"""The view that a converter has of a node: its inputs, attributes and types, and methods to make expressions or to
refuse."""

from __future__ import annotations

import numpy as np

from ..._core import (
    Dim,
    Expr,
)
from ..shared.expressions import cast, dtype_of, shape_of
from ..shared.known import Known, constant, refuse_open
from ..shared.problems import Refused
from .graph import Node
from .tensors import array_of, dtype_name, sizes
from .values import FAILED, Absent, Complex, Function, List, Variable

_MISSING = object()


class Conversion:
    """A node in a scope. c.x is the first input, c("strides") an attribute, c.ints(1) the numbers of an input."""

    def __init__(self, importer, scope, node: Node, inputs: list):
        self.importer, self.scope, self.node, self.inputs = importer, scope, node, inputs

    # --- attributes ---------------------------------------------------------------------------------------------------
    def __call__(self, name: str, otherwise=_MISSING):
        """Returns an attribute: a number, a text, a list, or the name of an element type."""
        found = self.node.attrs.get(name)
        if found is None:
            if otherwise is _MISSING:
                raise Refused(f"it lacks the attribute `{name}`", "save the model again with TensorFlow")
            return otherwise
        return _attribute(found, name)

    def type(self, name: str = "T", otherwise: str = "float32") -> str:
        return self(name, otherwise)

    def text(self, name: str, otherwise: str = "") -> str:
        found = self(name, otherwise)
        return found if isinstance(found, str) else str(found)

    def list(self, name: str, otherwise=()) -> list:
        found = self(name, otherwise)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    # --- inputs -------------------------------------------------------------------------------------------------------
    def value(self, place: int):
        """Returns an input, in any of its forms."""
        if place >= len(self.inputs):
            raise Refused(f"it has {len(self.inputs)} inputs, and input {place} is needed", "save the model again")
        return self.inputs[place]

    def has(self, place: int) -> bool:
        return place < len(self.inputs)

    def expr(self, place: int = 0) -> Expr:
        """Returns an input as an expression."""
        return self.as_expr(self.value(place), f"input {place}")

    def as_expr(self, value, what: str = "it") -> Expr:
        if isinstance(value, Expr):
            return value
        if isinstance(value, Known):
            if value.dtype == "string":
                raise Refused(f"{what} is a text", "compute texts before the model, and pass numbers")
            return value.expr()
        if isinstance(value, Complex):
            raise Refused(f"{what} is complex")
        if isinstance(value, Absent):
            raise Refused(f"{what} is {value.why}", "save the model for inference, or name other outputs")
        kind = {Variable: "a variable that is not read", List: "a list of tensors", Function: "a function"}
        raise Refused(f"{what} is {kind.get(type(value), 'not a tensor')}, where a tensor is needed")

    @property
    def x(self) -> Expr:
        return self.expr(0)

    @property
    def y(self) -> Expr:
        return self.expr(1)

    def exprs(self, first: int = 0, end: int | None = None) -> list[Expr]:
        return [self.expr(place) for place in range(first, len(self.inputs) if end is None else end)]

    def shape(self, place: int = 0) -> list:
        """Returns the sizes of an input: numbers and Dims."""
        value = self.value(place)
        if isinstance(value, Complex):
            return shape_of(value.parts)[:-1]
        return value.shape if isinstance(value, Known) else shape_of(self.expr(place))

    def rank(self, place: int = 0) -> int:
        return len(self.shape(place))

    def dtype(self, place: int = 0) -> str:
        value = self.value(place)
        return value.dtype if isinstance(value, (Known, Complex)) else dtype_of(self.expr(place))

    def size(self, axis: int, place: int = 0) -> int:
        """Returns a size of an input that must be a number."""
        found = self.shape(place)[axis]
        if isinstance(found, Dim):
            raise refuse_open(f"size {axis % self.rank(place)} of input {place}")
        return found

    def known(self, place: int) -> np.ndarray | None:
        """Returns the elements of an input, which may be sizes (Dim), if they are known at import."""
        value = self.value(place)
        if isinstance(value, Known):
            return value.array
        if isinstance(value, Expr):
            return self.importer.folded(value)
        return None

    def elements(self, place: int, what: str) -> np.ndarray:
        """Returns the elements of an input, which must be known at import."""
        found = self.known(place)
        if found is None:
            raise refuse_open(what)
        return found

    def sizes(self, place: int, what: str = "its shape") -> list:
        """Returns the elements of an input as sizes: numbers and Dims."""
        return [one if isinstance(one, Dim) else int(one) for one in self.elements(place, what).reshape(-1)]

    def ints(self, place: int, what: str = "its sizes") -> list[int]:
        """Returns the elements of an input as whole numbers."""
        found = self.sizes(place, what)
        if any(isinstance(one, Dim) for one in found):
            raise refuse_open(what)
        return found

    def int(self, place: int, what: str = "a number") -> int:
        found = self.ints(place, what)
        if len(found) != 1:
            raise Refused(f"{what} has {len(found)} elements, not one")
        return found[0]

    def float(self, place: int, what: str = "a number") -> float:
        found = self.elements(place, what).reshape(-1)
        if found.size != 1 or isinstance(found[0], Dim):
            raise refuse_open(what)
        return float(found[0])

    def axis(self, place: int, rank: int | None = None) -> int:
        """Returns an axis that an input has, counted from the front."""
        return axis_of(self.int(place, "its axis"), self.rank(0) if rank is None else rank)

    def axes(self, place: int, rank: int | None = None) -> list[int]:
        rank = self.rank(0) if rank is None else rank
        return sorted({axis_of(one, rank) for one in self.ints(place, "its axes")})

    # --- making expressions -------------------------------------------------------------------------------------------
    def number(self, value, dtype: str | None = None) -> Expr:
        """Returns a constant without axes, of the first input's type."""
        return constant(np.asarray(value), dtype or self.dtype(0))

    def cast(self, value: Expr, dtype: str) -> Expr:
        return cast(value, dtype)

    def call(self, function, arguments: list) -> list:
        """Returns the results of a function of the model."""
        return self.importer.call(function, arguments, self.node)


def axis_of(axis: int, rank: int) -> int:
    """Returns an axis, counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise Refused(f"the axis {axis} is not one of {rank} axes")
    return axis % rank if rank else 0


def _attribute(found, name: str):
    if found.has("s"):
        return str(bytes(found.s), "utf-8", "replace")
    if found.has("type"):
        return dtype_name(found.type)
    for kind in ("i", "f", "b"):
        if found.has(kind):
            return getattr(found, kind)
    if found.has("shape"):
        return sizes(found.shape)
    if found.has("tensor"):
        return array_of(found.tensor)
    if found.has("func"):
        return Function(found.func.name, found.func.attr)
    if found.has("placeholder"):
        raise Refused(f"its attribute `{name}` is left to the caller of the function", "inline the functions")
    return _list(found.list) if found.has("list") else []


def _list(found) -> list:
    if len(found.type):
        return [dtype_name(one) for one in found.type.tolist()]
    if found.shape:
        return [sizes(one) for one in found.shape]
    if found.s:
        return [str(bytes(one), "utf-8", "replace") for one in found.s]
    if found.func:
        return [Function(one.name, one.attr) for one in found.func]
    return next((one.tolist() for one in (found.i, found.f, found.b) if len(one)), [])


def is_failed(values: list) -> bool:
    return any(one is FAILED for one in values)
