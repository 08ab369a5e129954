"""The view that a converter has of a node of MXNet."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import dtype_of
from ..shared.node import NodeConversion
from ..shared.problems import Refused

TYPES = ("float16", "float32", "float64", "bfloat16", "uint8", "int8", "int32", "int64", "bool")


class Operator(NodeConversion):
    """A node. Attributes are texts: c.ints("kernel") reads "(3, 3)"."""

    def dtype_of_attribute(self, otherwise: str, name: str = "dtype") -> str:
        """Returns an element type."""
        return self.text(name, otherwise, TYPES)

    def reduced(self) -> list[int]:
        """Returns the axes of a reduction; all others with `exclude`."""
        axes = self.axes("axis")
        if self.flag("exclude"):
            axes = [one for one in range(self.rank) if one not in axes]
        return axes

    def as_x(self, made: Expr) -> Expr:
        """Returns truth values as numbers of the first input's type."""
        return op.cast(made, self.dtype)

    def without(self, name: str, *allowed) -> None:
        """Refuses an attribute that has another value than these."""
        found = self._literal(name, allowed[0]) if allowed[0] is not None else self.value(name)
        if found not in allowed:
            raise Refused(f"`{name}` = {found!r} is not imported")

    def same_type(self, other: Expr) -> Expr:
        return op.cast(other, self.dtype) if dtype_of(other) != self.dtype else other
