"""Operations of OneFlow."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Expr
from ..shared import functions
from ..shared import pool as pools
from ..shared.expressions import axes_of, axis_of, cast, dtype_of, is_float, known, shape_of
from ..shared.functions import like
from ..shared.node import NodeConversion
from ..shared.problems import Refused
from ..shared.products import batched
from ..shared.shapes import reshaped
from ..shared.windows import CONVOLUTIONS, TRANSPOSED, to_first, to_last
from .job import ELEMENTS, TYPES

_TYPE_NAMES = {"oneflow.float": "float32", "oneflow.float32": "float32", "oneflow.double": "float64"}


def unary(function):
    return lambda c: function(c.x)


def binary(function):
    def convert(c: NodeConversion):
        a, b = c.counted(2)
        return function(a, cast(b, dtype_of(a)))

    return convert


def logical(function):
    """Returns the converter of an operator on truth values. A number other than 0 is true."""
    return lambda c: function(*(cast(one, "bool") for one in c.inputs))


def add_n(c: NodeConversion):
    made = c.x
    for one in c.inputs[1:]:
        made = op.add(made, one)
    return made


def scalar(function):
    """Returns the converter of an operator on a tensor and a number, which is whole or not."""

    def convert(c: NodeConversion):
        whole, real = c.flag("has_int_operand", False), c.flag("has_float_operand", False)
        value = c.int("int_operand", 0) if whole and not real else c.real("float_operand", 0.0)
        c.ignore("int_operand", "float_operand")
        return function(c.x, c.number(value))

    return convert


def clip(c: NodeConversion):
    if is_float(c.dtype):
        low, high = c.real("floating_min", -math.inf), c.real("floating_max", math.inf)
    else:
        low, high = c.int("integral_min", -(1 << 31)), c.int("integral_max", (1 << 31) - 1)
    c.ignore("floating_min", "floating_max", "integral_min", "integral_max")
    return op.clip(c.x, low, high)


def _type(c: NodeConversion, name: str, otherwise: str) -> str:
    found = c.value(name, otherwise)
    found = TYPES.get(found, found) if isinstance(found, int) else found
    found = _TYPE_NAMES.get(found, ELEMENTS.get(found, found))
    if found not in set(TYPES.values()):
        raise Refused(f"`{name}` is {found!r}, not an element type")
    return found


def cast_(c: NodeConversion):
    c.ignore("pin_memory")
    return cast(c.x, _type(c, "dtype", "float32"))


def same(c: NodeConversion):
    c.ignore(*c.node.attributes)
    return c.x


# --- activations ------------------------------------------------------------------------------------------------------
def leaky_relu(c: NodeConversion):
    return op.nn.leaky_relu(c.x, alpha=c.real("alpha", 0.01))


def elu(c: NodeConversion):
    return functions.elu(c.x, c.real("alpha", 1.0))


def selu(c: NodeConversion):
    return functions.elu(c.x, 1.6732632423543772, 1.0507009873554805)


def hard_sigmoid(c: NodeConversion):
    return op.clip(op.add(op.multiply(c.x, c.number(1 / 6)), c.number(0.5)), 0.0, 1.0)


def hard_swish(c: NodeConversion):
    gate = op.clip(op.add(c.x, c.number(3.0)), 0.0, 6.0)
    return op.multiply(op.multiply(c.x, gate), c.number(1 / 6))


def hard_tanh(c: NodeConversion):
    return op.clip(c.x, c.real("min_val", -1.0), c.real("max_val", 1.0))


def softplus(c: NodeConversion):
    beta, limit = c.real("beta", 1.0), c.real("threshold", 20.0)
    scaled = op.multiply(c.x, c.number(beta))
    made = op.divide(op.nn.softplus(scaled), c.number(beta))
    return op.where(op.greater(scaled, c.number(limit)), c.x, made)


def threshold(c: NodeConversion):
    limit, value = c.real("threshold_val", 0.0), c.real("value", 0.0)
    return op.where(op.greater(c.x, c.number(limit)), c.x, c.number(value))


def prelu(c: NodeConversion):
    c.ignore("requires_grad", "alpha_requires_grad")
    slope = op.reshape(c.input(1), newshape=[1, -1, *[1] * (c.rank - 2)])
    return op.where(op.greater(c.x, c.number(0.0)), c.x, op.multiply(c.x, slope))


def softmax(function):
    return lambda c: function(c.x, axis=-1)


# --- products ---------------------------------------------------------------------------------------------------------
def _is_first(c: NodeConversion) -> bool:
    return c.text("data_format", "channels_first", ("channels_first", "channels_last")) == "channels_first"


def convolution(rank: int):
    def convert(c: NodeConversion):
        is_first, window = _is_first(c), c.ints("kernel_size", count=rank)
        x = c.with_rank(rank + 2)
        x, kernel = (x, c.input(1)) if is_first else (to_first(x), to_first(c.input(1)))
        filters, groups = c.count("filters"), c.count("groups", 1)
        channels = known(shape_of(x)[1], "the kernel")
        wanted = [filters, channels // groups, *window]
        if channels % groups or shape_of(kernel) != wanted:
            raise Refused(
                f"the kernel has the shape {shape_of(kernel)}, not {wanted}", "take the weights of this model"
            )
        c.ignore("tuning_cache")
        made = CONVOLUTIONS[rank](
            x, kernel, strides=c.ints("strides", [1] * rank, rank),
            padding=c.ints("padding_before", [0] * rank, rank) * 2,
            dilation=c.ints("dilation_rate", [1] * rank, rank), groups=groups, channels=filters, kernel_size=window,
        )  # fmt: skip
        if len(c.inputs) > 2:
            made = op.nn.bias_add(made, c.shaped(2, [filters], "the bias"), axis=1)
        return made if is_first else to_last(made)

    return convert


def deconvolution(rank: int):
    def convert(c: NodeConversion):
        if not _is_first(c):
            raise Refused("transposed convolutions with channels last are not imported", "use channels_first")
        window, groups = c.ints("kernel_size", count=rank), c.count("groups", 1)
        share = known(shape_of(c.input(1))[1], "the kernel")
        c.shaped(1, [known(c.shape[1], "the kernel"), c.count("filters") // groups, *window], "the kernel")
        made = TRANSPOSED[rank](
            c.x, c.input(1), strides=c.ints("strides", [1] * rank, rank),
            padding=c.ints("padding_before", [0] * rank, rank) * 2,
            output_padding=c.ints("output_padding", [0] * rank, rank),
            dilation=c.ints("dilation_rate", [1] * rank, rank), groups=groups, channels=share * groups,
            kernel_size=window,
        )  # fmt: skip
        return op.nn.bias_add(made, c.input(2), axis=1) if len(c.inputs) > 2 else made

    return convert


def matmul(c: NodeConversion):
    a, b, factor = c.flag("transpose_a", False), c.flag("transpose_b", False), c.real("alpha", 1.0)
    made = batched(c.x, c.input(1), a, b)
    made = op.multiply(made, c.number(factor)) if factor != 1 else made
    return op.add(made, c.input(2)) if len(c.inputs) > 2 else made


def bias_add(c: NodeConversion):
    return op.nn.bias_add(c.x, c.input(1), axis=c.axis("axis", 1))


# --- normalisation and pools ------------------------------------------------------------------------------------------
def normalization(c: NodeConversion):
    """x, mean, variance, gamma, beta: with the stored mean and variance."""
    c.ignore("momentum", "training")
    axis = c.axis("axis", 1)
    channels = c.size(axis, "the channels")
    names = ("the mean", "the variance", "gamma", "beta")
    mean, variance, gamma, beta = (c.shaped(place, [channels], what) for place, what in enumerate(names, 1))
    made = op.nn.batch_norm(c.x, gamma, beta, mean, variance, axis=axis, epsilon=c.real("epsilon", 1e-5))[0]
    made = op.add(made, c.input(5)) if len(c.inputs) > 5 else made
    return [made, mean, variance]


def layer_norm(c: NodeConversion):
    begin, epsilon = c.axis("begin_norm_axis", -1), c.real("epsilon", 1e-5)
    c.ignore("begin_params_axis", "center", "scale")
    sizes = c.shape
    inner = math.prod(known(one, "a normalised axis") for one in sizes[begin:])
    x = op.reshape(c.x, newshape=[*sizes[:begin], inner])
    if len(c.inputs) == 3:
        beta, gamma = (op.reshape(one, newshape=[inner]) for one in c.inputs[1:])
    else:
        beta, gamma = c.constant(np.zeros(inner), c.dtype), c.constant(np.ones(inner), c.dtype)
    made = op.nn.layer_norm(x, gamma, beta, axis=-1, epsilon=epsilon)
    return op.reshape(made, newshape=sizes)


def pool(kind: str, rank: int):
    def convert(c: NodeConversion):
        c.ignore("return_indices")
        if not _is_first(c):
            raise Refused("pools with channels last are not imported", "use channels_first")
        window = c.ints("kernel_size", count=rank)
        strides, padding = c.ints("stride", window, rank), c.ints("padding", [0] * rank, rank)
        if c.ints("dilation", [1] * rank, rank) != [1] * rank:
            raise Refused("windows with gaps are not imported")
        rounding = "caffe" if c.flag("ceil_mode", False) else "floor"
        if c.int("divisor_override", 0):
            raise Refused("`divisor_override` is not imported")
        counts = "padded" if c.flag("count_include_pad", True) else "inside"
        return pools.pool(c.x, kind, window, strides, padding, padding, rounding, counts)

    return convert


_ADAPTIVE = {"avg": op.nn.adaptive_avg_pool2d, "max": op.nn.adaptive_max_pool2d}


def adaptive(kind: str):
    def convert(c: NodeConversion):
        c.ignore("data_format")
        return _ADAPTIVE[kind](c.with_rank(4), output_size=c.ints("output_size", count=2))

    return convert


# --- reductions -------------------------------------------------------------------------------------------------------
def reduction(function):
    def convert(c: NodeConversion):
        return function(c.x, axis=axes_of(c.ints("axis", []) or None, c.rank), keepdims=c.flag("keepdims", False))

    return convert


def variance(c: NodeConversion):
    axes, keepdims = axes_of(c.ints("dim", []) or None, c.rank), c.flag("keepdim", False)
    c.ignore("dtype")
    return op.variance(c.x, axis=axes, keepdims=keepdims, unbiased=c.flag("unbiased", True))


# --- shapes -----------------------------------------------------------------------------------------------------------
def reshape(c: NodeConversion):
    return reshaped(c.x, c.ints("shape"))


def flatten(c: NodeConversion):
    begin, end, sizes = c.axis("start_dim", 0), c.axis("end_dim", -1), c.shape
    return reshaped(c.x, [*sizes[:begin], -1, *sizes[end + 1 :]])


def transpose(c: NodeConversion):
    return op.transpose(c.x, axes=[axis_of(one, c.rank) for one in c.ints("perm")])


def expand_dims(c: NodeConversion):
    return op.expand_dims(c.x, axis=axis_of(c.int("axis"), c.rank + 1))


def squeeze(c: NodeConversion):
    return op.squeeze(c.x, axis=[axis_of(one, c.rank) for one in c.ints("axes")])


def expand(c: NodeConversion):
    c.ignore("logical_in_shape", "logical_expand_shape", "in_shape", "out_shape", "stride")
    wanted = c.ints("expand_shape" if c.has("expand_shape") else "logical_expand_shape")
    own = [1] * (len(wanted) - c.rank) + list(c.shape)
    return op.broadcast_to(c.x, [b if a == -1 else a for a, b in zip(wanted, own, strict=True)])


def concat(c: NodeConversion):
    c.ignore("max_dim_size")
    return op.concatenate(c.inputs, axis=c.axis("axis", 0)) if len(c.inputs) > 1 else c.x


def slice_(c: NodeConversion):
    begins, ends, steps = (c.ints(name) for name in ("start", "stop", "step"))
    if not len(begins) == len(ends) == len(steps) <= c.rank or any(one < 1 for one in steps):
        raise Refused(f"it slices from {begins} to {ends} by {steps}")
    return op.strided_slice(c.x, begin=begins, end=ends, strides=steps, axes=list(range(len(begins))))


def pad(c: NodeConversion):
    before, after = c.ints("padding_before"), c.ints("padding_after")
    c.ignore("padding", "integral_constant_value", "floating_constant_value")
    pairs = [list(one) for one in zip(before, after, strict=True)]
    real = is_float(c.dtype)
    value = c.real("floating_constant_value", 0.0) if real else float(c.int("integral_constant_value", 0))
    return op.nn.pad(c.x, pad_width=pairs, pad_value=value)


def constant(c: NodeConversion):
    real = c.flag("is_floating_value", True)
    value = c.real("floating_value", 0.0) if real else c.int("integer_value", 0)
    c.ignore("floating_value", "integer_value", "is_complex_value")
    sizes = c.ints("shape", [])
    if any(one < 0 for one in sizes) or math.prod(sizes) > 1 << 28:
        raise Refused(f"the shape {tuple(sizes)} is not allowed")
    return c.constant(np.full(sizes, value), _type(c, "dtype", "float32"))


def arange(c: NodeConversion):
    dtype = _type(c, "dtype", "int64")
    kind = "float" if is_float(dtype) else "integer"
    begin, step, end = (c.real(f"{kind}_{name}") for name in ("start", "delta", "limit"))
    c.ignore(*(f"{kind_}_{name}" for kind_ in ("float", "integer") for name in ("start", "delta", "limit")))
    if not step or abs((end - begin) / step) > 1 << 28:
        raise Refused(f"a range from {begin} to {end} by {step} is not allowed")
    return c.constant(np.arange(begin, end, step), dtype)


def where(c: NodeConversion):
    condition, a, b = c.counted(3)
    return op.where(cast(condition, "bool"), a, b)


def gather(c: NodeConversion):
    if c.int("batch_dims", 0):
        raise Refused(f"`batch_dims` is {c.int('batch_dims')}", "gather along one axis of the whole tensor")
    return op.take(c.x, c.input(1), axis=c.axis("axis", 0), mode="checked")


def upsample(method: str):
    def convert(c: NodeConversion):
        c.ignore("data_format", "interpolation")
        sizes, wanted = [known(one, "it") for one in c.shape[2:]], c.ints("output_size", [])
        scales = [c.real("height_scale", 1.0), c.real("width_scale", 1.0)]
        wanted = wanted or [int(size * scale) for size, scale in zip(sizes, scales, strict=True)]
        corners = c.flag("align_corners", False)
        if method == "nearest_neighbor":
            how = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
        else:
            how = {"coordinate_transformation_mode": "align_corners" if corners else "half_pixel"}
        return op.image.resize2d(c.with_rank(4), size=wanted, method=method, **how)

    return convert


def quick_gelu(x: Expr) -> Expr:
    return op.multiply(x, op.sigmoid(op.multiply(x, like(x, 1.702))))


def reciprocal_no_nan(x: Expr) -> Expr:
    return op.where(op.equal(x, like(x, 0)), like(x, 0), functions.reciprocal(x))


def square(x: Expr) -> Expr:
    return op.multiply(x, x)


def silu(x: Expr) -> Expr:
    return op.multiply(x, op.sigmoid(x))


def mish(x: Expr) -> Expr:
    return op.multiply(x, op.tanh(op.nn.softplus(x)))
