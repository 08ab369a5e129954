"""Operators of Caffe2. Defaults of arguments are those of its operator schemas."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Expr
from ..shared import functions
from ..shared import pool as pools
from ..shared.expressions import axis_of, known, shape_of
from ..shared.problems import Refused
from ..shared.windows import CONVOLUTIONS, TRANSPOSED
from .conversion import CAFFE, Operator

TYPES = {1: "float32", 2: "int32", 5: "bool", 6: "uint8", 7: "int8", 8: "uint16", 9: "int16", 10: "int64",
    12: "float16",
         13: "float64"}  # fmt: skip


# --- constants --------------------------------------------------------------------------------------------------------
def given(dtype: str):
    """Returns the converter of tensors whose elements are an argument."""

    def convert(c: Operator):
        shape, values = c.ints("shape", []), c.value("values", [])
        found = np.asarray(values)
        if found.dtype.kind not in "fiub" or math.prod(shape) != found.size:
            raise Refused(f"it has {found.size} values for the shape {tuple(shape)}", "write the network again")
        return c.constant(found.astype(dtype).reshape(shape))

    return convert


def given_bytes(c: Operator):
    """uint8 elements as one text."""
    shape, values = c.ints("shape", []), c.value("values", [])
    content = b"".join(values) if isinstance(values, list) else bytes(values)
    if math.prod(shape) != len(content):
        raise Refused(f"it has {len(content)} values for the shape {tuple(shape)}", "write the network again")
    return c.constant(np.frombuffer(content, np.uint8).reshape(shape))


def constant_fill(c: Operator):
    if c.inputs:
        c.ignore("shape", "extra_shape")
        if c.flag("input_as_shape"):
            shape = [int(one) for one in c.array(0, "the shape of a filled tensor")]
        else:
            shape = [known(one, "a filled tensor") for one in c.shape]
        shape += c.ints("extra_shape", [])
    else:
        shape = c.ints("shape", [])
    kind = c.int("dtype", 1)
    if kind not in TYPES:
        raise Refused(f"elements of the type {kind} are not imported")
    if math.prod(shape) > 1 << 28 or any(one < 0 for one in shape):
        raise Refused(f"the shape {tuple(shape)} is too large")
    return c.constant(np.full(shape, c.real("value", 0.0), TYPES[kind]))


# --- convolutions, products -------------------------------------------------------------------------------------------
def _kernel(c: Operator, rank: int) -> Expr:
    """Returns the kernel with its channels in front of its window."""
    kernel = c.input(1)
    if len(shape_of(kernel)) != rank + 2:
        raise Refused(f"its kernel has {len(shape_of(kernel))} axes, not {rank + 2}")
    return op.transpose(kernel, axes=[0, rank + 1, *range(1, rank + 1)]) if c.channels_last else kernel


def conv(c: Operator):
    c.counted(2, 3)
    x, rank = c.image(), c.rank - 2
    kernel = _kernel(c, rank)
    sizes = [known(one, "the kernel") for one in shape_of(kernel)]
    window = c.each("kernel", rank, 0, 0)
    if window != sizes[2:]:
        raise Refused(f"`kernel` is {window}, and the weights have {sizes[2:]}", "take the weights of this network")
    strides, dilation, groups = c.each("stride", rank, 1), c.each("dilation", rank, 1), c.count("group", 1)
    before, after = c.padding(window, strides, dilation)
    made = CONVOLUTIONS[rank](
        x, kernel, strides=strides, padding=[*before, *after], dilation=dilation, groups=groups, channels=sizes[0],
        kernel_size=window,
    )  # fmt: skip
    return c.as_given(op.nn.bias_add(made, c.shaped(2, [sizes[0]], "the bias")) if len(c.inputs) == 3 else made)


def conv_transpose(c: Operator):
    c.counted(2, 3)
    x, rank = c.image(), c.rank - 2
    kernel = _kernel(c, rank)
    sizes = [known(one, "the kernel") for one in shape_of(kernel)]
    window, strides = c.each("kernel", rank, 0, 0), c.each("stride", rank, 1)
    if window != sizes[2:]:
        raise Refused(f"`kernel` is {window}, and the weights have {sizes[2:]}", "take the weights of this network")
    groups, adj = c.count("group", 1), c.each("adj", rank, 0, 0)
    before, after = c.padding(window, strides, [1] * rank)
    made = TRANSPOSED[rank](
        x, kernel, strides=strides, padding=[*before, *after], groups=groups, channels=sizes[1] * groups,
        kernel_size=window, output_padding=adj,
    )  # fmt: skip
    return c.as_given(op.nn.bias_add(made, c.input(2)) if len(c.inputs) == 3 else made)


def fc(is_transposed: bool):
    def convert(c: Operator):
        c.counted(3)
        axis, axis_w = c.axis("axis", 1), c.int("axis_w", 1)
        matrix = [known(one, "the matrix") for one in shape_of(c.input(1))]
        rows = [math.prod(matrix[:axis_w]), math.prod(matrix[axis_w:])]
        weights = op.reshape(c.input(1), rows)
        weights, rows = (op.transpose(weights, axes=[1, 0]), rows[::-1]) if is_transposed else (weights, rows)
        inputs = math.prod(known(one, "a product") for one in c.shape[axis:])
        if inputs != rows[1]:
            raise Refused(f"{inputs} inputs and a matrix for {rows[1]} do not fit", "take the weights of this network")
        outer = c.shape[:axis]
        flat = op.reshape(c.x, [-1 if len(outer) != 1 else outer[0], inputs])
        made = op.add(op.nn.dense(flat, weights, units=rows[0]), c.shaped(2, [rows[0]], "the bias"))
        return op.reshape(made, [*outer, rows[0]])

    return convert


def mat_mul(c: Operator):
    a, b = c.counted(2)
    c.ignore("axis_a", "axis_b")
    if c.int("axis_a", 1) != 1 or c.int("axis_b", 1) != 1:
        raise Refused("`axis_a` and `axis_b` other than 1 are not imported", "reshape before it")
    return op.nn.matmul(a, b, transpose_a=c.flag("trans_a"), transpose_b=c.flag("trans_b"))


def batch_mat_mul(c: Operator):
    a, b = c.counted(2)
    c.ignore("broadcast")
    if len(shape_of(a)) < 3 and len(shape_of(b)) < 3:
        return op.nn.matmul(a, b, transpose_a=c.flag("trans_a"), transpose_b=c.flag("trans_b"))
    shapes = [shape_of(a), shape_of(b)]
    if len(shapes[0]) != len(shapes[1]) or shapes[0][:-2] != shapes[1][:-2]:
        raise Refused(f"its inputs have the shapes {shapes[0]} and {shapes[1]}", "give both the same leading sizes")
    flat = [op.reshape(one, [math.prod(known(n, "it") for n in shape[:-2]), *shape[-2:]])
            for one, shape in zip((a, b), shapes, strict=True)]  # fmt: skip
    made = op.nn.batch_matmul(*flat, transpose_a=c.flag("trans_a"), transpose_b=c.flag("trans_b"))
    return op.reshape(made, [*shapes[0][:-2], *shape_of(made)[-2:]])


# --- pools and normalisations -----------------------------------------------------------------------------------------
def pooling(kind: str):
    def convert(c: Operator):
        x, rank = c.image(), c.rank - 2
        if c.flag("global_pooling"):
            c.ignore("kernel", "stride", "pad", "legacy_pad")
            reduce = op.max if kind == "max" else op.mean
            return c.as_given(reduce(x, axis=list(range(2, c.rank)), keepdims=True))
        window, strides = c.each("kernel", rank, 0), c.each("stride", rank, 1)
        dilation = c.each("dilation", rank, 1)
        if dilation != [1] * rank:
            raise Refused("dilated pools are not imported", "use dilation 1")
        before, after = c.padding(window, strides, dilation)
        counts = "padded" if c.flag("count_include_pad") else "inside"
        rounding = "caffe" if c.int("legacy_pad", 0) == CAFFE else "floor"
        return c.as_given(pools.pool(x, kind, window, strides, before, after, rounding, counts))

    return convert


def spatial_bn(c: Operator):
    c.counted(5)
    c.ignore("momentum", "num_batches")
    if not c.flag("is_test"):
        raise Refused("it is in the form for training: `is_test` is 0", "export the network for predictions")
    channels = c.image()
    made = op.nn.batch_norm(channels, *c.inputs[1:5], axis=1, epsilon=c.real("epsilon", 1e-5))[0]
    return c.as_given(made)


def instance_norm(c: Operator):
    c.counted(3)
    made = op.nn.instance_norm(c.image(), c.input(1), c.input(2), axis=1, epsilon=c.real("epsilon", 1e-5))
    return c.as_given(made)


def group_norm(c: Operator):
    c.counted(3)
    made = op.nn.group_norm(
        c.image(), c.input(1), c.input(2), num_groups=c.count("group", 32), axis=1, epsilon=c.real("epsilon", 1e-5)
    )
    return c.as_given(made)


def lrn(c: Operator):
    size, alpha, beta, bias = c.count("size", 0), c.real("alpha", 0.0), c.real("beta", 0.0), c.real("bias", 1.0)
    return c.as_given(op.nn.lrn(c.image(), size=size, axis=1, bias=bias, alpha=alpha, beta=beta))


def normalize_planar_yuv(c: Operator):
    """(x - mean) / deviation for each channel of planar images."""
    c.counted(3)
    channels = c.size(1, "the channels")
    mean, deviation = (op.reshape(one, [1, channels, 1, 1]) for one in c.inputs[1:])
    return op.divide(op.subtract(c.with_rank(4), mean), deviation)


def softmax(c: Operator):
    """Over all axes from `axis` on together."""
    axis, sizes = c.axis("axis", 1), c.shape
    if axis == c.rank - 1:
        return op.nn.softmax(c.x, axis=axis)
    rest = math.prod(known(one, "a softmax") for one in sizes[axis:])
    return op.reshape(op.nn.softmax(op.reshape(c.x, [*sizes[:axis], rest]), axis=axis), sizes)


# --- elementwise ------------------------------------------------------------------------------------------------------
def binary(function):
    """Returns the converter of an operator on two tensors, with NumPy's broadcasting or Caffe2's older one."""

    def convert(c: Operator):
        a, b = c.counted(2)
        if c.flag("broadcast"):
            have, small = len(shape_of(a)), shape_of(b)
            axis = c.int("axis", -1)
            axis = have - len(small) if axis == -1 else axis
            if not 0 <= axis <= have - len(small):
                raise Refused(f"`axis` is {axis} for {have} and {len(small)} axes")
            b = op.reshape(b, [*small, *[1] * (have - axis - len(small))])
        elif c.has("axis") and c.int("axis", -1) != -1:
            raise Refused("`axis` is set without `broadcast`")
        return function(a, b)

    return convert


def unary(function):
    return lambda c: function(c.x)


def sum_(function):
    def convert(c: Operator):
        made = c.x
        for one in c.inputs[1:]:
            made = function(made, one)
        return made

    return convert


def mean(c: Operator):
    return op.divide(sum_(op.add)(c), c.number(float(len(c.inputs))))


def leaky_relu(c: Operator):
    return op.nn.leaky_relu(c.x, alpha=c.real("alpha", 0.01))


def prelu(c: Operator):
    channels = c.size(3 if c.channels_last else 1, "the channels")
    slope = c.array(1, "the slope")
    if slope.size not in (1, channels):
        raise Refused(f"it has {slope.size} slopes for {channels} channels", "take the weights of this network")
    return c.as_given(op.nn.prelu(c.image(), c.constant(slope.reshape(-1).repeat(channels // slope.size)), axis=1))


def elu(c: Operator):
    return functions.elu(c.x, c.real("alpha", 1.0))


def clip(c: Operator):
    return op.clip(c.x, c.real("min", -3.4028234663852886e38), c.real("max", 3.4028234663852886e38))


def dropout(c: Operator):
    c.ignore("ratio")
    if not c.flag("is_test"):
        raise Refused("it is in the form for training: `is_test` is 0", "export the network for predictions")
    return [c.x, op.ones_like(c.x)]


def copy(c: Operator):
    c.ignore(*c.node.attributes)
    return c.x


def cast(c: Operator):
    kind = c.value("to", 1)
    words = {"FLOAT": 1, "INT32": 2, "BOOL": 5, "UINT8": 6, "INT8": 7, "INT64": 10, "FLOAT16": 12, "DOUBLE": 13}
    kind = words.get(kind.decode("utf-8", "replace").upper(), -1) if isinstance(kind, bytes) else kind
    c.ignore("from_type")
    if kind not in TYPES:
        raise Refused(f"elements of the type {kind!r} are not imported")
    return op.cast(c.x, TYPES[kind])


# --- shapes -----------------------------------------------------------------------------------------------------------
def concat(c: Operator):
    """The tensors one after another, and the size of each."""
    rank = c.rank
    if c.has("axis"):
        axis = axis_of(c.int("axis"), rank + c.int("add_axis", 0))
        c.ignore("order")
    else:
        axis = rank - 1 if c.channels_last else 1
    if c.flag("add_axis"):
        made, counts = op.stack(c.inputs, axis=axis), [1] * len(c.inputs)
    else:
        made = op.concatenate(c.inputs, axis=axis)
        counts = [known(shape_of(one)[axis], "the sizes of its inputs") for one in c.inputs]
    return [made, c.constant(np.array(counts, np.int32))]


def split(c: Operator):
    axis = axis_of(c.int("axis") if c.has("axis") else (c.rank - 1 if c.channels_last else 1), c.rank)
    count, size = len(c.node.outputs), c.size(axis, "a split axis")
    parts = c.ints("split", []) or (
        [int(one) for one in c.array(1, "the sizes of its parts")] if len(c.inputs) > 1 else []
    )
    if not parts:
        if size % count:
            raise Refused(f"an axis of {size} has no {count} equal parts")
        parts = [size // count] * count
    if len(parts) != count or sum(parts) != size or min(parts) < 0:
        raise Refused(f"the parts {parts} are not {count} parts of an axis of {size}")
    return list(op.split(c.x, [sum(parts[:place]) for place in range(1, count)], axis=axis)) if count > 1 else c.x


def reshape(c: Operator):
    shape = c.ints("shape") if c.has("shape") else [int(one) for one in c.array(1, "the new shape")]
    if any(one < -1 for one in shape):
        raise Refused(f"`shape` is {shape}")
    sizes = c.shape
    if any(one == 0 and place >= len(sizes) for place, one in enumerate(shape)):
        raise Refused(f"`shape` {shape} copies a size that its input {sizes} lacks")
    old = [known(one, "a reshape") for one in sizes]
    return [op.reshape(c.x, [sizes[at] if one == 0 else one for at, one in enumerate(shape)]),
            c.constant(np.array(old, np.int64))]  # fmt: skip


def flatten(c: Operator):
    axis = c.int("axis", 1)
    sizes = c.shape
    if not 0 <= axis <= len(sizes):
        raise Refused(f"`axis` is {axis} for {len(sizes)} axes")
    if axis == 1:
        return op.nn.batch_flatten(c.x)
    old = [known(one, "a flattened axis") for one in sizes]
    return op.reshape(c.x, [math.prod(old[:axis]), math.prod(old[axis:])])


def transpose(c: Operator):
    return op.transpose(c.x, axes=c.ints("axes", []) or list(range(c.rank))[::-1])


def squeeze(c: Operator):
    return op.squeeze(c.x, axis=[axis_of(one, c.rank) for one in c.ints("dims")])


def expand_dims(c: Operator):
    made = c.x
    for axis in sorted(c.ints("dims")):
        made = op.expand_dims(made, axis=axis)
    return made


def slice_(c: Operator):
    begins = c.ints("starts") if c.has("starts") else [int(one) for one in c.array(1, "the starts")]
    ends = c.ints("ends") if c.has("ends") else [int(one) for one in c.array(2, "the ends")]
    if len(begins) != len(ends) or len(begins) > c.rank:
        raise Refused(f"it has {len(begins)} starts and {len(ends)} ends for {c.rank} axes")
    sizes = [known(one, "a slice") for one in c.shape[: len(begins)]]
    # -1 is the end itself, -2 the element before it.
    ends = [n + one + 1 if one < 0 else min(one, n) for one, n in zip(ends, sizes, strict=True)]
    begins = [n + one + 1 if one < 0 else one for one, n in zip(begins, sizes, strict=True)]
    return op.strided_slice(c.x, begin=begins, end=ends, axes=list(range(len(begins))))


def channel_shuffle(c: Operator):
    c.ignore("kernel")
    groups, channels = c.count("group", 1), c.size(3 if c.channels_last else 1, "the channels")
    if channels % groups:
        raise Refused(f"{channels} channels are not divisible by {groups} groups")
    x = c.image()
    sizes = shape_of(x)
    made = op.transpose(op.reshape(x, [sizes[0], groups, channels // groups, *sizes[2:]]), axes=[0, 2, 1, 3, 4])
    return c.as_given(op.reshape(made, sizes))


def resize_nearest(c: Operator):
    high, wide = c.real("height_scale", 1.0), c.real("width_scale", 1.0)
    sizes = [int(one * scale) for one, scale in zip(c.sizes(), (high, wide), strict=True)]
    if min(sizes) < 1 or max(sizes) > 1 << 20:
        raise Refused(f"its result would have the size {sizes}")
    x = c.image()
    # Pixel i comes from pixel floor(i / scale).
    for axis, (scale, count, old) in enumerate(zip((high, wide), sizes, c.sizes(), strict=True)):
        places = np.minimum(np.floor(np.arange(count, dtype=np.float32) / np.float32(scale)), old - 1)
        x = op.take(x, c.constant(places.astype(np.int32)), axis=2 + axis)
    return c.as_given(x)


def reduction(function):
    def convert(c: Operator):
        return function(c.x, axis=c.axes("axes"), keepdims=c.flag("keepdims", True))

    return convert


def roi_align(c: Operator):
    c.counted(2)
    if c.channels_last or c.flag("aligned"):
        raise Refused("only order NCHW without `aligned` is imported")
    size = [c.count("pooled_h", 1), c.count("pooled_w", 1)]
    rois = c.input(1)
    if shape_of(rois)[1] == 4:
        raise Refused("regions without the number of their image are not imported", "give rows of five numbers")
    return op.vision.roi_align(
        c.x,
        rois,
        pooled_size=size,
        spatial_scale=c.real("spatial_scale", 1.0),
        sample_ratio=c.int("sampling_ratio", -1),
    )
