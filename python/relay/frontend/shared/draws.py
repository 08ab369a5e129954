"""Random numbers. They have the distributions that the frameworks' have, and are the same ones in each run."""

from __future__ import annotations

import zlib

from ... import op
from ..._core import Expr, TupleGetItem
from .expressions import cast, dtype_of
from .values import number


def key_of(seed: int, name: str) -> Expr:
    """Returns the state of a generator, from the seed of a node, or from its name if it has none (0 or less)."""
    return op.random.threefry_key(int(seed if seed > 0 else zlib.crc32(name.encode())) & 0x7FFFFFFF)


def uniform(key: Expr, like: Expr, low: float = 0.0, high: float = 1.0) -> Expr:
    """Returns numbers of the shape and the type (float32 or float64) of `like`."""
    return _drawn(op.random.uniform_like, key, like, low, high)


def normal(key: Expr, like: Expr, mean: float = 0.0, deviation: float = 1.0) -> Expr:
    """Returns numbers of the shape and the type (float32 or float64) of `like`."""
    return _drawn(op.random.normal_like, key, like, mean, deviation)


def _drawn(function, key: Expr, like: Expr, first: float, second: float) -> Expr:
    dtype = dtype_of(like)
    return TupleGetItem(function(key, number(first, dtype), number(second, dtype), like), 1)


def bernoulli(key: Expr, like: Expr, probability: float) -> Expr:
    """Returns ones with this probability, and zeros."""
    made = op.less(uniform(key, like), number(probability, dtype_of(like)))
    return cast(made, dtype_of(like))


def categorical(key: Expr, probabilities: Expr, count: int) -> Expr:
    """Returns `count` classes for each row of probabilities along the last axis, int64."""
    return TupleGetItem(op.random.multinomial(key, cast(probabilities, "float32"), num_samples=count), 1)
