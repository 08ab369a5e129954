"""Random numbers. Each call also returns the next state of the generator."""

from __future__ import annotations

import numpy as np

from ...ir.expr import TupleWrapper, const
from .call import number, op_call


def _threefry_key(seed):
    """Returns the first state of a generator as a constant, the argument of the random operators."""
    return const(np.array([0, 0, 0, seed, 0, 0, 0, 0, 1 << 63, 0], "uint64"))


def _threefry_generate(key, shape):
    """Returns (the next state, random words)."""
    return TupleWrapper(op_call("random.threefry_generate", [key], out_shape=shape), 2)


def _threefry_split(key):
    """Returns (left, right)."""
    return TupleWrapper(op_call("random.threefry_split", [key]), 2)


def _drawn(name: str, key, shape, dtype, first, second):
    operands = [key, number(first, dtype), number(second, dtype)]
    return TupleWrapper(op_call(f"random.{name}", operands, out_shape=shape, out_dtype=dtype), 2)


def _uniform(key, shape, dtype="float32", low=0.0, high=1.0):
    """Returns (the next state, numbers)."""
    return _drawn("uniform", key, shape, dtype, low, high)


def _normal(key, shape, dtype="float32", mean=0.0, scale=1.0):
    """Returns (the next state, numbers)."""
    return _drawn("normal", key, shape, dtype, mean, scale)


def _multinomial(key, probs, num_samples):
    """Returns (the next state, indices)."""
    return TupleWrapper(op_call("random.multinomial", [key, probs], num_samples=num_samples), 2)


FUNCTIONS = {
    "random.multinomial": _multinomial,
    "random.normal": _normal,
    "random.threefry_generate": _threefry_generate,
    "random.threefry_key": _threefry_key,
    "random.threefry_split": _threefry_split,
    "random.uniform": _uniform,
}
