"""Building a call, and what is known of its arguments."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..._core import Expr
from ...ir.expr import const


def operand(value, is_tuple: bool = False):
    """What a call takes for an argument: a list for a tuple."""
    return _core.Tuple(list(value)) if is_tuple and isinstance(value, (list, tuple)) else value


def op_call(name: str, operands: list, /, **attributes) -> Expr:
    return _core.call(name, operands, attributes)


def number(value, dtype: str) -> Expr:
    return const(value, dtype) if isinstance(value, (int, float)) else value


def is_computed(*values) -> bool:
    """Whether one of them is known only when the program runs."""
    return any(isinstance(value, Expr) and not isinstance(value, _core.Constant) for value in values)


def values_of(value):
    """A constant is its values."""
    return np.from_dlpack(value.data).tolist() if isinstance(value, _core.Constant) else value


def dtype_of(value, otherwise: str) -> str:
    """The element type of an expression as far as it is known."""
    known = value._checked_type_ or getattr(value, "type_annotation", None)
    return getattr(known, "dtype", otherwise)


def int_list(value, dtype: str) -> Expr:
    """A list of integers as a constant."""
    return const(np.asarray(value, dtype)) if isinstance(value, (list, tuple)) else value
