"""tvm.topi.utils: sizes as numbers of Python."""

from __future__ import annotations

import operator

from relay import Dim

from ...outside import missing as _missing

__getattr__ = _missing("tvm.topi.utils")


def get_const_int(expr) -> int:
    """The size as a number; ValueError if it is known only at run time."""
    if isinstance(expr, Dim):
        raise ValueError(f"the size {expr} is known only at run time")
    return operator.index(expr)


def get_const_tuple(in_tuple) -> tuple:
    """The sizes of a shape, those that are known as numbers and the others as they are."""
    return tuple(size if isinstance(size, Dim) else operator.index(size) for size in in_tuple)


def get_shape(src_shape, src_layout: str, dst_layout: str) -> tuple:
    """The shape in another order of its axes: get_shape((1, 3, 8, 8), "NCHW", "NHWC")."""
    if sorted(src_layout) != sorted(dst_layout):
        raise ValueError(f"{dst_layout} has other axes than {src_layout}")
    return tuple(get_const_tuple(src_shape)[src_layout.index(axis)] for axis in dst_layout)


def prod(x) -> int:
    """The product; 1 if there are none."""
    out = 1
    for one in x:
        out = out * one
    return out


__all__ = ["get_const_int", "get_const_tuple", "get_shape", "prod"]
