"""tvm.runtime.container: lists and tuples."""

from __future__ import annotations


class Array(list):
    """A list that equals any sequence of the same elements."""

    def __eq__(self, other) -> bool:
        return isinstance(other, (list, tuple)) and list.__eq__(self, list(other))

    __hash__ = None


class _IsTuple(type):
    def __instancecheck__(cls, value) -> bool:
        from ..relay.backend.interpreter import ConstructorValue

        return isinstance(value, (list, tuple, ConstructorValue))


class ADT(metaclass=_IsTuple):
    """The class of tuples and data values: isinstance(result, ADT)."""


Map = dict
ShapeTuple = tuple
String = str


def tuple_object(fields=None) -> tuple:
    """Returns a tuple as a value."""
    return tuple(fields or ())


def convert(value):
    """Returns numbers, strings, nodes and dicts unchanged, and a sequence as an Array."""
    return Array(value) if isinstance(value, (list, tuple)) else value


__all__ = ["ADT", "Array", "Map", "ShapeTuple", "String", "convert", "tuple_object"]
