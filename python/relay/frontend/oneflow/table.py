"""The list of imported operations of OneFlow, with their converters."""

from __future__ import annotations

from ... import op
from ..shared import functions
from . import operators
from .operators import binary, reduction, scalar, unary

_UNARY = {
    "abs": op.abs, "acos": op.acos, "acosh": op.acosh, "asin": op.asin, "asinh": op.asinh, "atan": op.atan,
    "atanh": op.atanh, "ceil": op.ceil, "cos": op.cos, "cosh": op.cosh, "erf": op.erf, "erfc": op.erfc, "exp": op.exp,
    "expm1": op.expm1, "floor": op.floor, "gelu": op.nn.gelu, "log": op.log, "log1p": op.log1p, "mish": operators.mish,
    "negative": op.negative, "quick_gelu": operators.quick_gelu, "reciprocal": functions.reciprocal,
    "reciprocal_no_nan": operators.reciprocal_no_nan, "relu": op.nn.relu, "rint": op.round, "round": op.round,
    "rsqrt": op.rsqrt, "sigmoid": op.sigmoid, "sigmoid_v2": op.sigmoid, "sign": op.sign, "silu": operators.silu,
    "sin": op.sin, "sinh": op.sinh, "softsign": functions.softsign, "sqrt": op.sqrt, "square": operators.square,
    "tan": op.tan, "tanh": op.tanh, "zero_like": op.zeros_like, "ones_like": op.ones_like,
}  # fmt: skip
_BINARY = {
    "add": op.add, "sub": op.subtract, "mul": op.multiply, "div": op.divide, "maximum": op.maximum,
    "minimum": op.minimum, "pow": op.power, "floor_mod": op.floor_mod, "equal": op.equal, "not_equal": op.not_equal,
    "greater": op.greater, "greater_equal": op.greater_equal, "less": op.less, "less_equal": op.less_equal,
}  # fmt: skip
_SCALAR = {
    "add": op.add, "mul": op.multiply, "div": op.divide, "pow": op.power, "fmod": op.trunc_mod,
    "logical_greater": op.greater, "logical_less": op.less, "logical_equal": op.equal,
    "logical_not_equal": op.not_equal,
    "logical_greater_equal": op.greater_equal, "logical_less_equal": op.less_equal,
}  # fmt: skip

OPERATORS = {
    **{name: unary(function) for name, function in _UNARY.items()},
    **{f"broadcast_{name}": binary(function) for name, function in _BINARY.items()},
    "broadcast_logical_and": operators.logical(op.logical_and),
    "broadcast_logical_or": operators.logical(op.logical_or),
    "logical_not": operators.logical(op.logical_not),
    **{f"scalar_{name}": scalar(function) for name, function in _SCALAR.items()},
    **{f"reduce_{name}": reduction(function) for name, function in (
        ("max", op.max), ("mean", op.mean), ("min", op.min), ("prod", op.prod), ("sum", op.sum))},
    **{f"max{name}pool_{rank}d": operators.pool("max", rank) for name in ("", "_") for rank in (1, 2, 3)},
    **{f"avg{name}pool_{rank}d": operators.pool("avg", rank) for name in ("", "_") for rank in (1, 2, 3)},
    "adaptive_avg_pool2d": operators.adaptive("avg"),
    "adaptive_max_pool2d": operators.adaptive("max"),
    "add_n": operators.add_n,
    "add_n2": operators.add_n,
    "batch_matmul": operators.matmul,
    "bias_add": operators.bias_add,
    "broadcast_matmul": operators.matmul,
    "cast": operators.cast_,
    "clip_by_scalar": operators.clip,
    "concat": operators.concat,
    "constant": operators.constant,
    "conv1d": operators.convolution(1),
    "conv2d": operators.convolution(2),
    "conv3d": operators.convolution(3),
    "copy": operators.same,
    "deconv1d": operators.deconvolution(1),
    "deconv2d": operators.deconvolution(2),
    "deconv3d": operators.deconvolution(3),
    "dropout": operators.same,
    "elu": operators.elu,
    "expand": operators.expand,
    "expand_dims": operators.expand_dims,
    "flatten": operators.flatten,
    "gather": operators.gather,
    "hardsigmoid": operators.hard_sigmoid,
    "hardswish": operators.hard_swish,
    "hardtanh": operators.hard_tanh,
    "identity": operators.same,
    "layer_norm": operators.layer_norm,
    "leaky_relu": operators.leaky_relu,
    "log_softmax": operators.softmax(op.nn.log_softmax),
    "matmul": operators.matmul,
    "multiply": binary(op.multiply),
    "normalization": operators.normalization,
    "normalization_infer": operators.normalization,
    "pad": operators.pad,
    "pow": binary(op.power),
    "prelu": operators.prelu,
    "range": operators.arange,
    "reshape": operators.reshape,
    "selu": operators.selu,
    "slice": operators.slice_,
    "softmax": operators.softmax(op.nn.softmax),
    "softplus": operators.softplus,
    "squeeze": operators.squeeze,
    "threshold": operators.threshold,
    "transpose": operators.transpose,
    "unsqueeze": operators.expand_dims,
    "upsample_bilinear_2d": operators.upsample("linear"),
    "upsample_nearest_2d": operators.upsample("nearest_neighbor"),
    "var": operators.variance,
    "where": operators.where,
}  # fmt: skip

# Attributes of any operation that have no effect on the result: its name, and where it runs.
HARMLESS = frozenset({
    "device_name", "device_tag", "hierarchy", "op_name", "op_type_name", "output_lbns", "scope_symbol_id", "nd_sbp",
    "operand_segment_sizes", "result_segment_sizes", "operandSegmentSizes", "resultSegmentSizes", "rate", "trainable",
    "parallel", "stream_name_hint", "ctrl_in_op_names",
})  # fmt: skip
