"""Helpers that build a call and inspect its arguments."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..._core import Expr
from ...ir.expr import const


def operand(value, is_tuple: bool = False):
    """Returns an argument of a call. A list becomes a tuple."""
    return _core.Tuple(list(value)) if is_tuple and isinstance(value, (list, tuple)) else value


def op_call(name: str, operands: list, /, **attributes) -> Expr:
    return _core.call(name, operands, attributes)


def number(value, dtype: str) -> Expr:
    return const(value, dtype) if isinstance(value, (int, float)) else value


def is_computed(*values) -> bool:
    """Returns true if one of the values is known at run time only."""
    return any(isinstance(value, Expr) and not isinstance(value, _core.Constant) for value in values)


def values_of(value):
    """Returns the values of a constant."""
    return value.data.numpy().tolist() if isinstance(value, _core.Constant) else value


def dtype_of(value, otherwise: str) -> str:
    """Returns the element type of an expression, as far as it is known."""
    known = value._checked_type_ or getattr(value, "type_annotation", None)
    return getattr(known, "dtype", otherwise)


def int_list(value, dtype: str) -> Expr:
    """Returns a list of integers as a constant."""
    return const(np.asarray(value, dtype)) if isinstance(value, (list, tuple)) else value
