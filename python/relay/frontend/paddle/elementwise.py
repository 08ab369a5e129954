"""Operators of PaddlePaddle that work on each element."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from ..shared import functions
from ..shared.expressions import cast, dtype_of, is_float, shape_of
from ..shared.functions import like
from ..shared.problems import Refused
from .conversion import Operator


def unary(function):
    return lambda c: function(c.x)


def floating(function):
    """Returns the converter of a function of real numbers; whole numbers become float32 first."""
    return lambda c: function(c.x if is_float(c.dtype) else cast(c.x, "float32"))


# --- two operands -----------------------------------------------------------------------------------------------------
def aligned(c: Operator) -> tuple[Expr, Expr]:
    """Returns the operands X and Y. `axis` is the axis of X at which those of Y begin; -1: the last ones."""
    x, y = c["X"], c["Y"]
    axis, rank, other = c.int("axis", -1), len(shape_of(x)), len(shape_of(y))
    c.ignore("fuse_relu")
    if axis != -1 and other < rank and other:
        if not 0 <= axis <= rank - other:
            raise Refused(f"`axis` is {axis} for operands with {rank} and {other} axes")
        y = op.reshape(y, newshape=[*shape_of(y), *[1] * (rank - axis - other)]) if axis + other < rank else y
    return x, y


def binary(function):
    def convert(c: Operator):
        x, y = aligned(c)
        if dtype_of(x) != dtype_of(y):
            y = cast(y, dtype_of(x))
        return function(x, y)

    return convert


def logical(function):
    def convert(c: Operator):
        x, y = aligned(c)
        return function(cast(x, "bool"), cast(y, "bool"))

    return convert


def logical_not(c: Operator):
    return op.logical_not(cast(c.x, "bool"))


def floor_divide(x: Expr, y: Expr) -> Expr:
    return op.floor_divide(x, y)


def divide(x: Expr, y: Expr) -> Expr:
    return op.divide(x, y) if is_float(dtype_of(x)) else op.trunc_divide(x, y)


def extreme(function):
    """A number wins over NaN."""

    def fmax(x: Expr, y: Expr) -> Expr:
        return op.where(op.isnan(x), y, op.where(op.isnan(y), x, function(x, y)))

    return fmax


def heaviside(x: Expr, y: Expr) -> Expr:
    zero = op.equal(x, like(x, 0))
    return op.where(zero, y, cast(op.greater(x, like(x, 0)), dtype_of(x)))


def shift(function):
    def convert(c: Operator):
        c.without_value("is_arithmetic", True)
        return function(*aligned(c))

    return convert


def atan2(c: Operator):
    """The angle of (X, Y), where X is the coordinate along the second axis."""
    y, x = c.every("X1")[0] if c.gives("X1") else c["X"], c["X2"] if c.gives("X2") else c["Y"]
    return functions.atan2(y, x)


def close(x: Expr, y: Expr, relative: float, absolute: float) -> Expr:
    limit = op.add(like(x, absolute), op.multiply(like(x, relative), op.abs(y)))
    return op.less_equal(op.abs(op.subtract(x, y)), limit)


def isclose(c: Operator):
    c.ignore("equal_nan")
    x, y = (c["X"], c["Y"]) if c.gives("X") else (c["Input"], c["Other"])
    made = close(x, y, float(c.value("rtol", 1e-5)), float(c.value("atol", 1e-8)))
    return op.all(made) if c.node.kind == "allclose" else made


def equal_all(c: Operator):
    return op.all(op.equal(*aligned(c)))


def kron(c: Operator):
    x, y = c["X"], c["Y"]
    a, b = shape_of(x), shape_of(y)
    if len(a) != len(b):
        raise Refused(f"its operands have {len(a)} and {len(b)} axes")
    left = op.reshape(x, newshape=[one for size in a for one in (size, 1)])
    right = op.reshape(y, newshape=[one for size in b for one in (1, size)])
    return op.reshape(op.multiply(left, right), newshape=[p * q for p, q in zip(a, b, strict=True)])


def total(c: Operator):
    """The sum of all operands."""
    made = c.every("X")[0]
    for one in c.every("X")[1:]:
        made = op.add(made, one)
    return made


# --- numbers ----------------------------------------------------------------------------------------------------------
def scale(c: Operator):
    """x * scale + bias, or (x + bias) * scale."""
    factor, bias = c.real_of("scale", "ScaleTensor", 1.0), c.real_of("bias", "BiasTensor", 0.0)
    after, x, dtype = c.flag("bias_after_scale", True), c.x, c.dtype
    if not is_float(dtype) and isinstance(factor, float) and not factor.is_integer():
        raise Refused(f"it multiplies whole numbers by {factor}", "cast them to floats first")

    def operand(value) -> Expr:
        if isinstance(value, float):
            return c.number(int(value) if not is_float(dtype) else value)
        return cast(op.reshape(value, newshape=[]), dtype)

    def is_trivial(value, neutral: float) -> bool:
        return isinstance(value, float) and value == neutral

    def multiplied(x: Expr) -> Expr:
        return x if is_trivial(factor, 1.0) else op.multiply(x, operand(factor))

    def added(x: Expr) -> Expr:
        return x if is_trivial(bias, 0.0) else op.add(x, operand(bias))

    return added(multiplied(x)) if after else multiplied(added(x))


def clip(c: Operator):
    low, high = c.real_of("min", "Min", -math.inf), c.real_of("max", "Max", math.inf)
    made = c.x
    if isinstance(low, float) and isinstance(high, float) and is_float(c.dtype):
        return op.clip(made, low, high)
    whole = not is_float(c.dtype)
    for value, function in ((low, op.maximum), (high, op.minimum)):
        if isinstance(value, float):
            if math.isinf(value):
                continue
            made = function(made, c.number(int(value) if whole else value))
        else:
            made = function(made, cast(op.reshape(value, newshape=[]), c.dtype))
    return made


def power(c: Operator):
    factor = c.real_of("factor", "FactorTensor", 1.0)
    if isinstance(factor, float):
        if factor == 2.0:
            return op.multiply(c.x, c.x)
        if factor == 1.0:
            return c.x
        if factor == 0.5 and is_float(c.dtype):
            return op.sqrt(c.x)
        return op.power(c.x, c.number(factor if is_float(c.dtype) else int(factor)))
    return op.power(c.x, cast(op.reshape(factor, newshape=[]), c.dtype))


def cast_(c: Operator):
    c.ignore("in_dtype")
    dtype = c.dtype_named("out_dtype" if c.has("out_dtype") else "dtype")
    c.ignore("dtype")
    if dtype == "bool":
        return op.not_equal(c.x, c.number(0)) if c.dtype != "bool" else c.x
    # C's conversion: towards zero.
    return cast(c.x, dtype)


def increment(c: Operator):
    step = c.real("step", 1.0)
    return op.add(c.x, c.number(step if is_float(c.dtype) else int(step)))


def same(c: Operator):
    c.ignore("dst_place_type", "src_place_type", "axis")
    return c.held(c.first)


def dropout(c: Operator):
    """At inference, the older of two rules scales by the probability that a value is kept."""
    c.ignore("is_test", "seed", "fix_seed", "axis")
    rule = c.text("dropout_implementation", "downgrade_in_infer")
    rate = c.real_of("dropout_prob", "Prob", 0.5)
    if rule == "upscale_in_train":
        return c.x
    if rule != "downgrade_in_infer" or not isinstance(rate, float):
        raise Refused(f"`dropout_implementation` is {rule!r}")
    return op.multiply(c.x, c.number(1.0 - rate))


def isnan(function):
    return lambda c: function(c.x) if is_float(c.dtype) else function(cast(c.x, "float32"))


def round_(c: Operator):
    c.without_value("decimals", 0)
    return op.round(c.x)


def lerp(c: Operator):
    x, y, weight = c["X"], c["Y"], c["Weight"]
    return op.add(x, op.multiply(op.subtract(y, x), weight))


def logit(c: Operator):
    epsilon = c.real("eps", 1e-6)
    x = op.clip(c.x, epsilon, 1 - epsilon) if epsilon > 0 else c.x
    return op.log(op.divide(x, op.subtract(c.number(1.0), x)))


# --- activations ------------------------------------------------------------------------------------------------------
def relu6(c: Operator):
    return op.clip(c.x, 0.0, c.real("threshold", 6.0))


def brelu(c: Operator):
    low = c.real("t_min", c.real("min", 0.0) if c.has("min") else 0.0)
    high = c.real("t_max", c.real("max", 24.0) if c.has("max") else 24.0)
    c.ignore("min", "max")
    return op.clip(c.x, low, high)


def leaky_relu(c: Operator):
    slope = c.real("alpha", c.real("negative_slope", 0.02) if c.has("negative_slope") else 0.02)
    c.ignore("negative_slope")
    return op.nn.leaky_relu(c.x, alpha=slope)


def elu(c: Operator):
    return functions.elu(c.x, c.real("alpha", 1.0))


def celu(c: Operator):
    return functions.celu(c.x, c.real("alpha", 1.0))


def selu(c: Operator):
    return functions.elu(c.x, c.real("alpha", 1.6732632423543772), c.real("scale", 1.0507009873554805))


def gelu(c: Operator):
    return functions.gelu_of_tanh(c.x) if c.flag("approximate", False) else op.nn.gelu(c.x)


def hard_sigmoid(c: Operator):
    slope, offset = c.real("slope", 0.2), c.real("offset", 0.5)
    return op.clip(op.add(op.multiply(c.x, c.number(slope)), c.number(offset)), 0.0, 1.0)


def hard_swish(c: Operator):
    """x * min(max(x + offset, 0), threshold) / scale."""
    limit, scale_, offset = c.real("threshold", 6.0), c.real("scale", 6.0), c.real("offset", 3.0)
    gate = op.clip(op.add(c.x, c.number(offset)), 0.0, limit)
    return op.multiply(op.multiply(c.x, gate), c.number(1 / scale_))


def hard_shrink(c: Operator):
    limit = c.real("threshold", 0.5)
    return op.where(op.greater(op.abs(c.x), c.number(limit)), c.x, op.zeros_like(c.x))


def soft_shrink(c: Operator):
    limit = c.real("lambda", c.real("threshold", 0.5) if c.has("threshold") else 0.5)
    c.ignore("threshold")
    return op.multiply(op.sign(c.x), op.maximum(op.subtract(op.abs(c.x), c.number(limit)), c.number(0.0)))


def softplus(c: Operator):
    beta, limit = c.real("beta", 1.0), c.real("threshold", 20.0)
    scaled = op.multiply(c.x, c.number(beta)) if beta != 1 else c.x
    made = op.nn.softplus(scaled)
    made = op.divide(made, c.number(beta)) if beta != 1 else made
    return op.where(op.greater(scaled, c.number(limit)), c.x, made)


def swish(c: Operator):
    beta = c.real("beta", 1.0)
    gate = op.sigmoid(op.multiply(c.x, c.number(beta)) if beta != 1 else c.x)
    return op.multiply(c.x, gate)


def mish(c: Operator):
    c.ignore("threshold", "lambda")
    return op.multiply(c.x, op.tanh(op.nn.softplus(c.x)))


def soft_relu(c: Operator):
    limit = c.real("threshold", 40.0)
    return op.nn.softplus(op.clip(c.x, -limit, limit))


def tanh_shrink(c: Operator):
    return op.subtract(c.x, op.tanh(c.x))


def thresholded_relu(c: Operator):
    limit, below = c.real("threshold", 1.0), c.real("value", 0.0)
    return op.where(op.greater(c.x, c.number(limit)), c.x, c.number(below))


def stanh(c: Operator):
    inner, outer = c.real("scale_a", 0.67), c.real("scale_b", 1.7159)
    return op.multiply(op.tanh(op.multiply(c.x, c.number(inner))), c.number(outer))


def log_sigmoid(c: Operator):
    return op.negative(op.nn.softplus(op.negative(c.x)))


def prelu(c: Operator):
    """Slopes: a single one, or one for each channel or element."""
    mode, is_first = c.text("mode", "all", ("all", "channel", "element")), c.is_first()
    slope, sizes = c["Alpha"], c.shape
    if mode == "all":
        slope = op.reshape(slope, newshape=[1] * c.rank)
    elif mode == "channel":
        axis = 1 if is_first and c.rank > 1 else c.rank - 1
        slope = op.reshape(slope, newshape=[-1 if at == axis else 1 for at in range(c.rank)])
    else:
        slope = op.reshape(slope, newshape=[1, *sizes[1:]])
    return op.where(op.greater(c.x, c.number(0.0)), c.x, op.multiply(c.x, slope))


def swiglu(c: Operator):
    if c.gives("Y"):
        x, y = c["X"], c["Y"]
    else:
        x, y = op.split(c.x, 2, axis=-1)
    return op.multiply(op.multiply(x, op.sigmoid(x)), y)


def maxout(c: Operator):
    groups, axis = c.count("groups"), c.axis_named("axis", 1)
    size = c.size(axis, "the channels")
    if size % groups:
        raise Refused(f"{size} channels are not divisible by {groups} groups")
    sizes = c.shape
    apart = op.reshape(c.x, newshape=[*sizes[:axis], size // groups, groups, *sizes[axis + 1 :]])
    return op.max(apart, axis=[axis + 1])


def softmax(function):
    def convert(c: Operator):
        if not c.rank:
            return op.ones_like(c.x) if function is op.nn.softmax else op.zeros_like(c.x)
        return function(c.x, axis=c.axis_named("axis", -1))

    return convert


def softmax_with_cross_entropy(c: Operator):
    """The loss has a part in predictions only if the label is an input; most exports read the probabilities."""
    c.ignore("numeric_stable_mode")
    axis = c.axis_named("axis", -1)
    logits, label = c.x, c["Label"]
    if not c.flag("use_softmax", True):
        softmax_, logs = logits, op.log(logits)
    else:
        softmax_, logs = op.nn.softmax(logits, axis=axis), op.nn.log_softmax(logits, axis=axis)
    if c.flag("soft_label", False):
        c.ignore("ignore_index")
        loss = op.negative(op.sum(op.multiply(logs, label), axis=[axis], keepdims=True))
    else:
        ignored = c.int("ignore_index", -100)
        index = label if len(shape_of(label)) == c.rank else op.expand_dims(label, axis=axis)
        is_ignored = op.equal(index, like(index, ignored))
        safe = op.where(is_ignored, op.zeros_like(index), index)
        loss = op.negative(op.gather(logs, axis, safe))  # which refuses labels out of range
        loss = op.where(is_ignored, op.zeros_like(loss), loss)
    return {"Softmax": softmax_, "Loss": loss}
