"""Operators whose Python function is not just "inputs, then attributes": other order, other defaults, numbers as
inputs, several results (then a TupleWrapper), or made of several operators."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._core import Expr
from ..expr import TupleWrapper, const


def operand(value, is_tuple: bool = False):
    """What a call takes for an argument: a list for a tuple."""
    return _core.Tuple(list(value)) if is_tuple and isinstance(value, (list, tuple)) else value


def _call(name: str, operands: list, /, **attributes) -> Expr:
    return _core.call(name, operands, attributes)


def _number(value, dtype: str) -> Expr:
    return const(value, dtype) if isinstance(value, (int, float)) else value


def _arange(start, stop=None, step=None, dtype="float32"):
    """arange(5), arange(1, 5), arange(0, 1, 0.25); numbers or expressions."""
    if stop is None:
        start, stop = 0, start
    bounds = {"start": start, "stop": stop, "step": 1 if step is None else step}
    known = {name: float(value) for name, value in bounds.items() if isinstance(value, (int, float))}
    return _call("arange", [_number(value, dtype) for value in bounds.values()], dtype=dtype, **known)


def _full(fill_value, shape=(), dtype=None):
    """shape is a list, or an expression: then dyn.full."""
    if isinstance(fill_value, (int, float)):
        fill_value = const(fill_value, dtype or None)
    if _is_computed(shape):
        return _call("dyn.full", [fill_value, shape], dtype=dtype)
    return _call("full", [fill_value], shape=_known(shape), dtype=dtype)


def _take(data, indices, axis=None, batch_dims=0, mode="clip"):
    return _call("take", [data, indices], axis=axis, batch_dims=batch_dims, mode=mode)


def _gather(data, axis, indices):
    return _call("gather", [data, indices], axis=axis)


def _is_computed(*values) -> bool:
    """Whether one of them is known only when the program runs."""
    return any(isinstance(value, Expr) and not isinstance(value, _core.Constant) for value in values)


def _known(value):
    """A constant is its values."""
    return np.from_dlpack(value.data).tolist() if isinstance(value, _core.Constant) else value


def _reshape(data, newshape, allowzero=False):
    """newshape is a list, or an expression: then dyn.reshape."""
    if _is_computed(newshape):
        if allowzero:
            raise ValueError(
                "allowzero can be given only where newshape is a list: in a computed one 0 keeps data's extent"
            )
        return _call("dyn.reshape", [data, newshape])
    return _call("reshape", [data], newshape=_known(newshape), allowzero=allowzero)


def _broadcast_to(data, shape):
    """shape is a list, or an expression: then dyn.broadcast_to."""
    if _is_computed(shape):
        return _call("dyn.broadcast_to", [data, shape])
    return _call("broadcast_to", [data], shape=_known(shape))


def _tile(data, reps):
    """reps is a list, or an expression: then dyn.tile."""
    return _call("dyn.tile", [data, reps]) if _is_computed(reps) else _call("tile", [data], reps=_known(reps))


def _squeeze(data, axis=None):
    """axis is a list, None, or an expression: then dyn.squeeze."""
    return _call("dyn.squeeze", [data, axis]) if _is_computed(axis) else _call("squeeze", [data], axis=_known(axis))


def _expand_dims(data, axis, num_newaxis=1):
    """axis is a number, or an expression: then dyn.expand_dims."""
    if _is_computed(axis):
        return _call("dyn.expand_dims", [data, axis], num_newaxis=num_newaxis)
    return _call("expand_dims", [data], axis=_known(axis), num_newaxis=num_newaxis)


def _filled(name: str):
    def filled(shape, dtype=None):
        if _is_computed(shape):
            return _call(f"dyn.{name}", [shape], dtype=dtype)
        return _call(name, [], shape=_known(shape), dtype=dtype)

    filled.__doc__ = f"shape is a list, or an expression: then dyn.{name}."
    return filled


def _one_hot(indices, on_value, off_value, depth, axis=-1, dtype=None):
    """depth is a number, or an expression: then dyn.one_hot."""
    operands = [indices, on_value, off_value]
    if _is_computed(depth):
        return _call("dyn.one_hot", [*operands, depth], axis=axis, dtype=dtype)
    return _call("one_hot", operands, depth=_known(depth), axis=axis, dtype=dtype)


def _sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0):
    """output_shape is a list, or an expression: then dyn.sparse_to_dense."""
    default = _number(default_value, _dtype_of(sparse_values, "float32"))
    operands = [sparse_indices, sparse_values, default]
    if _is_computed(output_shape):
        return _call("dyn.sparse_to_dense", [*operands, output_shape])
    return _call("sparse_to_dense", operands, output_shape=_known(output_shape))


def _dft(re_data, im_data, inverse=False):
    """(real parts, imaginary parts)"""
    return TupleWrapper(_call("dft", [re_data, im_data], inverse=inverse), 2)


def _stft(data, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=True):
    """The window is all ones by default."""
    window = const(np.ones(n_fft, _dtype_of(data, "float32"))) if window is None else window
    attributes = {"n_fft": n_fft, "hop_length": hop_length or -1, "win_length": win_length or -1}
    return _call("stft", [data, window], **attributes, normalized=normalized, onesided=onesided)


def _unique(data, is_sorted=True, return_counts=False):
    """(unique, indices, inverse_indices, num_unique), and counts"""
    call = _call("unique", [data], sorted=is_sorted, return_counts=return_counts)
    return TupleWrapper(call, 5 if return_counts else 4)


def _strided_slice(data, begin, end, strides=None, axes=None, slice_mode="end"):
    """begin, end and strides are lists, or one is an expression: then dyn.strided_slice."""
    if _is_computed(begin, end, strides):
        if axes is not None:
            raise ValueError(
                "axes can be given only where begin, end and strides are lists: computed ones are of the first axes"
            )
        lists = [x for x in (begin, end, strides) if isinstance(x, (list, tuple))]
        if strides is None:
            strides = [1] * len(lists[0]) if lists else _call("ones_like", [begin])
        return _call(
            "dyn.strided_slice", [data, *(_list(x, "int64") for x in (begin, end, strides))], slice_mode=slice_mode
        )
    begin, end, strides = _known(begin), _known(end), _known(strides)
    return _call("strided_slice", [data], begin=begin, end=end, strides=strides or [], axes=axes, slice_mode=slice_mode)


def _split(data, indices_or_sections, axis=0):
    call = _call("split", [data], indices_or_sections=indices_or_sections, axis=axis)
    parts = indices_or_sections
    return TupleWrapper(call, parts if isinstance(parts, int) else len(parts) + 1)


def _topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32"):
    """k is a number, or an expression: then dyn.topk."""
    attributes = dict(axis=axis, ret_type=ret_type, is_ascend=is_ascend, dtype=dtype)
    if _is_computed(k):
        call = _call("dyn.topk", [data, k], **attributes)
    else:
        k = _known(k)
        call = _call("topk", [data], k=k[0] if isinstance(k, list) else k, **attributes)
    return TupleWrapper(call, 2) if ret_type == "both" else call


def _argsort(data, axis=-1, is_ascend=True, dtype="int32"):
    return _call("argsort", [data], axis=axis, is_ascend=bool(is_ascend), dtype=dtype)


def _sort(data, axis=-1, is_ascend=True):
    return _call("sort", [data], axis=axis, is_ascend=bool(is_ascend))


def _argmax(data, axis=None, keepdims=False, exclude=False, select_last_index=False):
    attributes = {"keepdims": keepdims, "exclude": exclude, "select_last_index": select_last_index}
    return _call("argmax", [data], axis=axis, **attributes)


def _argmin(data, axis=None, keepdims=False, exclude=False, select_last_index=False):
    attributes = {"keepdims": keepdims, "exclude": exclude, "select_last_index": select_last_index}
    return _call("argmin", [data], axis=axis, **attributes)


def _adaptive_pool(kind: str, letters: str):
    """nn.adaptive_max_pool2d and its like: output_size may be None."""
    name = f"nn.adaptive_{kind}_pool{len(letters)}d"

    def pool(data, output_size=None, layout="NC" + letters, out_layout=""):
        size = [] if output_size is None else output_size
        return _call(name, [data], output_size=size, layout=layout, out_layout=out_layout)

    pool.__doc__ = None
    return pool


def _global_pool(kind: str, letters: str):
    name = f"nn.adaptive_{kind}_pool{len(letters)}d"

    def pool(data, layout="NC" + letters, out_layout=""):
        return _call(name, [data], output_size=[1], layout=layout, out_layout=out_layout)

    pool.__doc__ = f"{name} with one place."
    return pool


def _mean(data, axis=None, keepdims=False, exclude=False):
    return _call("mean", [data], axis=axis, keepdims=keepdims, exclude=exclude)


def _variance(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None):
    mean = _mean(data, axis, True, exclude) if with_mean is None else with_mean
    return _call("variance", [data, mean], axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)


def _std(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """The square root of the variance."""
    return _call("sqrt", [_variance(data, axis, keepdims, exclude, unbiased)])


def _mean_variance(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """(mean, variance)"""
    kept = _mean(data, axis, True, exclude)
    variance = _variance(data, axis, keepdims, exclude, unbiased, with_mean=kept)
    mean = kept if keepdims else _mean(data, axis, False, exclude)
    return TupleWrapper(_core.Tuple([mean, variance]), 2)


def _mean_std(data, axis=None, keepdims=False, exclude=False):
    """(mean, standard deviation)"""
    mean, variance = _mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(_core.Tuple([mean, _call("sqrt", [variance])]), 2)


def _logsumexp(data, axis=None, keepdims=False):
    """log(sum(exp(data))), with the largest value taken out first."""
    largest = _call("max", [data], axis=axis, keepdims=True)
    total = _call("sum", [_call("exp", [_call("subtract", [data, largest])])], axis=axis, keepdims=True)
    out = _call("add", [_call("log", [total]), largest])
    return out if keepdims else _call("squeeze", [out], axis=axis)


def _dtype_of(value, otherwise: str) -> str:
    """The element type of an expression as far as it is known."""
    known = value._checked_type_ or getattr(value, "type_annotation", None)
    return getattr(known, "dtype", otherwise)


def _pad(data, pad_width, pad_value=0, pad_mode="constant"):
    """A number as pad_value is of the type of data where that is known, else float32. pad_width is a list of pairs, or
    an expression: then dyn.nn.pad."""
    value = _number(pad_value, _dtype_of(data, "float32"))
    if _is_computed(pad_width):
        return _call("dyn.nn.pad", [data, pad_width, value], pad_mode=pad_mode)
    pad_width = _known(pad_width)
    return _call("nn.pad", [data, value], pad_width=pad_width, pad_mode=pad_mode)


def _batch_matmul(tensor_a, tensor_b, out_dtype=None, transpose_a=False, transpose_b=True):
    """By default b is (batch, columns, inner): transpose_b is True here, and False in the text form."""
    attributes = {"out_dtype": out_dtype, "transpose_a": transpose_a, "transpose_b": transpose_b}
    return _call("nn.batch_matmul", [tensor_a, tensor_b], **attributes)


def _dropout_raw(data, rate=0.5):
    """(data, mask)"""
    return TupleWrapper(_call("nn.dropout", [data], rate=rate), 2)


def _dropout(data, rate=0.5):
    """The first field of the operator's result."""
    return _dropout_raw(data, rate)[0]


def _batch_norm(data, gamma, beta, moving_mean, moving_var, axis=1, epsilon=1e-5, center=True, scale=True):
    """(data, mean, variance)"""
    operands = [data, gamma, beta, moving_mean, moving_var]
    call = _call("nn.batch_norm", operands, axis=axis, epsilon=epsilon, center=center, scale=scale)
    return TupleWrapper(call, 3)


def _leaky_relu(data, alpha=0.01):
    """alpha is 0.01 by default here, and 0.25 in the text form."""
    return _call("nn.leaky_relu", [data], alpha=alpha)


def _lrn(data, size=5, axis=1, bias=2, alpha=0.00001, beta=0.75):
    """alpha is 0.00001 by default here, and 0.0001 in the text form."""
    return _call("nn.lrn", [data], size=size, axis=axis, bias=bias, alpha=alpha, beta=beta)


def _conv_transpose(letters: str):
    """nn.conv2d_transpose and its like: the order of Relay's Python functions."""
    name, ones, zeros = f"nn.conv{len(letters)}d_transpose", (1,) * len(letters), (0,) * len(letters)

    def conv_transpose(
        data,
        weight,
        strides=ones,
        padding=zeros,
        dilation=ones,
        channels=None,
        kernel_size=None,
        groups=1,
        data_layout="NC" + letters,
        kernel_layout="IO" + letters,
        out_layout="",
        output_padding=zeros,
        out_dtype=None,
    ):
        attributes = dict(strides=strides, padding=padding, dilation=dilation, channels=channels)
        attributes |= dict(kernel_size=kernel_size, groups=groups, data_layout=data_layout, kernel_layout=kernel_layout)
        attributes |= dict(out_layout=out_layout, output_padding=output_padding, out_dtype=out_dtype)
        return _call(name, [data, weight], **attributes)

    conv_transpose.__doc__ = None
    return conv_transpose


def _conv2d_backward_weight(
    grad,
    data,
    strides=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    channels=None,
    kernel_size=None,
    grad_layout="NCHW",
    data_layout="NCHW",
    kernel_layout="OIHW",
    out_dtype=None,
):
    """Here each layout has the name of what it is the order of: in the text form data_layout is the gradient's,
    kernel_layout the data's, out_layout the result's."""
    attributes = dict(strides=strides, padding=padding, dilation=dilation, groups=groups, channels=channels)
    attributes |= dict(kernel_size=kernel_size, data_layout=grad_layout, kernel_layout=data_layout)
    return _call("nn.conv2d_backward_weight", [grad, data], **attributes, out_layout=kernel_layout, out_dtype=out_dtype)


def _resize(letters: str):
    """image.resize2d and its like: roi may be None, and rounding_method is empty by default."""
    name = f"image.resize{len(letters)}d"

    def resize(
        data,
        size,
        roi=None,
        layout="NC" + letters,
        method="linear",
        coordinate_transformation_mode="half_pixel",
        rounding_method="",
        cubic_alpha=-0.5,
        cubic_exclude=0,
        extrapolation_value=0.0,
        out_dtype=None,
    ):
        """rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
        expression: then dyn.image.resize2d, whose roi is not used."""
        attributes = dict(layout=layout, method=method, rounding_method=rounding_method)
        attributes |= dict(coordinate_transformation_mode=coordinate_transformation_mode, cubic_alpha=cubic_alpha)
        attributes |= dict(cubic_exclude=cubic_exclude, extrapolation_value=extrapolation_value, out_dtype=out_dtype)
        if letters == "HW" and _is_computed(size, roi):
            region = roi if isinstance(roi, Expr) else const(np.asarray(roi or [0, 0, 1, 1], "float32"))
            return _call("dyn.image.resize2d", [data, _list(size, "int64"), region], **attributes)
        return _call(name, [data], size=_known(size), roi=_known(roi) or [], **attributes)

    return resize


def _upsampling(data, scale_h=1, scale_w=1, layout="NCHW", method="nearest_neighbor", align_corners=False):
    """Scales are numbers, or an expression among them: then dyn.nn.upsampling."""
    attributes = dict(layout=layout, method=method, align_corners=align_corners)
    if _is_computed(scale_h, scale_w):
        scales = [_number(scale, "float32") for scale in (scale_h, scale_w)]
        return _call("dyn.nn.upsampling", [data, *scales], **attributes)
    return _call("nn.upsampling", [data], scale_h=_known(scale_h), scale_w=_known(scale_w), **attributes)


def _upsampling3d(
    data,
    scale_d=1,
    scale_h=1,
    scale_w=1,
    layout="NCDHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="half_pixel",
):
    """Scales are numbers, or an expression among them: then dyn.nn.upsampling3d."""
    mode = coordinate_transformation_mode
    attributes = dict(layout=layout, method=method, coordinate_transformation_mode=mode)
    scales = scale_d, scale_h, scale_w
    if _is_computed(*scales):
        return _call("dyn.nn.upsampling3d", [data, *(_number(scale, "float32") for scale in scales)], **attributes)
    known = dict(zip(("scale_d", "scale_h", "scale_w"), map(_known, scales), strict=True))
    return _call("nn.upsampling3d", [data], **known, **attributes)


def _max_pool2d_grad(
    out_grad,
    data,
    pool_size=(1, 1),
    strides=(1, 1),
    padding=(0, 0),
    layout="NCHW",
    out_layout="",
    ceil_mode=False,
    dilation=(1, 1),
):
    """The padding comes before the dilation, which the text form has first."""
    attributes = dict(pool_size=pool_size, strides=strides, padding=padding, layout=layout, out_layout=out_layout)
    return _call("nn.max_pool2d_grad", [out_grad, data], **attributes, ceil_mode=ceil_mode, dilation=dilation)


def _avg_pool2d_grad(
    out_grad,
    data,
    pool_size=(1, 1),
    strides=(1, 1),
    padding=(0, 0),
    layout="NCHW",
    out_layout="",
    ceil_mode=False,
    count_include_pad=False,
    dilation=(1, 1),
):
    """The padding comes before the dilation, which the text form has first."""
    attributes = dict(pool_size=pool_size, strides=strides, padding=padding, layout=layout, out_layout=out_layout)
    attributes |= dict(ceil_mode=ceil_mode, count_include_pad=count_include_pad, dilation=dilation)
    return _call("nn.avg_pool2d_grad", [out_grad, data], **attributes)


def _mirror_pad(data, pad_width, mode="SYMMETRIC"):
    return _call("nn.mirror_pad", [data], pad_width=pad_width, mode=mode)


def _l2_normalize(data, eps, axis=None):
    return _call("nn.l2_normalize", [data], eps=eps, axis=axis or [])


def _cross_entropy(predictions, targets):
    return _call("nn.cross_entropy", [predictions, targets])


def _cross_entropy_with_logits(predictions, targets):
    return _call("nn.cross_entropy_with_logits", [predictions, targets])


def _space_to_batch_nd(data, block_shape, paddings, pad_value=0):
    return _call("nn.space_to_batch_nd", [data], block_shape=block_shape, paddings=paddings, pad_value=pad_value)


def _batch_to_space_nd(data, block_shape, crops):
    return _call("nn.batch_to_space_nd", [data], block_shape=block_shape, crops=crops)


def _list(value, dtype: str) -> Expr:
    """A list of integers as a constant."""
    return const(np.asarray(value, dtype)) if isinstance(value, (list, tuple)) else value


def _collapse_sum_to(data, shape):
    """The shape is a list of integers, or an expression."""
    return _call("collapse_sum_to", [data, _list(shape, "int32")])


def _unravel_index(indices, shape):
    return _call("unravel_index", [indices, _list(shape, "int32")])


def _matrix_set_diag(data, diagonal, k=0, align="RIGHT_LEFT"):
    """k is one diagonal or the lowest and the highest; align: how shorter ones lie, above and below the main one."""
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    above, _, below = align.partition("_")
    if above not in ("LEFT", "RIGHT") or below not in ("LEFT", "RIGHT"):
        raise ValueError(f"align must be LEFT_LEFT, LEFT_RIGHT, RIGHT_LEFT or RIGHT_RIGHT, but is {align}")
    attributes = {"super_diag_right_align": above == "RIGHT", "sub_diag_right_align": below == "RIGHT"}
    return _call("matrix_set_diag", [data, diagonal], k1=low, k2=high, **attributes)


def _meshgrid(data, indexing="ij"):
    """A tuple, one field for each vector."""
    data = list(data)
    return TupleWrapper(_call("meshgrid", [_core.Tuple(data)], indexing=indexing), len(data))


def _strided_set(data, v, begin, end, strides=None):
    """begin, end and strides are lists of integers or expressions; strides are 1 by default."""
    if strides is None:
        count = len(begin) if isinstance(begin, (list, tuple)) else int(begin.checked_type.shape[0])
        strides = [1] * count
    return _call("strided_set", [data, v, *(_list(x, "int32") for x in (begin, end, strides))])


def _trilu(data, k, upper=True):
    """k is an integer or an expression."""
    return _call("trilu", [data, const(k, "int32") if isinstance(k, int) else k], upper=upper)


def _threefry_key(seed):
    """A generator's first state, as a constant: what the random operators take."""
    return const(np.array([0, 0, 0, seed, 0, 0, 0, 0, 1 << 63, 0], "uint64"))


def _threefry_generate(key, shape):
    """(the generator behind, random words)"""
    return TupleWrapper(_call("random.threefry_generate", [key], out_shape=shape), 2)


def _threefry_split(key):
    """(left, right)"""
    return TupleWrapper(_call("random.threefry_split", [key]), 2)


def _drawn(name: str, key, shape, dtype, first, second):
    operands = [key, _number(first, dtype), _number(second, dtype)]
    return TupleWrapper(_call(f"random.{name}", operands, out_shape=shape, out_dtype=dtype), 2)


def _uniform(key, shape, dtype="float32", low=0.0, high=1.0):
    """(the generator behind, numbers)"""
    return _drawn("uniform", key, shape, dtype, low, high)


def _normal(key, shape, dtype="float32", mean=0.0, scale=1.0):
    """(the generator behind, numbers)"""
    return _drawn("normal", key, shape, dtype, mean, scale)


def _multinomial(key, probs, num_samples):
    """(the generator behind, indices)"""
    return TupleWrapper(_call("random.multinomial", [key, probs], num_samples=num_samples), 2)


def _get_valid_counts(data, score_threshold, id_index=0, score_index=1):
    """(how many, boxes, places)"""
    threshold = (
        _number(float(score_threshold), "float32") if isinstance(score_threshold, int | float) else score_threshold
    )
    call = _call("vision.get_valid_counts", [data, threshold], id_index=id_index, score_index=score_index)
    return TupleWrapper(call, 3)


def _multibox_transform_loc(
    cls_prob, loc_pred, anchor, clip=True, threshold=0.01, variances=(0.1, 0.1, 0.2, 0.2), keep_background=False
):
    """(boxes, how many)"""
    attributes = {"clip": clip, "threshold": threshold, "variances": list(variances)}
    operands = [cls_prob, loc_pred, anchor]
    return TupleWrapper(
        _call("vision.multibox_transform_loc", operands, **attributes, keep_background=keep_background), 2
    )


def _non_max_suppression(
    data,
    valid_count,
    indices,
    max_output_size=-1,
    iou_threshold=0.5,
    force_suppress=False,
    top_k=-1,
    coord_start=2,
    score_index=1,
    id_index=0,
    return_indices=True,
    invalid_to_bottom=False,
):
    """(places, how many), or without return_indices the boxes"""
    operands = [data, valid_count, indices, _number(max_output_size, "int32"), _number(iou_threshold, "float32")]
    call = _call(
        "vision.non_max_suppression",
        operands,
        force_suppress=force_suppress,
        top_k=top_k,
        coord_start=coord_start,
        score_index=score_index,
        id_index=id_index,
        return_indices=return_indices,
        invalid_to_bottom=invalid_to_bottom,
    )
    return TupleWrapper(call, 2) if return_indices else call


def _all_class_non_max_suppression(
    boxes,
    scores,
    max_output_boxes_per_class=-1,
    iou_threshold=-1.0,
    score_threshold=-1.0,
    output_format="onnx",
):
    """(places, how many), or of "tensorflow" (places, scores, how many)"""
    limits = [_number(max_output_boxes_per_class, "int64")]
    limits += [_number(threshold, "float32") for threshold in (iou_threshold, score_threshold)]
    call = _call("vision.all_class_non_max_suppression", [boxes, scores, *limits], output_format=output_format)
    return TupleWrapper(call, 2 if output_format == "onnx" else 3)


def _regular_non_max_suppression(
    boxes, scores, max_detections_per_class, max_detections, num_classes, iou_threshold, score_threshold
):
    """(boxes, classes, scores, how many)"""
    call = _call(
        "vision.regular_non_max_suppression",
        [boxes, scores],
        max_detections_per_class=max_detections_per_class,
        max_detections=max_detections,
        num_classes=num_classes,
        iou_threshold=iou_threshold,
        score_threshold=score_threshold,
    )
    return TupleWrapper(call, 4)


def _sparse_reshape(sparse_indices, prev_shape, new_shape):
    """(new indices, new shape)"""
    return TupleWrapper(_call("sparse_reshape", [sparse_indices, prev_shape, new_shape]), 2)


FUNCTIONS = {
    "arange": _arange,
    "argmax": _argmax,
    "argmin": _argmin,
    "argsort": _argsort,
    "full": _full,
    "gather": _gather,
    "broadcast_to": _broadcast_to,
    "collapse_sum_to": _collapse_sum_to,
    "dft": _dft,
    "expand_dims": _expand_dims,
    "image.resize1d": _resize("W"),
    "image.resize2d": _resize("HW"),
    "image.resize3d": _resize("DHW"),
    "logsumexp": _logsumexp,
    "matrix_set_diag": _matrix_set_diag,
    "mean_std": _mean_std,
    "mean_variance": _mean_variance,
    "meshgrid": _meshgrid,
    "nn.adaptive_avg_pool1d": _adaptive_pool("avg", "W"),
    "nn.adaptive_avg_pool2d": _adaptive_pool("avg", "HW"),
    "nn.adaptive_avg_pool3d": _adaptive_pool("avg", "DHW"),
    "nn.adaptive_max_pool1d": _adaptive_pool("max", "W"),
    "nn.adaptive_max_pool2d": _adaptive_pool("max", "HW"),
    "nn.adaptive_max_pool3d": _adaptive_pool("max", "DHW"),
    "nn.avg_pool2d_grad": _avg_pool2d_grad,
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.batch_to_space_nd": _batch_to_space_nd,
    "nn.conv1d_transpose": _conv_transpose("W"),
    "nn.conv2d_backward_weight": _conv2d_backward_weight,
    "nn.conv2d_transpose": _conv_transpose("HW"),
    "nn.conv3d_transpose": _conv_transpose("DHW"),
    "nn.cross_entropy": _cross_entropy,
    "nn.cross_entropy_with_logits": _cross_entropy_with_logits,
    "nn.dropout": _dropout,
    "nn.dropout_raw": _dropout_raw,
    "nn.global_avg_pool1d": _global_pool("avg", "W"),
    "nn.global_avg_pool3d": _global_pool("avg", "DHW"),
    "nn.global_max_pool1d": _global_pool("max", "W"),
    "nn.global_max_pool3d": _global_pool("max", "DHW"),
    "nn.l2_normalize": _l2_normalize,
    "nn.leaky_relu": _leaky_relu,
    "nn.lrn": _lrn,
    "nn.max_pool2d_grad": _max_pool2d_grad,
    "nn.mirror_pad": _mirror_pad,
    "nn.pad": _pad,
    "nn.space_to_batch_nd": _space_to_batch_nd,
    "nn.upsampling": _upsampling,
    "nn.upsampling3d": _upsampling3d,
    "one_hot": _one_hot,
    "ones": _filled("ones"),
    "random.multinomial": _multinomial,
    "random.normal": _normal,
    "random.threefry_generate": _threefry_generate,
    "random.threefry_key": _threefry_key,
    "random.threefry_split": _threefry_split,
    "random.uniform": _uniform,
    "reshape": _reshape,
    "sort": _sort,
    "sparse_reshape": _sparse_reshape,
    "sparse_to_dense": _sparse_to_dense,
    "split": _split,
    "squeeze": _squeeze,
    "std": _std,
    "stft": _stft,
    "strided_set": _strided_set,
    "strided_slice": _strided_slice,
    "take": _take,
    "tile": _tile,
    "topk": _topk,
    "trilu": _trilu,
    "unique": _unique,
    "unravel_index": _unravel_index,
    "variance": _variance,
    "vision.all_class_non_max_suppression": _all_class_non_max_suppression,
    "vision.get_valid_counts": _get_valid_counts,
    "vision.multibox_transform_loc": _multibox_transform_loc,
    "vision.non_max_suppression": _non_max_suppression,
    "vision.regular_non_max_suppression": _regular_non_max_suppression,
    "zeros": _filled("zeros"),
}
