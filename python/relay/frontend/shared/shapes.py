"""Tensors in other shapes, whose sizes may be open."""

from __future__ import annotations

import math

from ... import op
from ..._core import Dim, Expr
from .expressions import shape_of


def reshaped(x: Expr, sizes: list) -> Expr:
    """Returns a tensor in this shape; one size may be -1. An open size of the data that is kept takes its place."""
    if -1 in sizes:
        own = shape_of(x)
        rest = [one for place, one in enumerate(sizes) if one != -1]
        if not any(isinstance(one, Dim) for one in [*own, *rest]):
            total, given = math.prod(own), math.prod(rest)
            if given and total % given == 0:
                sizes = [total // given if one == -1 else one for one in sizes]
        elif (left := _left(own, rest)) is not None:
            sizes = [left if one == -1 else one for one in sizes]
    return op.reshape(x, newshape=sizes, allowzero=True) if 0 in sizes else op.reshape(x, newshape=sizes)


def _left(own: list, rest: list):
    """Returns the product of sizes without those of `rest`, if they are the same sizes; None if that is not plain."""
    left = list(own)
    numbers = 1
    for one in rest:
        if isinstance(one, Dim):
            if one not in left:
                return None
            left.remove(one)
        else:
            numbers *= one
    dims = [one for one in left if isinstance(one, Dim)]
    plain = math.prod(one for one in left if not isinstance(one, Dim))
    if numbers == 0 or plain % numbers or any(one.is_any for one in dims):
        return None
    return math.prod(dims[1:], start=dims[0] * (plain // numbers)) if dims else plain // numbers
