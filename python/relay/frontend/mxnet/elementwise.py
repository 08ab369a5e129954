"""Operators of MXNet that work on each element."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from ..shared.expressions import dtype_of, number, shape_of
from ..shared.functions import elu, like, softsign
from ..shared.problems import Refused
from .conversion import Operator


def unary(function):
    return lambda c: function(c.x)


def rint(x: Expr) -> Expr:
    return op.round(x)


def binary(function, as_number: bool = False):
    """Returns the converter of an operator on two tensors. as_number: true for comparisons, whose results are
    numbers."""

    def convert(c: Operator):
        a, b = c.counted(2)
        made = function(a, c.same_type(b))
        return c.as_x(made) if as_number else made

    return convert


def elementwise(function):
    """Returns the converter of an operator on two tensors of one shape."""

    def convert(c: Operator):
        a, b = c.counted(2)
        if len(shape_of(a)) != len(shape_of(b)):
            raise Refused(f"its inputs have the shapes {shape_of(a)} and {shape_of(b)}", "use the broadcast_ form")
        return function(a, b)

    return convert


def scalar(function, is_reversed: bool = False, as_number: bool = False):
    """Returns the converter of an operator on a tensor and a number. is_reversed: true if the number is the first."""

    def convert(c: Operator):
        value = c.real("scalar", 1.0)
        c.ignore("is_int", "reverse")
        other = c.number(value)
        made = function(other, c.x) if is_reversed else function(c.x, other)
        return c.as_x(made) if as_number else made

    return convert


def logical(function):
    def convert(c: Operator):
        made = function(*(op.not_equal(one, number(0, c.dtype)) for one in (c.x, c.same_type(c.input(1)))))
        return c.as_x(made)

    return convert


def logical_not(c: Operator):
    return c.as_x(op.equal(c.x, c.number(0)))


def activation(c: Operator):
    kinds = {
        "relu": op.nn.relu, "sigmoid": op.sigmoid, "tanh": op.tanh, "softrelu": op.nn.softplus, "softsign": softsign,
        "log_sigmoid": lambda x: op.negative(op.nn.softplus(op.negative(x))),
        "mish": lambda x: op.multiply(x, op.tanh(op.nn.softplus(x))),
    }  # fmt: skip
    return kinds[c.text("act_type", among=tuple(kinds))](c.x)


def leaky_relu(c: Operator):
    kind = c.text("act_type", "leaky", ("leaky", "prelu", "elu", "selu", "gelu", "rrelu"))
    slope, low, high = c.real("slope", 0.25), c.real("lower_bound", 0.125), c.real("upper_bound", 0.334)
    if kind == "prelu":
        channels, found = c.size(1, "the channels") if c.rank > 1 else 1, c.input(1)
        count = math.prod(shape_of(found))
        if count not in (1, channels):
            raise Refused(f"it has {count} slopes for {channels} channels", "take the weights of this network")
        gamma = op.reshape(found, [1, count, *[1] * (c.rank - 2)])
        return op.where(op.greater(c.x, c.number(0.0)), c.x, op.multiply(c.x, gamma))
    if kind == "elu":
        return elu(c.x, slope)
    if kind == "selu":
        return elu(c.x, 1.6732632423543772, 1.0507009873554805)
    if kind == "gelu":
        return op.nn.gelu(c.x)
    return op.nn.leaky_relu(c.x, alpha=(low + high) / 2 if kind == "rrelu" else slope)


def hard_sigmoid(c: Operator):
    alpha, beta = c.real("alpha", 0.2), c.real("beta", 0.5)
    return op.clip(op.add(op.multiply(c.x, c.number(alpha)), c.number(beta)), 0.0, 1.0)


def clip(c: Operator):
    return op.clip(c.x, c.real("a_min"), c.real("a_max"))


def smooth_l1(c: Operator):
    """0.5 (s x)^2 for |x| < 1 / s^2, else |x| - 0.5 / s^2."""
    square = c.real("scalar", 1.0) ** 2
    inner = op.multiply(op.multiply(c.x, c.x), c.number(0.5 * square))
    outer = op.subtract(op.abs(c.x), c.number(0.5 / square))
    return op.where(op.less(op.abs(c.x), c.number(1 / square)), inner, outer)


def copy(c: Operator):
    c.ignore(*c.node.attributes)
    return c.x


def dropout(c: Operator):
    c.ignore("p", "axes", "cudnn_off")
    if c.text("mode", "training") != "training":
        raise Refused("it drops values in predictions too", "use mode='training'")
    return c.x


def cast(c: Operator):
    return op.cast(c.x, c.dtype_of_attribute("float32"))


def amp_multicast(c: Operator):
    """All inputs in the widest of their types, or in the narrowest."""
    c.ignore("num_outputs")
    order = ("float16", "bfloat16", "float32", "float64")
    found = sorted({dtype_of(one) for one in c.inputs}, key=lambda one: order.index(one) if one in order else 9)
    kind = found[0] if c.flag("cast_narrow") else found[-1]
    return [op.cast(one, kind) for one in c.inputs]


def add_n(c: Operator):
    c.ignore("num_args")
    made = c.x
    for one in c.inputs[1:]:
        made = op.add(made, one)
    return made


def where(c: Operator):
    condition, a, b = c.counted(3)
    if len(shape_of(condition)) == 1 and len(shape_of(a)) > 1:
        condition = op.reshape(condition, [shape_of(condition)[0], *[1] * (len(shape_of(a)) - 1)])
    return op.where(op.not_equal(condition, number(0, c.dtype)), a, b)


def where_scalar(c: Operator):
    """A tensor where the condition holds, else a number."""
    a = c.input(1)
    return op.where(op.cast(c.x, "bool"), a, like(a, c.real("scalar", 0.0)))


def divide_by_root(c: Operator):
    """x / sqrt(size of the last axis)."""
    return op.divide(c.x, c.number(math.sqrt(c.size(-1, "the last axis"))))


def true_divide(c: Operator):
    x = c.x if c.dtype.startswith(("float", "bfloat")) else op.cast(c.x, "float32")
    c.ignore("is_int")
    return op.divide(x, like(x, c.real("scalar", 1.0)))
