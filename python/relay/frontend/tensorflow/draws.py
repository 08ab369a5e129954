"""Random numbers, which are the same ones in each run (shared/draws.py)."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared import draws
from ..shared.expressions import cast
from ..shared.problems import Refused
from ..shared.values import number
from .conversion import Conversion


def _like(c: Conversion, dtype: str) -> Expr:
    """Returns zeros of the shape that is the first input."""
    if c.known(0) is None:
        return op.dyn.zeros(cast(c.x, "int64"), dtype=dtype)
    sizes = c.sizes(0)
    if any(isinstance(one, int) and one < 0 for one in sizes):
        raise Refused(f"its shape is {tuple(sizes)}")
    return op.zeros(sizes, dtype=dtype)


def _drawn(c: Conversion, draw, dtype: str) -> Expr:
    exact = "float64" if dtype == "float64" else "float32"
    return cast(draw(draws.key_of(c("seed", 0) or c("seed2", 0), c.node.name), _like(c, exact)), dtype)


def uniform(c: Conversion):
    """RandomUniform(shape): from 0 to 1."""
    return _drawn(c, draws.uniform, c("dtype"))


def normal(c: Conversion):
    """RandomStandardNormal(shape)."""
    return _drawn(c, draws.normal, c("dtype"))


def uniform_integers(c: Conversion):
    """RandomUniformInt(shape, least, limit)."""
    made = _drawn(c, draws.uniform, "float64")
    least, limit = (cast(op.reshape(c.expr(place), newshape=[]), "float64") for place in (1, 2))
    made = op.add(op.floor(op.multiply(made, op.subtract(limit, least))), least)
    return cast(op.minimum(made, op.subtract(limit, number(1, "float64"))), c.dtype(1))
