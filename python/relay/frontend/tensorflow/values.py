"""The values that nodes compute besides expressions and known elements: handles of variables, functions, lists."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core import Expr
from ..shared.known import Known, constant


def number(value, dtype: str) -> Expr:
    """Returns a constant without axes."""
    return constant(np.asarray(value), dtype)


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
