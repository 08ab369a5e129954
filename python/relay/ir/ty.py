"""Types: TensorType((2, "n"), "float32"), TupleType, FuncType, RefType, and data types.

a = relay.TypeVar("a")
List = relay.GlobalTypeVar("List")
cons = relay.Constructor("Cons", [a, List(a)], List)
nil = relay.Constructor("Nil", [], List)
mod[List] = relay.TypeData(List, [a], [cons, nil])
"""

from __future__ import annotations

import enum

from .._core import (
    Any,
    Dim,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeVar,
    parse_type,
)

__all__ = [
    "Any",
    "Dim",
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "RefType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeData",
    "TypeKind",
    "TypeVar",
    "is_dynamic",
    "parse_type",
    "scalar_type",
]


class TypeKind(enum.IntEnum):
    """The kinds of type variables. Relay has type variables for types only; sizes are relay.Dim."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


def scalar_type(dtype: str) -> TensorType:
    """Returns the type of a scalar: scalar_type("int32")."""
    return TensorType((), dtype)


def is_dynamic(type_: Type) -> bool:
    """Returns true if a size in the type is not a number: is_dynamic(TensorType(("n",))) is True."""
    if isinstance(type_, TensorType):
        return any(not isinstance(size, int) for size in type_.shape)
    if isinstance(type_, TupleType):
        return any(map(is_dynamic, type_.fields))
    return False
