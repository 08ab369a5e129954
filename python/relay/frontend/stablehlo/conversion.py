"""The view that a converter has of an operation: operands, attributes, types, and functions to make expressions."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Constant, Expr
from ...ir.expr import const
from ..shared.expressions import dtype_of, shape_of
from ..shared.problems import Refused
from .attributes import numpy_dtype
from .syntax import Dense, Operation, Region, Tensor

_MISSING = object()


def number(value, dtype: str) -> Expr:
    """Returns a constant without axes."""
    return Constant(np.asarray(value).astype(numpy_dtype(dtype)))


def index(values) -> Expr:
    """Returns constant positions, int64."""
    return const(np.asarray(values, "int64"))


def reshape(value: Expr, sizes: list) -> Expr:
    return value if shape_of(value) == list(sizes) else op.reshape(value, newshape=list(sizes), allowzero=True)


def transpose(value: Expr, axes: list[int]) -> Expr:
    return value if list(axes) == sorted(axes) else op.transpose(value, axes=list(axes))


def product(sizes: list):
    made = 1
    for size in sizes:
        made = made * size
    return made


class Conversion:
    """An operation with the expressions of its operands."""

    def __init__(self, importer, operation: Operation, inputs: list[Expr], env):
        self.importer, self.operation, self.inputs, self._env = importer, operation, inputs, env

    @property
    def x(self) -> Expr:
        return self.input(0)

    def input(self, position: int) -> Expr:
        if position >= len(self.inputs):
            raise Refused(f"it has {len(self.inputs)} operands, and needs {position + 1}", "correct the text")
        return self.inputs[position]

    def expect_inputs(self, count: int) -> None:
        if len(self.inputs) != count:
            raise Refused(f"it has {len(self.inputs)} operands, and needs {count}", "correct the text")

    def shape(self, position: int = 0) -> list:
        return shape_of(self.input(position))

    def rank(self, position: int = 0) -> int:
        return len(self.shape(position))

    def dtype(self, position: int = 0) -> str:
        return dtype_of(self.input(position))

    def known_shape(self, position: int = 0) -> list[int]:
        shape = self.shape(position)
        if not all(isinstance(one, int) for one in shape):
            raise Refused("it needs sizes that are known at import", "export the program for constant sizes")
        return shape

    # --- attributes ---------------------------------------------------------------------------------------------------
    def attr(self, *names: str, default=_MISSING):
        """Returns the first of these attributes that is present: forms of the text differ in names."""
        for name in names:
            if name in self.operation.attrs:
                return self.operation.attrs[name]
        if default is _MISSING:
            raise Refused(f"the attribute `{names[0]}` is missing", "correct the text")
        return default

    def ints(self, *names: str, default=_MISSING) -> list[int]:
        """Returns an attribute that is a list of whole numbers; of a matrix, row by row."""
        found = self.attr(*names, default=default)
        if isinstance(found, Dense):
            found = np.broadcast_to(found.array, found.type.shape).reshape(-1).tolist()
        flat = []
        for one in found if isinstance(found, list) else [None]:
            flat += one if isinstance(one, list) else [one]
        if not all(type(one) is int for one in flat):
            raise Refused(f"the attribute `{names[0]}` is not a list of whole numbers", "correct the text")
        return flat

    def each(self, count: int, *names: str, otherwise: int) -> list[int]:
        """Returns `count` numbers; `otherwise` for each if the attribute is missing."""
        found = self.ints(*names, default=[otherwise] * count)
        if len(found) != count:
            raise Refused(f"the attribute `{names[0]}` has {len(found)} numbers, and needs {count}", "correct the text")
        return found

    def int(self, *names: str, default=_MISSING) -> int:
        found = self.attr(*names, default=default)
        if type(found) is not int:
            raise Refused(f"the attribute `{names[0]}` is not a whole number", "correct the text")
        return found

    def axes(self, rank: int, *names: str) -> list[int]:
        """Returns an attribute that is a list of different axes."""
        return checked_axes(self.ints(*names, default=[]), rank, names[0])

    def axis(self, rank: int, *names: str) -> int:
        return checked_axes([self.int(*names)], rank, names[0])[0]

    # --- types --------------------------------------------------------------------------------------------------------
    def result(self, position: int = 0) -> Tensor:
        """Returns the type of a result in the text."""
        types = self.operation.result_types
        found = types[position] if position < len(types) else None
        if not isinstance(found, Tensor) or found.dtype is None:
            text = getattr(found, "text", None) or getattr(found, "element", "none")
            raise Refused(f"its result has the type {text}, which is not imported")
        return found

    def sizes(self) -> list[int]:
        """Returns the sizes of the result, which the text must state."""
        shape = self.result().shape
        if None in shape:
            raise Refused("the sizes of its result are unknown", "export the program for constant sizes")
        return list(shape)

    # --- regions ------------------------------------------------------------------------------------------------------
    def region(self, position: int) -> Region:
        if position >= len(self.operation.regions):
            raise Refused("a region is missing", "correct the text")
        return self.operation.regions[position]

    def run(self, position: int, args: list[Expr]) -> list[Expr]:
        """Converts a region on these arguments. Returns its results."""
        return self.importer.run(self.region(position), args, self._env)

    def run_on_elements(self, position: int, args: list[Expr]) -> list[Expr]:
        """Converts a region of scalars on whole tensors, element by element."""
        return self.importer.run_on_elements(self.region(position), args, self._env)

    def combiner(self, position: int = 0) -> str | None:
        """Returns "add" if a region of two scalars is their sum and so on; None for other regions."""
        region = self.region(position)
        if len(region.args) != 2 or len(region.operations) != 2:
            return None
        first, last = region.operations
        both = {(name, 0) for name, _ in region.args}
        if set(first.operands) != both or len(first.operands) != 2 or last.operands != first.results:
            return None
        return first.name.removeprefix("stablehlo.")

    @property
    def env(self):
        return self._env


def checked_axes(axes: list, rank: int, what: str) -> list[int]:
    if not all(type(one) is int and 0 <= one < rank for one in axes) or len(set(axes)) != len(axes):
        raise Refused(f"`{what}` is {axes}: not different axes of {rank}", "correct the text")
    return list(axes)
