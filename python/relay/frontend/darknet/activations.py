"""The activations of DarkNet, and of the fork of A. Bochkovskiy: mish and swish."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import dtype_of, number
from ..shared.problems import Refused


def _n(x: Expr, value: float) -> Expr:
    return number(value, dtype_of(x))


def _plse(x):
    inner = op.add(op.multiply(x, _n(x, 0.125)), _n(x, 0.5))
    low = op.multiply(op.add(x, _n(x, 4)), _n(x, 0.01))
    high = op.add(op.multiply(op.subtract(x, _n(x, 4)), _n(x, 0.01)), _n(x, 1))
    return op.where(op.less(x, _n(x, -4)), low, op.where(op.greater(x, _n(x, 4)), high, inner))


def _stair(x):
    floor = op.floor(x)
    half = op.floor(op.multiply(x, _n(x, 0.5)))
    is_even = op.equal(op.floor_mod(floor, _n(x, 2)), _n(x, 0))
    return op.where(is_even, half, op.add(op.subtract(x, floor), half))


def _lhtan(x):
    low = op.multiply(x, _n(x, 0.001))
    high = op.add(op.multiply(op.subtract(x, _n(x, 1)), _n(x, 0.001)), _n(x, 1))
    return op.where(op.less(x, _n(x, 0)), low, op.where(op.greater(x, _n(x, 1)), high, x))


def _elu(x, scale=1.0, alpha=1.0):
    below = op.multiply(op.expm1(op.minimum(x, _n(x, 0))), _n(x, scale * alpha))
    return op.where(op.greater_equal(x, _n(x, 0)), op.multiply(x, _n(x, scale)) if scale != 1 else x, below)


def _mish(x):
    return op.multiply(x, op.tanh(op.nn.softplus(x)))


ACTIVATIONS = {
    "linear": lambda x: x,
    "logistic": op.sigmoid,
    "relu": op.nn.relu,
    "leaky": lambda x: op.nn.leaky_relu(x, alpha=0.1),
    "relie": lambda x: op.nn.leaky_relu(x, alpha=0.01),
    "ramp": lambda x: op.add(op.nn.relu(x), op.multiply(x, _n(x, 0.1))),
    "tanh": op.tanh,
    "elu": _elu,
    "selu": lambda x: _elu(x, 1.0507, 1.6732),
    "loggy": lambda x: op.tanh(op.multiply(x, _n(x, 0.5))),  # 2 sigmoid(x) - 1
    "plse": _plse,
    "stair": _stair,
    "hardtan": lambda x: op.clip(x, -1.0, 1.0),
    "lhtan": _lhtan,
    "mish": _mish,
    "swish": lambda x: op.multiply(x, op.sigmoid(x)),
}


def activate(name: str, x: Expr) -> Expr:
    if name not in ACTIVATIONS:
        raise Refused(f"the activation {name!r} is unknown", f"use one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name](x)
