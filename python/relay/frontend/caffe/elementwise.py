"""Layers of Caffe that work on each element. Formulas and defaults are those of caffe.proto."""

from __future__ import annotations

import math

from ... import op
from ..shared import functions
from ..shared.expressions import axis_of, shape_of
from ..shared.problems import Refused
from .conversion import CaffeLayer


def relu(c: CaffeLayer):
    slope = c.real("negative_slope", 0.0)
    return op.nn.leaky_relu(c.x, alpha=slope) if slope else op.nn.relu(c.x)


def prelu(c: CaffeLayer):
    channels = c.sizes()[1]
    alpha = c.blob(0, [1 if c.flag("channel_shared") else channels], "the slope")
    return op.nn.prelu(c.x, c.constant(alpha.repeat(channels // alpha.size)), axis=1)


def elu(c: CaffeLayer):
    return functions.elu(c.x, c.real("alpha", 1.0))


def bnll(c: CaffeLayer):
    return op.nn.softplus(c.x)


def _affine(c: CaffeLayer, scale: float, shift: float):
    x = op.multiply(c.x, c.number(scale)) if scale != 1 else c.x
    return op.add(x, c.number(shift)) if shift else x


def power(c: CaffeLayer):
    """(shift + scale * x) ^ power."""
    exponent, scale, shift = c.real("power", 1.0), c.real("scale", 1.0), c.real("shift", 0.0)
    x = _affine(c, scale, shift)
    return x if exponent == 1 else op.power(x, c.number(exponent))


def exp(c: CaffeLayer):
    """base ^ (shift + scale * x); base -1 stands for e."""
    base, scale, shift = c.real("base", -1.0), c.real("scale", 1.0), c.real("shift", 0.0)
    if base != -1 and base <= 0:
        raise Refused(f"`base` is {base}, not above zero")
    x = _affine(c, scale, shift)
    return op.exp(x if base == -1 else op.multiply(x, c.number(math.log(base))))


def log(c: CaffeLayer):
    """The logarithm of shift + scale * x; base -1 stands for e."""
    base, scale, shift = c.real("base", -1.0), c.real("scale", 1.0), c.real("shift", 0.0)
    if base != -1 and (base <= 0 or base == 1):
        raise Refused(f"`base` is {base}, not above zero and other than one")
    made = op.log(_affine(c, scale, shift))
    return made if base == -1 else op.multiply(made, c.number(1 / math.log(base)))


def threshold(c: CaffeLayer):
    return op.cast(op.greater(c.x, c.number(c.real("threshold", 0.0))), c.dtype)


def swish(c: CaffeLayer):
    beta = c.real("beta", 1.0)
    return op.multiply(c.x, op.sigmoid(c.x if beta == 1 else op.multiply(c.x, c.number(beta))))


def clip(c: CaffeLayer):
    return op.clip(c.x, c.real("min"), c.real("max"))


def relu6(c: CaffeLayer):
    return op.clip(c.x, 0.0, 6.0)


def identity(c: CaffeLayer):
    """A layer that has an effect in training only."""
    c.ignore(*c.node.attributes)
    return c.x


def softmax(c: CaffeLayer):
    return op.nn.softmax(c.x, axis=c.axis("axis", 1))


def _laid_out(c: CaffeLayer):
    """Returns the second operand of a scale or a bias, over the axes of the first from `axis` on, and its shape."""
    axis = c.axis("axis", 1)
    if len(c.inputs) == 2:
        sizes = shape_of(c.input(1))
        after = c.rank - axis - len(sizes)
        if after < 0:
            raise Refused(f"its second input has {len(sizes)} axes, more than those of the first from axis {axis}")
        return op.reshape(c.input(1), [*sizes, *[1] * after]), sizes, axis
    count = c.int("num_axes", 1)
    sizes = c.sizes()[axis:] if count == -1 else c.sizes()[axis : axis + count]
    given = c.blob(0, sizes, "the weights")
    return c.constant(given.reshape([*sizes, *[1] * (c.rank - axis - len(sizes))])), sizes, axis


def scale(c: CaffeLayer):
    factor, sizes, axis = _laid_out(c)
    made = op.multiply(c.x, factor)
    c.ignore("num_axes")
    if not c.flag("bias_term"):
        return made
    bias = c.blob(1 if len(c.inputs) == 1 else 0, sizes, "the bias")
    return op.add(made, c.constant(bias.reshape([*sizes, *[1] * (c.rank - axis - len(sizes))])))


def bias(c: CaffeLayer):
    added, _, _ = _laid_out(c)
    c.ignore("num_axes")
    return op.add(c.x, added)


def eltwise(c: CaffeLayer):
    c.ignore("stable_prod_grad")
    kind, factors = c.enum("operation", ("PROD", "SUM", "MAX", "MIN"), otherwise="SUM"), c.numbers("coeff")
    if factors and (kind != "SUM" or len(factors) != len(c.inputs)):
        raise Refused(f"it has {len(factors)} `coeff` for {len(c.inputs)} inputs and the operation {kind}")
    parts = list(c.counted(1, 1 << 16))
    if factors:
        parts = [op.multiply(x, c.number(one)) if one != 1 else x for x, one in zip(parts, factors, strict=True)]
    function = {"SUM": op.add, "PROD": op.multiply, "MAX": op.maximum, "MIN": op.minimum}[kind]
    made = parts[0]
    for part in parts[1:]:
        if shape_of(part) != shape_of(made):
            raise Refused(f"its inputs have the shapes {shape_of(made)} and {shape_of(part)}")
        made = function(made, part)
    return made


def argmax(c: CaffeLayer):
    """Positions as floats; with out_max_val the values, or both if no axis is set."""
    count, has_values = c.count("top_k", 1), c.flag("out_max_val")
    if c.has("axis"):
        axis = axis_of(c.int("axis"), c.rank)
        found = op.topk(c.x, k=count, axis=axis, ret_type="both", dtype="int32")
        return found[0] if has_values else op.cast(found[1], c.dtype)
    sizes = c.sizes()
    flat = op.reshape(c.x, [sizes[0], 1, math.prod(sizes[1:])])
    values, places = op.topk(flat, k=count, axis=2, ret_type="both", dtype="int32")
    places = op.cast(places, c.dtype)
    return op.concatenate([places, values], axis=1) if has_values else places
