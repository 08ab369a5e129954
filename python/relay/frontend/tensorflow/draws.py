"""Random numbers. They have the distribution that TensorFlow's have, and are the same ones in each run."""

from __future__ import annotations

import zlib

from ... import op
from ..._core import Expr, TupleGetItem
from ..shared.expressions import cast
from ..shared.problems import Refused
from ..shared.values import number
from .conversion import Conversion


def _key(c: Conversion) -> Expr:
    """Returns the state of a generator, from the seed of the node or from its name."""
    seed = c("seed", 0) or c("seed2", 0) or zlib.crc32(c.node.name.encode())
    return op.random.threefry_key(int(seed) & 0x7FFFFFFF)


def _drawn(c: Conversion, function, dtype: str, first: float, second: float):
    """Returns numbers of a distribution: uniform_like(first, second) or normal_like(mean, scale)."""
    exact = "float64" if dtype == "float64" else "float32"
    if c.known(0) is None:
        like = op.dyn.zeros(cast(c.x, "int64"), dtype=exact)
    else:
        sizes = c.sizes(0)
        if any(isinstance(one, int) and one < 0 for one in sizes):
            raise Refused(f"its shape is {tuple(sizes)}")
        like = op.zeros(sizes, dtype=exact)
    made = function(_key(c), number(first, exact), number(second, exact), like)
    return cast(TupleGetItem(made, 1), dtype)


def uniform(c: Conversion):
    """RandomUniform(shape): from 0 to 1."""
    return _drawn(c, op.random.uniform_like, c("dtype"), 0.0, 1.0)


def normal(c: Conversion):
    """RandomStandardNormal(shape)."""
    return _drawn(c, op.random.normal_like, c("dtype"), 0.0, 1.0)


def uniform_integers(c: Conversion):
    """RandomUniformInt(shape, least, limit)."""
    made = _drawn(c, op.random.uniform_like, "float64", 0.0, 1.0)
    least, limit = (cast(op.reshape(c.expr(place), newshape=[]), "float64") for place in (1, 2))
    made = op.add(op.floor(op.multiply(made, op.subtract(limit, least))), least)
    return cast(op.minimum(made, op.subtract(limit, number(1, "float64"))), c.dtype(1))
