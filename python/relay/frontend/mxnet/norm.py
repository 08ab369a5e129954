"""Pools, normalisations and reductions of MXNet."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from ..shared import pool as pools
from ..shared.expressions import axis_of, dtype_of, known, number, shape_of
from ..shared.problems import Refused
from .conversion import Operator
from .linear import _each, channels_last, to_first, to_last


def pooling(c: Operator):
    c.ignore("cudnn_off")
    kind = c.text("pool_type", "max", ("max", "avg", "sum", "lp"))
    if c.flag("global_pool"):
        c.ignore("kernel", "stride", "pad", "pooling_convention", "count_include_pad", "p_value")
        is_last = channels_last(c, c.rank - 2)
        axes = list(range(1, c.rank - 1)) if is_last else list(range(2, c.rank))
        if kind == "lp":
            return _root(op.sum(_power(c), axis=axes, keepdims=True), c)
        return {"max": op.max, "avg": op.mean, "sum": op.sum}[kind](c.x, axis=axes, keepdims=True)
    window = c.ints("kernel")
    rank = len(window)
    is_last = channels_last(c, rank)
    convention = c.text("pooling_convention", "valid", ("valid", "full", "same"))
    if convention == "same":
        raise Refused("pooling_convention='same' is not imported", "use 'valid' or 'full'")
    strides, padding = _each(c, "stride", rank, 1), _each(c, "pad", rank, 0)
    rounding = "ceil" if convention == "full" else "floor"
    includes_padding = c.flag("count_include_pad", True)
    x = c.x if kind != "lp" else _power(c)
    x = to_first(x) if is_last else x
    if kind in ("sum", "lp"):
        made = pools.pool(x, "avg", window, strides, padding, padding, rounding, "all")
        made = op.multiply(made, c.number(float(math.prod(window))))
        made = _root(made, c) if kind == "lp" else made
    else:
        counts = "padded" if includes_padding else "inside"
        made = pools.pool(x, kind, window, strides, padding, padding, rounding, counts)
    return to_last(made) if is_last else made


def _power(c: Operator) -> Expr:
    return op.power(op.abs(c.x), c.number(float(c.count("p_value", 2, 1, 3))))


def _root(x: Expr, c: Operator) -> Expr:
    return op.power(x, c.number(1 / c.count("p_value", 2, 1, 3)))


def adaptive_avg_pooling(c: Operator):
    size = c.ints("output_size", []) or [1, 1]
    return op.nn.adaptive_avg_pool2d(c.with_rank(4), output_size=size * 2 if len(size) == 1 else size)


def batch_norm(c: Operator):
    """With the stored mean and variance. fix_gamma, which is the default, makes gamma one whatever the file holds."""
    c.ignore("momentum", "use_global_stats", "cudnn_off", "min_calib_range", "max_calib_range", "key", "ndev")
    if c.flag("output_mean_var"):
        raise Refused("the mean and the variance as results are not imported", "use output_mean_var=False")
    axis, is_fixed = c.axis("axis", 1), c.flag("fix_gamma", True)
    channels = c.size(axis, "the channels")
    for place, name in enumerate(("gamma", "beta", "the mean", "the variance"), 1):
        c.shaped(place, [channels], name)
    made = op.nn.batch_norm(*c.counted(5), axis=axis, epsilon=c.real("eps", 1e-3), scale=not is_fixed)
    return [made[0]]


def layer_norm(c: Operator):
    c.ignore("output_mean_var")
    axis, epsilon = c.axis("axis", -1), c.real("eps", 1e-5)
    return op.nn.layer_norm(c.x, c.input(1), c.input(2), axis=axis, epsilon=epsilon)


def instance_norm(c: Operator):
    return op.nn.instance_norm(c.x, c.input(1), c.input(2), axis=1, epsilon=c.real("eps", 1e-3))


def group_norm(c: Operator):
    """gamma and beta have a number for each group, or for each channel in MXNet 2."""
    c.ignore("output_mean_var")
    groups, channels = c.count("num_groups", 1), c.size(1, "the channels")
    if channels % groups:
        raise Refused(f"{channels} channels are not divisible by {groups} groups")
    weights = []
    for place in (1, 2):
        count = known(shape_of(c.input(place))[0], "the weights")
        if count not in (groups, channels):
            raise Refused(f"it has {count} weights for {groups} groups and {channels} channels")
        repeated = op.repeat(c.input(place), channels // count, axis=0) if count != channels else c.input(place)
        weights.append(repeated)
    return op.nn.group_norm(c.x, *weights, num_groups=groups, axis=1, epsilon=c.real("eps", 1e-5))


def l2_normalization(c: Operator):
    mode = c.text("mode", "instance", ("instance", "channel", "spatial"))
    axes = {"instance": list(range(1, c.rank)), "channel": [1], "spatial": list(range(2, c.rank))}[mode]
    squares = op.sum(op.multiply(c.x, c.x), axis=axes, keepdims=True)
    return op.divide(c.x, op.sqrt(op.add(squares, c.number(c.real("eps", 1e-10)))))


def lrn(c: Operator):
    return op.nn.lrn(
        c.x, size=c.count("nsize"), axis=1, bias=c.real("knorm", 2.0), alpha=c.real("alpha", 1e-4),
        beta=c.real("beta", 0.75),
    )  # fmt: skip


# --- softmax ----------------------------------------------------------------------------------------------------------
def softmax(function, sign: float = 1.0):
    def convert(c: Operator):
        if c.flag("use_length") or len(c.inputs) > 1:
            raise Refused("lengths of sequences are not imported", "use SequenceMask before softmax")
        axis, temperature = c.axis("axis", -1), c.real("temperature", 1.0)
        factor = sign / temperature
        x = op.multiply(c.x, c.number(factor)) if factor != 1 else c.x
        made = function(x, axis=axis)
        return op.cast(made, c.dtype_of_attribute("float32")) if c.has("dtype") else made

    return convert


def softmax_activation(c: Operator):
    if c.text("mode", "instance", ("instance", "channel")) == "channel":
        return op.nn.softmax(c.x, axis=1)
    return _flat_softmax(c)


def _flat_softmax(c: Operator) -> Expr:
    if c.rank == 2:
        return op.nn.softmax(c.x, axis=1)
    return op.reshape(op.nn.softmax(op.nn.batch_flatten(c.x), axis=1), c.shape)


def softmax_output(c: Operator):
    """The label and the options of its gradient have no effect on predictions."""
    c.ignore("grad_scale", "ignore_label", "use_ignore", "normalization", "out_grad", "smooth_alpha")
    if c.flag("multi_output"):
        c.ignore("preserve_shape")
        return op.nn.softmax(c.x, axis=1)
    return op.nn.softmax(c.x, axis=-1) if c.flag("preserve_shape") else _flat_softmax(c)


def output_of(function):
    """Returns the converter of an output with a loss, which is its activation."""

    def convert(c: Operator):
        c.ignore(*c.node.attributes)
        return function(c.x)

    return convert


# --- reductions -------------------------------------------------------------------------------------------------------
def reduction(function):
    def convert(c: Operator):
        c.ignore("safe_accumulation", "dtype")
        axes, keepdims = c.reduced(), c.flag("keepdims")
        made = function(c.x, axis=axes, keepdims=keepdims) if axes else c.x
        # MXNet's arrays have one axis at least.
        return op.reshape(made, [1]) if not shape_of(made) and not c.node.kind.startswith("_n") else made

    return convert


def nan_sum(x, axis, keepdims):
    zeros = op.where(op.isnan(x), number(0, dtype_of(x)), x)
    return op.sum(zeros, axis=axis, keepdims=keepdims)


def nan_prod(x, axis, keepdims):
    ones = op.where(op.isnan(x), number(1, dtype_of(x)), x)
    return op.prod(ones, axis=axis, keepdims=keepdims)


def norm(c: Operator):
    c.ignore("out_dtype")
    order, keepdims, axes = c.int("ord", 2), c.flag("keepdims"), c.axes("axis")
    if order == 2:
        made = op.sqrt(op.sum(op.multiply(c.x, c.x), axis=axes, keepdims=keepdims))
    elif order == 1:
        made = op.sum(op.abs(c.x), axis=axes, keepdims=keepdims)
    else:
        raise Refused(f"`ord` is {order}, not 1 or 2")
    return made if shape_of(made) else op.reshape(made, [1])


def arg(function):
    """Returns the converter of positions of extremes, as floats."""

    def convert(c: Operator):
        keepdims = c.flag("keepdims")
        if not c.has("axis"):
            flat = function(op.reshape(c.x, [-1]), axis=[0], keepdims=False)
            shape = [1] * c.rank if keepdims else [1]
            return op.reshape(op.cast(flat, "float32"), shape)
        made = op.cast(function(c.x, axis=[c.axis("axis")], keepdims=keepdims), "float32")
        return made if shape_of(made) else op.reshape(made, [1])

    return convert


def argmax_channel(c: Operator):
    return op.cast(op.argmax(c.x, axis=[axis_of(1, c.rank)]), c.dtype)


def moments(c: Operator):
    axes, keepdims = c.axes("axes"), c.flag("keepdims")
    mean = op.mean(c.x, axis=axes, keepdims=True)
    centred = op.subtract(c.x, mean)
    variance = op.mean(op.multiply(centred, centred), axis=axes, keepdims=keepdims)
    return [mean if keepdims else op.squeeze(mean, axis=axes), variance]
