"""Shapes and types of expressions, and numbers of untrusted files, as converters of all formats use them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ... import op
from ..._core import Dim, Expr, infer_expr
from ...ir.expr import const
from .problems import Refused

GIVE_SHAPES = "give the sizes of the inputs: --shape NAME=1,224,224,3, or shape={'NAME': (1, 224, 224, 3)}"
MOST_ELEMENTS = 1 << 28  # of a constant that a configuration asks for


def shape_of(value: Expr) -> list:
    """Returns the sizes: numbers, and Dim for those that are open."""
    return list(infer_expr(value).checked_type.shape)


def dtype_of(value: Expr) -> str:
    return str(infer_expr(value).checked_type.dtype)


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def cast(value: Expr, dtype: str) -> Expr:
    return value if dtype_of(value) == dtype else op.cast(value, dtype)


def numpy_type(dtype: str):
    return ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)


def is_known(*sizes) -> bool:
    return all(isinstance(one, int) for one in sizes)


def known(size, what: str) -> int:
    """Returns a size that must be a number."""
    if isinstance(size, int):
        return size
    raise Refused(f"{what} depends on a size that is known only at run time", GIVE_SHAPES)


def bounded(count: int, most: int, what: str) -> int:
    """Returns a number that an untrusted configuration gives, if it is not above a limit."""
    if count > most:
        raise Refused(f"{what} is {count}, more than {most}", "use fewer, or build this part in another way")
    return count


def new_shape(sizes: list) -> list:
    """Returns sizes as op.reshape takes them, where 0 stands for the size at the same place."""
    return [one if isinstance(one, (int, Dim)) else int(one) for one in sizes]


def axis_of(axis, rank: int) -> int:
    """Returns an axis, counted from the front."""
    axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
    if type(axis) is not int or not -rank <= axis < rank:
        raise Refused(f"axis {axis!r} is not one of the {rank} axes")
    return axis % rank


def axes_of(axis, rank: int) -> list[int]:
    """Returns axes, counted from the front; all of them if `axis` is None."""
    if axis is None:
        return list(range(rank))
    return sorted({axis_of(one, rank) for one in (axis if isinstance(axis, (list, tuple)) else [axis])})


def number(value, dtype: str) -> Expr:
    """Returns a constant without axes."""
    if dtype == "bfloat16":
        return op.cast(const(np.asarray(value, "float32")), dtype)
    with np.errstate(over="ignore"):
        return const(np.asarray(value).astype(dtype))
