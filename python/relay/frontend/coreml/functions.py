"""Functions of tensors that layers of neural networks and operations of ML programs share."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared import functions
from ..shared.expressions import dtype_of, number, shape_of
from ..shared.problems import Refused


def n(x: Expr, value: float) -> Expr:
    """Returns a number of the type of a tensor."""
    return number(value, dtype_of(x))


def constants(values, dtype: str) -> Expr:
    """Returns a vector of numbers."""
    return number(np.asarray(values), dtype)


def affine(x: Expr, scale: float, shift: float) -> Expr:
    x = op.multiply(x, n(x, scale)) if scale != 1 else x
    return op.add(x, n(x, shift)) if shift else x


def elu(x: Expr, alpha: float) -> Expr:
    below = op.multiply(op.expm1(op.minimum(x, n(x, 0.0))), n(x, alpha))
    return op.where(op.greater(x, n(x, 0.0)), x, below)


def softsign(x: Expr) -> Expr:
    return op.divide(x, op.add(op.abs(x), n(x, 1.0)))


def hard_sigmoid(x: Expr, alpha: float, beta: float) -> Expr:
    return op.clip(affine(x, alpha, beta), 0.0, 1.0)


def scaled_tanh(x: Expr, alpha: float, beta: float) -> Expr:
    return affine(op.tanh(affine(x, beta, 0.0)), alpha, 0.0)


def thresholded_relu(x: Expr, alpha: float) -> Expr:
    return op.where(op.greater_equal(x, n(x, alpha)), x, n(x, 0.0))


def clamped_relu(x: Expr, alpha: float, beta: float) -> Expr:
    return op.minimum(op.where(op.greater_equal(x, n(x, 0.0)), x, affine(x, alpha, 0.0)), n(x, beta))


def parametric_softplus(x: Expr, alpha: Expr, beta: Expr) -> Expr:
    return op.multiply(op.nn.softplus(op.multiply(x, beta)), alpha)


def silu(x: Expr) -> Expr:
    return op.multiply(x, op.sigmoid(x))


def gelu(x: Expr, mode: str) -> Expr:
    if mode == "EXACT":
        return op.nn.gelu(x)
    if mode == "SIGMOID_APPROXIMATION":
        return op.multiply(x, op.sigmoid(affine(x, 1.702, 0.0)))
    if mode != "TANH_APPROXIMATION":
        raise Refused(f"the form {mode!r} of gelu is not known")
    return functions.gelu_of_tanh(x)


def power_of_two(x: Expr) -> Expr:
    return op.power(n(x, 2.0), x)


def square(x: Expr) -> Expr:
    return op.multiply(x, x)


def reciprocal(x: Expr, epsilon: float) -> Expr:
    return op.divide(n(x, 1.0), affine(x, 1.0, epsilon))


def reduced(kind: str, x: Expr, axes: list[int], keepdims: bool) -> Expr:
    """Returns a reduction. kind: sum, mean, prod, max, min, l1_norm, l2_norm, log_sum, log_sum_exp, sum_square."""
    plain = {"sum": op.sum, "mean": op.mean, "prod": op.prod, "max": op.max, "min": op.min}
    how = {"axis": axes, "keepdims": keepdims}
    if not axes:
        raise Refused("it reduces no axis")
    if kind in plain:
        return plain[kind](x, **how)
    if kind == "l1_norm":
        return op.sum(op.abs(x), **how)
    if kind == "l2_norm":
        return op.sqrt(op.sum(square(x), **how))
    if kind == "sum_square":
        return op.sum(square(x), **how)
    if kind == "log_sum":
        return op.log(op.sum(x, **how))
    return op.logsumexp(x, **how)


def band(x: Expr, lower: int, upper: int) -> Expr:
    """Returns matrices with zeros outside of the diagonals from -lower to upper; negative bounds stand for all."""
    if lower >= 0:
        x = op.trilu(x, number(-lower, "int64"), upper=True)
    return op.trilu(x, number(upper, "int64"), upper=False) if upper >= 0 else x


def per_channel(x: Expr, values: Expr, axis: int) -> Expr:
    """Returns a vector with axes of size 1 after its own, as it broadcasts along an axis of a tensor."""
    rank = len(shape_of(x))
    axis %= rank
    return op.reshape(values, [-1, *[1] * (rank - axis - 1)]) if axis != rank - 1 else values


def normalised(x: Expr, axes: list[int], epsilon: float) -> Expr:
    """Returns (x - mean) / sqrt(variance + epsilon) over some axes."""
    apart = op.subtract(x, op.mean(x, axis=axes, keepdims=True))
    variance = op.mean(square(apart), axis=axes, keepdims=True)
    return op.divide(apart, op.sqrt(affine(variance, 1.0, epsilon)))


def gathered_nd(x: Expr, indices: Expr, batch: int = 0) -> Expr:
    """Returns slices by positions, which are the last axis of the indices."""
    sizes = shape_of(indices)
    axes = [len(sizes) - 1, *range(len(sizes) - 1)]
    return op.gather_nd(x, op.transpose(indices, axes=axes), batch_dims=batch, index_rank=sizes[-1])


def scattered_nd(x: Expr, indices: Expr, updates: Expr, mode: str) -> Expr:
    rank = len(shape_of(indices))
    places = op.cast(op.transpose(indices, axes=[rank - 1, *range(rank - 1)]), "int64")
    if mode in ("sub", "div"):
        updates = op.negative(updates) if mode == "sub" else op.divide(n(updates, 1.0), updates)
        mode = {"sub": "add", "div": "mul"}[mode]
    return op.scatter_nd(x, places, updates, mode=mode)


def scattered_along(x: Expr, indices: Expr, updates: Expr, axis: int, mode: str) -> Expr:
    if mode in ("sub", "div"):
        updates = op.negative(updates) if mode == "sub" else op.divide(n(updates, 1.0), updates)
        mode = {"sub": "add", "div": "mul"}[mode]
    return op.scatter_elements(x, non_negative(indices, shape_of(x)[axis]), updates, axis=axis, reduction=mode)


def non_negative(indices: Expr, size) -> Expr:
    """Returns indices in which negative ones are counted from the front."""
    if not isinstance(size, int):
        return indices
    return op.where(op.less(indices, n(indices, 0)), op.add(indices, n(indices, size)), indices)


def windows_along(x: Expr, axis: int, size: int, step: int) -> Expr:
    """Returns the windows along an axis, in a new axis after it."""
    count = shape_of(x)[axis]
    if not isinstance(count, int) or size > count:
        raise Refused(f"it takes windows of {size} from an axis with {count}")
    places = [[first + one for one in range(size)] for first in range(0, count - size + 1, step)]
    return op.take(x, number(places, "int32"), axis=axis, mode="clip")
