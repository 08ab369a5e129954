"""The table of imported ATen operators, with their converters. The decomposition keeps these operators whole."""

from __future__ import annotations

import threading

import torch

from ... import op
from . import (
    bits,
    complexes,
    conv,
    create,
    elementwise,
    fourier,
    index,
    linear,
    norm,
    pool,
    quantized,
    recurrent,
    reduce,
    scatter,
    shape,
    vision,
)

_UNARY = {
    name: elementwise.unary(getattr(op, name))
    for name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp",
                 "expm1", "log", "log10", "log1p", "log2", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh")
}  # fmt: skip
_ROUNDING = {name: elementwise.same_if_integer(getattr(op, name)) for name in ("ceil", "floor", "round", "trunc")}
_COMPARE = {
    f"{name}.{form}": elementwise.compare(function)
    for name, function in {"eq": op.equal, "ne": op.not_equal, "lt": op.less, "le": op.less_equal, "gt": op.greater,
                           "ge": op.greater_equal}.items()
    for form in ("Tensor", "Scalar")
}  # fmt: skip
_BITWISE = {
    f"bitwise_{name}.{form}": elementwise.binary(getattr(op, f"bitwise_{name}"), getattr(op, f"logical_{name}"))
    for name in ("and", "or", "xor")
    for form in ("Tensor", "Scalar")
}
_LOGICAL = {f"logical_{name}": elementwise.logical(getattr(op, f"logical_{name}")) for name in ("and", "or", "xor")}
_SHIFTS = {
    f"{name}.{form}": elementwise.shift(function)
    for function, names in ((op.left_shift, ("__lshift__", "bitwise_left_shift")),
                            (op.right_shift, ("__rshift__", "bitwise_right_shift")))
    for name in names
    for form in ("Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor")
}  # fmt: skip
_SAME = dict.fromkeys(
    ("clone", "alias", "detach", "detach_", "contiguous", "lift_fresh_copy", "identity"), elementwise.same
)
_RESHAPE = dict.fromkeys(
    (
        "view",
        "_unsafe_view",
        "reshape",
        "flatten.using_ints",
        "unflatten.int",
        "squeeze",
        "squeeze.dim",
        "squeeze.dims",
        "view_copy",
    ),
    shape.reshape,
)
_CONVOLUTIONS = dict.fromkeys(
    ("convolution", "conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding",
     "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "_convolution", "_convolution.deprecated"),
    conv.convolution,
)  # fmt: skip

# Held by an import, because converters that are registered for one import (converters.py) must not be seen by another.
LOCK = threading.RLock()

# By name, with the overload unless it is `default`.
OPERATORS = {
    **_UNARY, **_ROUNDING, **_COMPARE, **_BITWISE, **_LOGICAL, **_SHIFTS, **_SAME, **_RESHAPE, **_CONVOLUTIONS,
    "neg": elementwise.unary(op.negative), "_neg_view": elementwise.unary(op.negative),
    "sign": elementwise.sign,
    "relu": elementwise.unary(op.nn.relu),
    "isnan": elementwise.test_of_floats(op.isnan, False),
    "isinf": elementwise.test_of_floats(op.isinf, False),
    "isfinite": elementwise.test_of_floats(op.isfinite, True),
    "add.Tensor": elementwise.add, "add.Scalar": elementwise.add,
    "sub.Tensor": elementwise.sub, "sub.Scalar": elementwise.sub,
    "rsub.Tensor": elementwise.rsub, "rsub.Scalar": elementwise.rsub,
    "mul.Tensor": elementwise.scaled(op.multiply, op.logical_and),
    "mul.Scalar": elementwise.scaled(op.multiply, op.logical_and),
    "div.Tensor": elementwise.scaled(op.divide), "div.Scalar": elementwise.scaled(op.divide),
    "true_divide.Tensor": elementwise.scaled(op.divide), "true_divide.Scalar": elementwise.scaled(op.divide),
    "div.Tensor_mode": elementwise.div_mode, "div.Scalar_mode": elementwise.div_mode,
    "floor_divide": elementwise.scaled(op.floor_divide),
    "remainder.Tensor": elementwise.binary(op.floor_mod), "remainder.Scalar": elementwise.binary(op.floor_mod),
    "fmod.Tensor": elementwise.binary(op.trunc_mod), "fmod.Scalar": elementwise.binary(op.trunc_mod),
    "maximum": elementwise.binary(op.maximum, op.logical_or),
    "minimum": elementwise.binary(op.minimum, op.logical_and),
    "pow.Tensor_Scalar": elementwise.pow, "pow.Tensor_Tensor": elementwise.pow, "pow.Scalar": elementwise.pow,
    "reciprocal": elementwise.reciprocal,
    "logical_not": elementwise.logical_not, "bitwise_not": elementwise.bitwise_not,
    "clamp": elementwise.clamp, "clamp.Tensor": elementwise.clamp,
    "hardtanh": elementwise.hardtanh, "relu6": elementwise.relu6, "leaky_relu": elementwise.leaky_relu,
    "elu": elementwise.elu, "silu": elementwise.silu, "hardsigmoid": elementwise.hardsigmoid,
    "hardswish": elementwise.hardswish, "gelu": elementwise.gelu,
    "where.self": elementwise.where,
    "masked_fill.Scalar": elementwise.masked_fill, "masked_fill.Tensor": elementwise.masked_fill,
    "_to_copy": elementwise.to_dtype, "to.dtype": elementwise.to_dtype,
    "prims::convert_element_type": elementwise.convert_element_type, "prims::fma": elementwise.fma,
    "dropout": elementwise.dropout, "native_dropout": elementwise.native_dropout,
    "atan2": elementwise.atan2, "round.decimals": elementwise.round_decimals,
    "signbit": elementwise.signbit, "hypot": elementwise.hypot, "exp2": elementwise.exp2,
        "ldexp.Tensor": elementwise.ldexp,
    "copysign.Tensor": elementwise.copysign, "copysign.Scalar": elementwise.copysign,
    "fmax": elementwise.without_nan(op.maximum), "fmin": elementwise.without_nan(op.minimum),
    "sum": reduce.reduce(op.sum), "sum.dim_IntList": reduce.reduce(op.sum),
    "mean": reduce.reduce(op.mean), "mean.dim": reduce.reduce(op.mean),
    "prod": reduce.reduce(op.prod), "prod.dim_int": reduce.reduce(op.prod),
    "amax": reduce.extreme(op.max), "amin": reduce.extreme(op.min),
    "max": reduce.extreme(op.max), "min": reduce.extreme(op.min),
    "max.dim": reduce.value_and_place(op.max, op.argmax), "min.dim": reduce.value_and_place(op.min, op.argmin),
    "argmax": reduce.arg(op.argmax), "argmin": reduce.arg(op.argmin),
    "any": reduce.holds(op.any), "any.dim": reduce.holds(op.any), "any.dims": reduce.holds(op.any),
    "all": reduce.holds(op.all), "all.dim": reduce.holds(op.all), "all.dims": reduce.holds(op.all),
    "var.correction": reduce.variance(False), "std.correction": reduce.variance(True),
    "var.dim": reduce.variance(False), "var_mean.correction": reduce.variance_and_mean,
    "linalg_vector_norm": reduce.vector_norm, "_cdist_forward": reduce.cdist,
    "cumsum": reduce.running(op.cumsum), "cumprod": reduce.running(op.cumprod),
    "softmax.int": reduce.softmax(op.nn.softmax), "_softmax": reduce.softmax(op.nn.softmax),
    "log_softmax.int": reduce.softmax(op.nn.log_softmax), "_log_softmax": reduce.softmax(op.nn.log_softmax),
    "topk": reduce.topk, "sort": reduce.sort, "sort.stable": reduce.sort,
    "unsqueeze": shape.expand_dims, "transpose.int": shape.transpose, "t": shape.matrix_transpose,
    "permute": shape.permute, "permute_copy": shape.permute, "expand": shape.expand, "repeat": shape.repeat,
    "repeat_interleave.self_int": shape.repeat_interleave,
    "cat": shape.cat, "stack": shape.stack, "slice.Tensor": shape.slice, "select.int": shape.select,
    "split.Tensor": shape.split, "split_with_sizes": shape.split, "chunk": shape.split, "unbind.int": shape.unbind,
        "unbind_copy.int": shape.unbind,
    "flip": shape.flip, "roll": shape.roll, "constant_pad_nd": shape.pad(), "pad": shape.pad(),
    **{f"reflection_pad{axes}d": shape.pad("reflect") for axes in (1, 2, 3)},
    **{f"replication_pad{axes}d": shape.pad("replicate") for axes in (1, 2, 3)},
    "full": create.filled(), "full_like": create.filled(), "zeros": create.filled(0), "zeros_like": create.filled(0),
    "ones": create.filled(1), "ones_like": create.filled(1), "new_zeros": create.filled(0),
        "new_ones": create.filled(1),
    "new_full": create.filled(), "scalar_tensor": create.scalar_tensor,
    "empty.memory_format": create.filled(0), "empty_strided": create.filled(0), "empty_like": create.filled(0),
    "new_empty": create.filled(0), "fill.Scalar": create.fill, "fill.Tensor": create.fill,
    "arange": create.arange, "arange.start": create.arange, "arange.start_step": create.arange,
    "tril": create.triangle(False), "triu": create.triangle(True),
    "embedding": index.embedding, "index_select": index.index_select, "gather": index.gather,
    "index.Tensor": index.index, "nonzero": index.nonzero, "diagonal": index.diagonal, "as_strided": index.as_strided,
    "view.dtype": bits.view, "view_copy.dtype": bits.view,
    "bincount": index.bincount, "histc": index.histogram, "_unique2": index.unique,
    "repeat_interleave.Tensor": index.repeat_interleave,
    **complexes.OPERATORS, **fourier.COMPLEX, **fourier.TO_COMPLEX,
    "masked_scatter": index.masked_scatter, "masked_select": index.masked_select, "unfold": index.unfold,
    "grid_sampler_2d": index.grid_sample, "grid_sampler_3d": index.grid_sample,
    "searchsorted.Tensor": index.searchsorted("sorted_sequence", "self"),
    "searchsorted.Scalar": index.searchsorted("sorted_sequence", "self"),
    "bucketize.Tensor": index.searchsorted("boundaries", "self"), "as_strided_copy": index.as_strided,
    "scatter.src": scatter.scatter("update"), "scatter.value": scatter.scatter("update"),
    "scatter_add": scatter.scatter("add"), "scatter_reduce.two": scatter.scatter_reduce,
    "scatter.reduce": scatter.scatter_with, "scatter.value_reduce": scatter.scatter_with,
    "index_put": scatter.index_put, "slice_scatter": scatter.slice_scatter,
    "select_scatter": scatter.select_scatter, "diagonal_scatter": scatter.diagonal_scatter, "copy": scatter.copy,
    "col2im": scatter.col2im,
    "linear": linear.linear, "mm": linear.mm, "_int_mm": linear.int_mm, "bmm": linear.bmm,
    "_weight_int4pack_mm_for_cpu": quantized.packed_product,
    "_grouped_mm": linear.grouped_mm, "transformers::grouped_mm_fallback": linear.grouped_mm,
    "transformers::grouped_mm_fallback_backward": linear.grouped_mm_backward,
    "addmm": linear.addmm, "addmv": linear.addmv,
        "addbmm": linear.addbmm, "matmul": linear.matmul,
    "scaled_dot_product_attention": linear.attention,
    "_scaled_dot_product_flash_attention_for_cpu": linear.flash_attention,
    "convolution_backward": conv.convolution_backward,
    "avg_pool2d_backward": pool.avg_pool_backward,
    "batch_norm": norm.batch_norm, "_native_batch_norm_legit_no_training": norm.batch_norm_inference,
    "_native_batch_norm_legit.no_stats": norm.batch_norm_of_batch,
    "layer_norm": norm.layer_norm, "group_norm": norm.group_norm,
    "native_layer_norm": norm.native_layer_norm, "native_group_norm": norm.native_group_norm,
    "max_pool1d": pool.max_pool(1), "max_pool2d": pool.max_pool(2), "max_pool3d": pool.max_pool(3),
    "avg_pool1d": pool.avg_pool(1), "avg_pool2d": pool.avg_pool(2), "avg_pool3d": pool.avg_pool(3),
    "max_pool2d_with_indices": pool.max_pool_with_indices(2), "max_pool3d_with_indices": pool.max_pool_with_indices(3),
    "max_pool2d_with_indices_backward": scatter.max_pool_backward,
    "_adaptive_avg_pool2d": pool.adaptive(op.nn.adaptive_avg_pool2d, 2),
    "_adaptive_avg_pool3d": pool.adaptive(op.nn.adaptive_avg_pool3d, 3),
    "adaptive_max_pool2d": pool.adaptive_max(op.nn.adaptive_max_pool2d, 2),
    "adaptive_max_pool3d": pool.adaptive_max(op.nn.adaptive_max_pool3d, 3),
    "adaptive_avg_pool1d": pool.adaptive(op.nn.adaptive_avg_pool1d, 1),
    "adaptive_avg_pool2d": pool.adaptive(op.nn.adaptive_avg_pool2d, 2),
    "adaptive_avg_pool3d": pool.adaptive(op.nn.adaptive_avg_pool3d, 3),
    "upsample_nearest2d.vec": pool.resize("nearest_neighbor"),
    "upsample_bilinear2d.vec": pool.resize("linear"),
    "upsample_bicubic2d.vec": pool.resize("cubic"),
    "lstm.input": recurrent.lstm, "mkldnn_rnn_layer": recurrent.lstm_layer, "gru.input": recurrent.gru,
    "rnn_tanh.input": recurrent.rnn("tanh"), "rnn_relu.input": recurrent.rnn("relu"),
}  # fmt: skip
OPERATORS |= {f"quantized_decomposed::{name}": convert for name, convert in quantized.QUANTIZED.items()}
OPERATORS |= {f"torchvision::{name}": convert for name, convert in vision.VISION.items()}
# Operators that read complex tensors, and operators that make them from real ones.
COMPLEX = complexes.COMPLEX | fourier.COMPLEX
TO_COMPLEX = complexes.TO_COMPLEX | fourier.TO_COMPLEX
# Checks of the export's findings, which compute nothing.
CHECKS = {"_assert_tensor_metadata", "_assert_scalar", "_assert_async.msg", "sym_constrain_range_for_size"}
# Replacements to suggest for operators that have no converter.
WAYS_OUT = {
    "_linalg_check_errors": (
        "programs do not stop at singular matrices",
        "call linalg.inv_ex, solve_ex or cholesky_ex",
    ),
}
NAMESPACES = {"aten", "prims", "quantized_decomposed", "torchvision", "transformers"}


def key_of(target) -> str | None:
    """Returns a name such as "add.Tensor", "relu" or "quantized_decomposed::quantize_per_tensor", or None if it is not
    such an operator."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace not in NAMESPACES:
        return None
    name = target._schema.name.removeprefix("aten::")
    return f"{name}.{target._schema.overload_name}" if target._schema.overload_name else name
