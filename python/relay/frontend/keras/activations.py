"""Activation functions and the layers that are one."""

from __future__ import annotations

import numpy as np

from ... import op
from ..shared import functions
from ..shared.problems import Refused
from .config import Object, value_of
from .conversion import MOST_ELEMENTS, Conversion, axes_of, axis_of, bounded, dtype_of, number, shape_of

LOW = {"float16": -3e4}  # for masked elements before a softmax; -1e9 for other types


def _n(x, value):
    return number(value, dtype_of(x))


def relu(x, slope=0.0, most=None, threshold=0.0):
    """max(x, 0), with a slope for x < threshold: slope * (x - threshold), and at most `most`."""
    if slope == 0 and threshold == 0:
        return op.nn.relu(x) if most is None else op.clip(x, 0.0, float(most))
    below = op.multiply(op.subtract(x, _n(x, threshold)), _n(x, slope))
    above = x if most is None else op.minimum(x, _n(x, most))
    if threshold == 0 and most is None:
        return op.nn.leaky_relu(x, alpha=float(slope))
    is_above = op.greater if slope == 0 else op.greater_equal
    return op.where(is_above(x, _n(x, threshold)), above, below)


def elu(x, alpha=1.0):
    return op.where(op.greater(x, _n(x, 0)), x, op.multiply(op.expm1(op.minimum(x, _n(x, 0))), _n(x, alpha)))


def selu(x):
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return op.multiply(elu(x, alpha), _n(x, scale))


def celu(x, alpha=1.0):
    negative = op.expm1(op.divide(op.minimum(x, _n(x, 0)), _n(x, alpha)))
    return op.add(op.nn.relu(x), op.multiply(negative, _n(x, alpha)))


def gelu(x, approximate=False):
    return functions.gelu_of_tanh(x) if approximate else op.nn.gelu(x)


def silu(x):
    return op.multiply(x, op.sigmoid(x))


def hard_sigmoid(x):
    """Keras 3: relu6(x + 3) / 6."""
    return op.divide(op.clip(op.add(x, _n(x, 3)), 0.0, 6.0), _n(x, 6))


def hard_sigmoid_2(x):
    """Keras 2: 0.2 x + 0.5, between 0 and 1."""
    return op.clip(op.add(op.multiply(x, _n(x, 0.2)), _n(x, 0.5)), 0.0, 1.0)


def softsign(x):
    return op.divide(x, op.add(op.abs(x), _n(x, 1)))


def mish(x):
    return op.multiply(x, op.tanh(op.nn.softplus(x)))


def soft_shrink(x, threshold=0.5):
    return op.subtract(x, op.clip(x, -float(threshold), float(threshold)))


def hard_shrink(x, threshold=0.5):
    return op.where(op.greater(op.abs(x), _n(x, threshold)), x, op.zeros_like(x))


def sparse_plus(x):
    """0 for x <= -1, (x + 1)^2 / 4 between, x for x >= 1."""
    quarter = op.divide(op.multiply(op.add(x, _n(x, 1)), op.add(x, _n(x, 1))), _n(x, 4))
    upper = op.where(op.less(x, _n(x, 1)), quarter, x)
    return op.where(op.greater(x, _n(x, -1)), upper, op.zeros_like(x))


def squareplus(x, b=4):
    """(x + sqrt(x^2 + b)) / 2; below zero b / 2 / (sqrt(x^2 + b) - x), in which no digits cancel."""
    twice = op.add(op.abs(x), op.sqrt(op.add(op.multiply(x, x), _n(x, b))))
    return op.where(op.less(x, _n(x, 0)), op.divide(_n(x, b / 2), twice), op.multiply(twice, _n(x, 0.5)))


def glu(x, axis=-1):
    halves = op.split(x, indices_or_sections=2, axis=axis_of(axis, len(shape_of(x))))
    return op.multiply(halves[0], op.sigmoid(halves[1]))


def softmax(x, axis=-1):
    """A softmax over one axis or several."""
    axes = axes_of(axis, len(shape_of(x)))
    if len(axes) == 1:
        return op.nn.softmax(x, axis=axes[0])
    exponentials = op.exp(op.subtract(x, op.max(x, axis=axes, keepdims=True)))
    return op.divide(exponentials, op.sum(exponentials, axis=axes, keepdims=True))


def masked_softmax(x, mask, axis=-1):
    """A softmax without the elements where the mask is false. It is 0 where everything is masked."""
    low = _n(x, LOW.get(dtype_of(x), -1e9))
    return op.where(mask, softmax(op.where(mask, x, low), axis), op.zeros_like(x))


def log_softmax(x, axis=-1):
    return op.nn.log_softmax(x, axis=axis_of(axis, len(shape_of(x))))


def sparsemax(x, axis=-1):
    """The Euclidean projection to the simplex: https://arxiv.org/abs/1602.02068, algorithm 1."""
    rank = len(shape_of(x))
    axis = axis_of(axis, rank)
    size = shape_of(x)[axis]
    if not isinstance(size, int):
        raise Refused("sparsemax over an axis whose size is known only at run time")
    bounded(size, MOST_ELEMENTS, "the size of a sparsemax")
    ranked = op.sort(x, axis=axis, is_ascend=False)
    around = [size if place == axis else 1 for place in range(rank)]
    counts = op.reshape(op.cast(_counts(size), dtype_of(x)), newshape=around)
    sums = op.subtract(op.cumsum(ranked, axis=axis), _n(x, 1))
    in_support = op.cast(op.greater(op.multiply(counts, ranked), sums), dtype_of(x))
    support = op.sum(in_support, axis=[axis], keepdims=True)
    threshold = op.sum(op.multiply(in_support, ranked), axis=[axis], keepdims=True)
    threshold = op.divide(op.subtract(threshold, _n(x, 1)), support)
    return op.nn.relu(op.subtract(x, threshold))


def _counts(size: int):
    from ...ir.expr import const

    return const(np.arange(1, size + 1, dtype=np.float32))


FUNCTIONS = {
    "linear": lambda x: x, "relu": relu, "relu6": lambda x: op.clip(x, 0.0, 6.0), "sigmoid": op.sigmoid,
    "tanh": op.tanh, "softmax": softmax, "log_softmax": log_softmax, "softplus": op.nn.softplus,
    "softsign": softsign, "elu": elu, "selu": selu, "celu": celu, "gelu": gelu, "silu": silu, "swish": silu,
    "mish": mish, "exponential": op.exp, "exp": op.exp, "hard_sigmoid": hard_sigmoid,
    "hard_silu": lambda x: op.multiply(x, hard_sigmoid(x)), "hard_swish": lambda x: op.multiply(x, hard_sigmoid(x)),
    "hard_tanh": lambda x: op.clip(x, -1.0, 1.0), "leaky_relu": lambda x, negative_slope=0.2: relu(x, negative_slope),
    "log_sigmoid": lambda x: op.negative(op.nn.softplus(op.negative(x))),
    "sparse_sigmoid": lambda x: op.clip(op.multiply(op.add(x, _n(x, 1)), _n(x, 0.5)), 0.0, 1.0),
    "soft_shrink": soft_shrink, "hard_shrink": hard_shrink, "sparse_plus": sparse_plus, "squareplus": squareplus,
    "tanh_shrink": lambda x: op.subtract(x, op.tanh(x)), "glu": glu, "sparsemax": sparsemax,
}  # fmt: skip


def name_of(spec) -> str | None:
    """Returns the name of an activation that is a plain function; None if it is a layer with a configuration."""
    if spec is None:
        return "linear"
    if isinstance(spec, str):
        return spec.rpartition(">")[2]
    spec = value_of(spec)
    if isinstance(spec, Object) and spec.kind == "function" and isinstance(spec.config, str):
        return spec.config.rpartition(">")[2]
    return None


def activate(c: Conversion, spec, x):
    """Returns the activation of a configuration, by name or as a layer, of a tensor."""
    name = name_of(spec)
    if name is None:
        return c.inner(spec, (), [_value(x)]).expr
    if name == "hard_sigmoid" and c.is_keras_2:
        return hard_sigmoid_2(x)
    if name not in FUNCTIONS:
        raise Refused(f"the activation `{name}` is not one of Keras", "write it with layers or keras.ops")
    return FUNCTIONS[name](x)


def _value(x):
    from .conversion import Value

    return Value(x)


def activation(c: Conversion):
    return activate(c, c("activation"), c.x)


def relu_layer(c: Conversion):
    """ReLU; also Keras 2's name of the slope."""
    slope = c("negative_slope", 0.0)
    slope = slope[0] if isinstance(slope, list) else slope
    return relu(c.x, slope, c("max_value"), c("threshold", 0.0))


def leaky_relu_layer(c: Conversion):
    return relu(c.x, _of_old_array(c("negative_slope", c("alpha", 0.3))))


def elu_layer(c: Conversion):
    return elu(c.x, _of_old_array(c("alpha", 1.0)))


def thresholded_relu(c: Conversion):
    theta = _n(c.x, _of_old_array(c("theta", 1.0)))
    return op.where(op.greater(c.x, theta), c.x, op.zeros_like(c.x))


def _of_old_array(value) -> float:
    """Returns a number, which old files have as {"type": "ndarray", "value": 0.3}."""
    value = value.get("value") if isinstance(value, dict) else value
    if not isinstance(value, (int, float)):
        raise Refused(f"the slope is {value!r}, not a number")
    return value


def softmax_layer(c: Conversion):
    mask = c.argument("mask", 1)
    if mask is not None and hasattr(mask, "expr"):
        return masked_softmax(c.x, op.cast(mask.expr, "bool"), c("axis", -1))
    return softmax(c.x, c("axis", -1))


def prelu(c: Conversion):
    shared = axes_of(c("shared_axes"), c.rank) if c("shared_axes") else []
    sizes = [1 if axis in shared else None for axis in range(1, c.rank)]
    alpha = c.weight("alpha", sizes)
    negative = op.multiply(op.nn.relu(op.negative(c.x)), alpha)
    return op.subtract(op.nn.relu(c.x), negative)
