"""Normalisations and pools of PaddlePaddle."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Expr
from ..shared import pool as pools
from ..shared.expressions import bounded, is_known, known, number, shape_of
from ..shared.problems import Refused
from ..shared.windows import spatial, to_first, to_last
from .conversion import Operator
from .linear import each, padding_of


# --- normalisation ----------------------------------------------------------------------------------------------------
def _axis_of_channels(c: Operator, name: str = "data_layout") -> int:
    return 1 if c.is_first(name, "NCHW") or c.rank < 3 else c.rank - 1


def batch_norm(c: Operator):
    """With the stored mean and variance."""
    c.ignore("is_test", "momentum", "use_global_stats", "trainable_statistics", "fuse_with_relu")
    if not c.flag("is_test", True) and not c.flag("use_global_stats", False):
        raise Refused("it normalises by the data themselves, as in training", "export the model with model.eval()")
    axis = _axis_of_channels(c)
    channels = c.size(axis, "the channels")
    mean, variance = c.vector("Mean", channels, "the mean"), c.vector("Variance", channels, "the variance")
    scale = c.vector("Scale", channels, "the scale") if c.gives("Scale") else _filled(c, channels, 1.0)
    bias = c.vector("Bias", channels, "the bias") if c.gives("Bias") else _filled(c, channels, 0.0)
    made = op.nn.batch_norm(c.x, scale, bias, mean, variance, axis=axis, epsilon=c.real("epsilon", 1e-5))
    return {"Y": made[0], "MeanOut": mean, "VarianceOut": variance}


def _filled(c: Operator, size: int, value: float) -> Expr:
    return c.constant(np.full(size, value), c.dtype)


def layer_norm(c: Operator):
    """Over all axes from `begin_norm_axis` on."""
    c.ignore("is_test")
    begin, epsilon = c.axis_named("begin_norm_axis", 1), c.real("epsilon", 1e-5)
    sizes = c.shape
    inner = math.prod(known(one, "a normalised axis") for one in sizes[begin:])
    x = c.x if begin == c.rank - 1 else op.reshape(c.x, newshape=[*sizes[:begin], inner])
    scale = op.reshape(c["Scale"], newshape=[inner]) if c.gives("Scale") else _filled(c, inner, 1.0)
    bias = op.reshape(c["Bias"], newshape=[inner]) if c.gives("Bias") else _filled(c, inner, 0.0)
    made = op.nn.layer_norm(x, scale, bias, axis=-1, epsilon=epsilon)
    return {"Y": made if begin == c.rank - 1 else op.reshape(made, newshape=sizes)}


def rms_norm(c: Operator):
    shape = c.ints("normalized_shape", [c.size(-1, "it")])
    if len(shape) != 1:
        raise Refused(f"it normalises {len(shape)} axes")
    made = op.nn.rms_norm(c.x, c["Scale"], axis=-1, epsilon=c.real("epsilon", 1e-5))
    return {"Y": made}


def group_norm(c: Operator):
    axis, groups = _axis_of_channels(c), c.count("groups", 1)
    channels = c.size(axis, "the channels")
    if channels % groups:
        raise Refused(f"{channels} channels are not divisible by {groups} groups")
    scale = c.vector("Scale", channels, "the scale") if c.gives("Scale") else _filled(c, channels, 1.0)
    bias = c.vector("Bias", channels, "the bias") if c.gives("Bias") else _filled(c, channels, 0.0)
    x = c.x if axis == 1 else to_first(c.x)
    made = op.nn.group_norm(x, scale, bias, num_groups=groups, axis=1, epsilon=c.real("epsilon", 1e-5))
    return {"Y": made if axis == 1 else to_last(made)}


def instance_norm(c: Operator):
    c.without_value("data_format", "NCHW", "NCL", "NCDHW")
    channels = c.size(1, "the channels")
    scale = c.vector("Scale", channels, "the scale") if c.gives("Scale") else _filled(c, channels, 1.0)
    bias = c.vector("Bias", channels, "the bias") if c.gives("Bias") else _filled(c, channels, 0.0)
    return {"Y": op.nn.instance_norm(c.x, scale, bias, axis=1, epsilon=c.real("epsilon", 1e-5))}


def lrn(c: Operator):
    """Paddle's alpha is for each element, not for the window."""
    size, is_first = c.count("n", 5), c.is_first()
    c.ignore("is_test")
    x = c.x if is_first else to_first(c.x)
    made = op.nn.lrn(
        x, size=size, axis=1, bias=c.real("k", 2.0), alpha=c.real("alpha", 1e-4) * size, beta=c.real("beta", 0.75)
    )
    return {"Out": made if is_first else to_last(made)}


def norm(c: Operator):
    """Divides by the root of the sum of squares along an axis."""
    c.ignore("is_test")
    axis, epsilon = c.axis_named("axis", -1), c.real("epsilon", 1e-10)
    length = op.sqrt(op.add(op.sum(op.multiply(c.x, c.x), axis=[axis], keepdims=True), c.number(epsilon)))
    return {"Out": op.divide(c.x, length), "Norm": length}


def affine_channel(c: Operator):
    axis = _axis_of_channels(c)
    shape = [-1 if at == axis else 1 for at in range(c.rank)]
    scaled = op.multiply(c.x, op.reshape(c["Scale"], newshape=shape))
    return op.add(scaled, op.reshape(c["Bias"], newshape=shape))


def spectral_norm(c: Operator):
    """Divides a weight by its largest singular value, which `power_iters` steps estimate."""
    weight, axis, epsilon = c["Weight"], c.int("dim", 0), c.real("eps", 1e-12)
    steps = bounded(c.count("power_iters", 1, 0), 1000, "`power_iters`")
    sizes = shape_of(weight)
    order = [axis, *(at for at in range(len(sizes)) if at != axis)]
    rows = known(sizes[axis], "a weight")
    matrix = op.reshape(op.transpose(weight, axes=order), newshape=[rows, -1])
    u, v = op.reshape(c["U"], newshape=[-1, 1]), op.reshape(c["V"], newshape=[-1, 1])

    def unit(x: Expr) -> Expr:
        return op.divide(x, op.add(op.sqrt(op.sum(op.multiply(x, x))), number(epsilon, "float32")))

    for _ in range(steps):
        v = unit(op.nn.matmul(matrix, u, transpose_a=True))
        u = unit(op.nn.matmul(matrix, v))
    sigma = op.sum(op.multiply(u, op.nn.matmul(matrix, v)))
    return op.divide(weight, sigma)


# --- pools ------------------------------------------------------------------------------------------------------------
def pool(rank: int):
    def convert(c: Operator):
        c.ignore("use_cudnn")
        kind = c.text("pooling_type", "max", ("max", "avg"))
        is_first = c.is_first()
        x = c.with_rank(rank + 2)
        x = x if is_first else to_first(x)
        made = _pool(c, x, kind, rank)
        return made if is_first else to_last(made)

    return convert


_ADAPTIVE = {
    ("avg", 1): op.nn.adaptive_avg_pool1d, ("avg", 2): op.nn.adaptive_avg_pool2d,
    ("avg", 3): op.nn.adaptive_avg_pool3d, ("max", 1): op.nn.adaptive_max_pool1d,
    ("max", 2): op.nn.adaptive_max_pool2d, ("max", 3): op.nn.adaptive_max_pool3d,
}  # fmt: skip


def _pool(c: Operator, x: Expr, kind: str, rank: int) -> Expr:
    window = c.list_of("ksize", "KernelSize")
    window = window * rank if len(window) == 1 else window
    if len(window) != rank:
        raise Refused(f"`ksize` is {window}, not {rank} numbers")
    strides, ceil = each(c, "strides", rank, 1), c.flag("ceil_mode", False)
    exclusive, adaptive = c.flag("exclusive", True), c.flag("adaptive", False)
    sizes = shape_of(x)[2:]
    padding = padding_of(c, sizes, [max(one, 1) for one in window], strides, [1] * rank)
    if c.flag("global_pooling", False) or (adaptive and window == [1] * rank):
        reduce = op.max if kind == "max" else op.mean
        return reduce(x, axis=list(range(2, rank + 2)), keepdims=True)
    if adaptive:
        wanted = [size if one < 0 else one for one, size in zip(window, sizes, strict=True)]
        return _ADAPTIVE[kind, rank](x, output_size=[known(one, "an adaptive pool") for one in wanted])
    if any(not 0 < one <= 1 << 16 for one in window):
        raise Refused(f"`ksize` is {window}")
    return pools.pool(
        x, kind, window, strides, padding[:rank], padding[rank:], "ceil" if ceil else "floor",
        "inside" if exclusive else "all" if not ceil else "padded",
    )  # fmt: skip


def pool_with_index(rank: int):
    """The maxima of windows, and their positions in the image, row by row."""

    def convert(c: Operator):
        c.ignore("data_format")
        x, is_adaptive = c.with_rank(rank + 2), c.flag("adaptive", False)
        sizes = [known(one, "positions of maxima") for one in c.shape[2:]]
        window, strides = each(c, "ksize", rank, 1), each(c, "strides", rank, 1)
        padding = c.ints("paddings", [0] * rank)
        if c.flag("global_pooling", False):
            window, padding, strides = sizes, [0] * rank, [1] * rank
        is_used = any(one in c.importer.used for one in c.operation.outputs.get("Mask", []))
        if is_adaptive and not is_used:
            c.ignore("ceil_mode")
            return {"Out": _ADAPTIVE["max", rank](x, output_size=window)}
        if is_adaptive:
            if any(size % one for size, one in zip(sizes, window, strict=True)):
                raise Refused(f"windows of different sizes: {sizes} into {window}", "use sizes that are multiples")
            strides = [size // one for size, one in zip(sizes, window, strict=True)]
            window, padding = strides, [0] * rank
        c.without_value("ceil_mode", False)
        made = pools.pool(x, "max", window, strides, padding, padding)
        if not is_used:
            return {"Out": made}
        lowest = op.nn.pad(x, pad_width=[[0, 0], [0, 0], *([p, p] for p in padding)], pad_value=-3.4e38)
        columns = op.nn.im2col(lowest, block_shape=window, strides=strides)  # (N, C * K, L)
        count = math.prod(window)
        shape = shape_of(made)
        places = np.arange(math.prod(sizes)).reshape(sizes)
        padded = np.pad(places, [(p, p) for p in padding])
        view = np.lib.stride_tricks.sliding_window_view(padded, window)[tuple(slice(None, None, s) for s in strides)]
        of_windows = view.reshape(-1, count)  # (L, K)
        best = op.argmax(op.reshape(columns, newshape=[shape[0], shape[1], count, -1]), axis=[2])  # (N, C, L)
        begin = c.constant(np.arange(len(of_windows)) * count, "int32")
        flat = op.add(op.cast(best, "int32"), begin)
        index = op.take(c.constant(of_windows.reshape(-1), "int32"), flat, axis=0)
        return {"Out": made, "Mask": op.reshape(index, newshape=shape)}

    return convert


def lp_pool(c: Operator):
    """The root of the sum of powers in windows."""
    is_first, order = c.is_first(), c.real("norm_type", 2.0)
    name = "kernel_size" if c.has("kernel_size") else "ksize"
    x = c.x if is_first else to_first(c.x)
    window, strides = each(c, name, 2, 1), each(c, "strides", 2, 1)
    padding = padding_of(c, spatial(shape_of(x), True), window, strides, [1, 1])
    c.ignore("exclusive", "pooling_type", "global_pooling", "adaptive")
    c.without_value("ceil_mode", False)
    powers = op.power(op.abs(x), number(order, c.dtype))
    made = pools.pool(powers, "avg", window, strides, padding[:2], padding[2:], "floor", "all")
    made = op.power(op.multiply(made, number(float(math.prod(window)), c.dtype)), number(1 / order, c.dtype))
    return made if is_first else to_last(made)


def unpool(c: Operator):
    """Puts maxima back to the positions from which they were taken; the rest is zero."""
    c.ignore("strides", "paddings", "padding", "ksize", "unpooling_type", "unpool_type", "data_format")
    sizes, wanted = c.shape, c.list_of("output_size", "OutputSize", [])
    if not is_known(*sizes) or len(wanted) < 2:
        raise Refused("its sizes are open", "give the sizes of the inputs")
    count, inner = sizes[0] * sizes[1], math.prod(wanted[-2:])
    index = op.reshape(op.cast(c["Indices"], "int32"), newshape=[count, -1])
    zeros = op.zeros([count, inner], dtype=c.dtype)
    made = op.scatter_elements(zeros, index, op.reshape(c.x, newshape=[count, -1]), axis=1)
    return op.reshape(made, newshape=[*sizes[:2], *wanted[-2:]])
