"""Functions of one tensor that formats share and that are not operators of Relay."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from .expressions import dtype_of, known, number, shape_of


def like(x: Expr, value: float) -> Expr:
    """Returns a number without axes of the type of x."""
    return number(value, dtype_of(x))


def cbrt(x: Expr) -> Expr:
    """The power 1/3, which is not a number of the type, and a step of Newton's method."""
    a, zero = op.abs(x), like(x, 0)
    root = op.power(a, like(x, 1 / 3))
    square = op.multiply(root, root)
    step = op.divide(op.subtract(root, op.divide(a, square)), like(x, 3))
    is_exact = op.logical_or(op.equal(a, zero), op.isinf(a))
    return op.multiply(op.sign(x), op.where(is_exact, a, op.subtract(root, step)))


def reciprocal(x: Expr) -> Expr:
    return op.divide(like(x, 1.0), x)


def is_negative(x: Expr) -> Expr:
    """Returns true below zero, and for -0."""
    zero = like(x, 0)
    of_zeros = op.less(op.divide(like(x, 1), x), zero)
    return op.where(op.equal(x, zero), of_zeros, op.less(x, zero))


def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y), between -pi and pi: atan of the smaller quotient, in its octant. The signs of
    zeros count."""
    tall, wide = op.abs(y), op.abs(x)
    small, large = op.minimum(tall, wide), op.maximum(tall, wide)
    ratio = op.where(op.equal(small, large), like(y, 1), op.divide(small, large))
    angle = op.atan(op.where(op.equal(large, like(y, 0)), like(y, 0), ratio))
    angle = op.where(op.greater(tall, wide), op.subtract(like(y, math.pi / 2), angle), angle)
    angle = op.where(is_negative(x), op.subtract(like(y, math.pi), angle), angle)
    return op.where(is_negative(y), op.negative(angle), angle)


def hypotenuse(a: Expr, b: Expr) -> Expr:
    """sqrt(a^2 + b^2): the larger times sqrt(1 + quotient^2), which is not too large before the result is."""
    a, b = op.abs(a), op.abs(b)
    small, large = op.minimum(a, b), op.maximum(a, b)
    ratio = op.divide(small, large)
    sides = op.multiply(large, op.sqrt(op.add(like(a, 1), op.multiply(ratio, ratio))))
    sides = op.where(op.equal(large, like(a, 0)), large, sides)
    return op.where(op.logical_or(op.isinf(a), op.isinf(b)), like(a, math.inf), sides)


def softsign(x: Expr) -> Expr:
    return op.divide(x, op.add(op.abs(x), like(x, 1.0)))


def away_from_zero(x: Expr) -> Expr:
    """Rounds halves away from zero, as C's round()."""
    down = op.trunc(x)
    is_far = op.greater_equal(op.abs(op.subtract(x, down)), like(x, 0.5))
    return op.where(is_far, op.add(down, op.sign(x)), down)


def elu(x: Expr, alpha: float, scale: float = 1.0) -> Expr:
    below = op.multiply(op.expm1(op.minimum(x, like(x, 0.0))), like(x, alpha))
    made = op.where(op.greater(x, like(x, 0.0)), x, below)
    return op.multiply(made, like(x, scale)) if scale != 1 else made


def celu(x: Expr, alpha: float) -> Expr:
    below = op.multiply(op.expm1(op.divide(op.minimum(x, like(x, 0.0)), like(x, alpha))), like(x, alpha))
    return op.where(op.greater(x, like(x, 0.0)), x, below)


def gelu_of_tanh(x: Expr) -> Expr:
    """x / 2 (1 + tanh(y)) with y = sqrt(2 / pi) (x + 0.044715 x^3), as x sigmoid(2 y), in which no digits cancel."""
    cube = op.multiply(op.multiply(op.multiply(x, x), x), like(x, 0.044715))
    return op.multiply(x, op.sigmoid(op.multiply(op.add(x, cube), like(x, 2 * math.sqrt(2 / math.pi)))))


def logaddexp(a: Expr, b: Expr) -> Expr:
    """log(exp(a) + exp(b)): the larger plus log(1 + exp(-distance)). The distance of equal infinities is 0."""
    apart = op.where(op.equal(a, b), like(a, 0), op.abs(op.subtract(a, b)))
    return op.add(op.maximum(a, b), op.log1p(op.exp(op.negative(apart))))


def running_logsumexp(x: Expr, axis: int) -> Expr:
    """log(sum(exp)) of each element and those before it. Step s adds the sums that end 2^s positions before: the
    greatest of all would make small elements in front vanish."""
    count, step = known(shape_of(x)[axis], "the number of steps of its sums"), 1
    while step < count:
        before, here, first = (
            op.strided_slice(x, begin=[begin], end=[end], strides=[1], axes=[axis])
            for begin, end in ((0, count - step), (step, count), (0, step))
        )
        x = op.concatenate([first, logaddexp(before, here)], axis=axis)
        step *= 2
    return x
