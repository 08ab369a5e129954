"""Types: TensorType((2, "n"), "float32"), TupleType, FuncType, RefType, and those of data types.

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
    """What a type variable can stand for: types only. Sizes are relay.Dim."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


def scalar_type(dtype: str) -> TensorType:
    """A tensor without dimensions: scalar_type("int32")."""
    return TensorType((), dtype)


def is_dynamic(type_: Type) -> bool:
    """Whether a size in it is not a number: is_dynamic(TensorType(("n",))) is True."""
    if isinstance(type_, TensorType):
        return any(not isinstance(size, int) for size in type_.shape)
    if isinstance(type_, TupleType):
        return any(map(is_dynamic, type_.fields))
    return False
