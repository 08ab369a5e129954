"""Building programs in Python.

x = relay.var("x", (1, 4))
w = relay.const(weights)
m = relay.module(relay.op.nn.relu(relay.op.nn.dense(x, w)))
"""

from __future__ import annotations

from . import _core
from .arrays import array


def var(name: str, shape=None, dtype: str = "float32") -> _core.Expr:
    """A variable. A size may be a name: var("x", ("n", 4)); without a shape its type is inferred."""
    if shape is None:
        return _core.var(name, "")
    return _core.var(name, f"Tensor[({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), {dtype}]")


def const(value, dtype: str | None = None) -> _core.Expr:
    """A constant: a number, a list, or an array of any framework."""
    if dtype is None and isinstance(value, float):
        dtype = "float32"
    elif dtype is None and isinstance(value, int) and not isinstance(value, bool):
        dtype = "int32"
    return _core.constant(array(value, dtype))


def tuple_(*elements: _core.Expr) -> _core.Expr:
    """(a, b)"""
    return _core.tuple(list(elements))


def get(value: _core.Expr, index: int) -> _core.Expr:
    """value.index, of a tuple"""
    return _core.get(value, index)


def module(body: _core.Expr, params: list[_core.Expr] | None = None) -> _core.Module:
    """A module whose @main has this body. Parameters: as given, or the free variables in the order of their use."""
    return _core.module(params, body)
