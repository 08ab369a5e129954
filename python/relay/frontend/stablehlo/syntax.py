"""Structures that mirror a StableHLO text: operations, regions, functions, types. They contain nothing of Relay."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor type. shape: sizes, None for `?`. dtype: Relay's name; None if Relay has no such element type, whose
    name in the text is `element`."""

    shape: tuple[int | None, ...]
    dtype: str | None
    element: str


@dataclasses.dataclass(frozen=True)
class Other:
    """A type that is not a tensor, such as !stablehlo.token, as it is written."""

    text: str


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A reference to a function: @name."""

    name: str


@dataclasses.dataclass(frozen=True)
class Dense:
    """The elements of a constant. array: all elements in the type's shape, or one without axes that fills the shape."""

    type: Tensor
    array: np.ndarray


@dataclasses.dataclass
class Region:
    """The operations between braces, with the arguments of its block: (name, type)."""

    args: list[tuple[str, Tensor | Other]] = dataclasses.field(default_factory=list)
    operations: list[Operation] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Operation:
    """An operation. Values are (name, position): `%1#2` is ("1", 2), `%x` is ("x", 0)."""

    name: str
    offset: int  # of its name in the text, in characters
    results: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    operands: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    attrs: dict = dataclasses.field(default_factory=dict)
    words: list[str] = dataclasses.field(default_factory=list)  # keywords, such as GE of `compare GE, %a, %b`
    regions: list[Region] = dataclasses.field(default_factory=list)
    operand_types: list = dataclasses.field(default_factory=list)
    result_types: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Func:
    """A function of the module."""

    name: str
    body: Region
    result_types: list
    is_public: bool
    offset: int  # characters
