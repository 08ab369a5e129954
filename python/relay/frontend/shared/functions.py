"""Functions of one tensor that formats share and that are not operators of Relay."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from .expressions import dtype_of, number


def like(x: Expr, value: float) -> Expr:
    """Returns a number without axes of the type of x."""
    return number(value, dtype_of(x))


def cbrt(x: Expr) -> Expr:
    return op.multiply(op.sign(x), op.power(op.abs(x), like(x, 1 / 3)))


def reciprocal(x: Expr) -> Expr:
    return op.divide(like(x, 1.0), x)


def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y): atan of the smaller quotient, in its octant."""
    zero, pi = like(y, 0), like(y, math.pi)
    ay, ax = op.abs(y), op.abs(x)
    steep = op.greater(ay, ax)
    least, most = op.minimum(ay, ax), op.maximum(ay, ax)
    safe = op.where(op.equal(most, zero), like(y, 1), most)
    angle = op.atan(op.divide(least, safe))
    angle = op.where(steep, op.subtract(like(y, math.pi / 2), angle), angle)
    angle = op.where(op.less(x, zero), op.subtract(pi, angle), angle)
    return op.where(op.less(y, zero), op.negative(angle), angle)


def softsign(x: Expr) -> Expr:
    return op.divide(x, op.add(op.abs(x), like(x, 1.0)))


def away_from_zero(x: Expr) -> Expr:
    """Rounds halves away from zero, as C's round()."""
    return op.multiply(op.sign(x), op.floor(op.add(op.abs(x), like(x, 0.5))))


def elu(x: Expr, alpha: float, scale: float = 1.0) -> Expr:
    below = op.multiply(op.subtract(op.exp(op.minimum(x, like(x, 0.0))), like(x, 1.0)), like(x, alpha))
    made = op.where(op.greater(x, like(x, 0.0)), x, below)
    return op.multiply(made, like(x, scale)) if scale != 1 else made
