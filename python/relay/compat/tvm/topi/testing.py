"""tvm.topi.testing: NumPy references of operators, for tests."""

from __future__ import annotations

import numpy as np

from ...outside import missing as _missing
from . import windows
from .moves import (
    batch_to_space_nd_python,
    depth_to_space_python,
    gather_python,
    grid_sample_python,
    l2_normalize_python,
    matrix_set_diag,
    nll_loss,
    reorg_python,
    searchsorted_ref,
    sequence_mask,
    space_to_batch_nd_python,
    space_to_depth_python,
    strided_set_python,
    strided_slice_python,
)
from .windows import (
    adaptive_pool,
    affine_grid_python,
    conv1d_ncw_python,
    conv1d_transpose_ncw_python,
    conv2d_backward_weight_python,
    conv2d_transpose_nhwc_python,
    conv3d_ncdhw_python,
    conv3d_ndhwc_python,
    conv3d_transpose_ncdhw_python,
    correlation_nchw_python,
    crop_and_resize_python,
    deformable_conv2d_nchw_python,
    deformable_conv2d_nhwc_python,
    group_conv1d_ncw_python,
    lrn_python,
    pool_grad_nchw,
    poolnd_python,
    resize1d_python,
    resize2d_python,
    resize3d_python,
    roi_align_nchw_python,
    roi_align_nhwc_python,
    roi_pool_nchw_python,
)

__getattr__ = _missing("tvm.topi.testing")


def softmax_python(a, axis: int = 1):
    """Computes exp(a) / sum(exp(a))."""
    powers = np.exp(a - a.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax_python(a, axis: int = 1):
    """Computes log(softmax(a))."""
    moved = a - a.max(axis, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis, keepdims=True))


def one_hot(indices, on_value, off_value, depth: int, axis: int, dtype: str):
    """Writes on_value where the index equals the position along the new axis."""
    places = np.arange(depth)
    out = np.where(np.asarray(indices)[..., None] == places, on_value, off_value).astype(dtype)
    return np.moveaxis(out, -1, axis)


def batch_matmul(x, y, out_dtype=None, trans_x: bool = False, trans_y: bool = True):
    """Computes x @ transpose(y) for each element of a batch."""
    x = np.swapaxes(x, 1, 2) if trans_x else x
    y = np.swapaxes(y, 1, 2) if trans_y else y
    return np.matmul(x.astype(out_dtype or x.dtype), y.astype(out_dtype or y.dtype))


def dilate_python(a, strides, dilation_value: float = 0.0):
    """Inserts strides[i] - 1 fillers between the elements along axis i."""
    shape = [(size - 1) * stride + 1 if size else 0 for size, stride in zip(a.shape, strides, strict=True)]
    out = np.full(shape, dilation_value, a.dtype)
    out[tuple(slice(None, None, stride) for stride in strides)] = a
    return out


def conv2d_nchw_python(a, w, stride, padding, groups: int = 1):
    """Convolves (n, c, h, w) with (out, c / groups, kh, kw)."""
    return windows.conv_channels_first(a, w, stride, padding, 1, groups)


def conv2d_nhwc_python(a, w, stride, padding, groups: int = 1):
    """Convolves (n, h, w, c) with (kh, kw, c / groups, out)."""
    out = conv2d_nchw_python(a.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), stride, padding, groups)
    return out.transpose(0, 2, 3, 1)


def depthwise_conv2d_python_nchw(a, w, stride, padding):
    """Convolves each channel with its own (multiplier) kernels."""
    return conv2d_nchw_python(a, w.reshape(-1, 1, *w.shape[2:]), stride, padding, a.shape[1])


def depthwise_conv2d_python_nhwc(a, w, stride, padding):
    """Convolves each channel of (n, h, w, c) with kernels (kh, kw, c, multiplier)."""
    out = depthwise_conv2d_python_nchw(a.transpose(0, 3, 1, 2), w.transpose(2, 3, 0, 1), stride, padding)
    return out.transpose(0, 2, 3, 1)


def conv2d_transpose_nchw_python(a, w, stride, padding, output_padding=(0, 0)):
    """Computes the transposed convolution of (n, c, h, w) with (c, out, kh, kw)."""
    return windows.transposed_channels_first(a, w, stride, padding, output_padding)


__all__ = [
    "adaptive_pool",
    "affine_grid_python",
    "batch_matmul",
    "batch_to_space_nd_python",
    "conv1d_ncw_python",
    "conv1d_transpose_ncw_python",
    "conv2d_backward_weight_python",
    "conv2d_nchw_python",
    "conv2d_nhwc_python",
    "conv2d_transpose_nchw_python",
    "conv2d_transpose_nhwc_python",
    "conv3d_ncdhw_python",
    "conv3d_ndhwc_python",
    "conv3d_transpose_ncdhw_python",
    "correlation_nchw_python",
    "crop_and_resize_python",
    "deformable_conv2d_nchw_python",
    "deformable_conv2d_nhwc_python",
    "depth_to_space_python",
    "depthwise_conv2d_python_nchw",
    "depthwise_conv2d_python_nhwc",
    "dilate_python",
    "gather_python",
    "grid_sample_python",
    "group_conv1d_ncw_python",
    "l2_normalize_python",
    "log_softmax_python",
    "lrn_python",
    "matrix_set_diag",
    "nll_loss",
    "one_hot",
    "pool_grad_nchw",
    "poolnd_python",
    "reorg_python",
    "resize1d_python",
    "resize2d_python",
    "resize3d_python",
    "roi_align_nchw_python",
    "roi_align_nhwc_python",
    "roi_pool_nchw_python",
    "searchsorted_ref",
    "sequence_mask",
    "softmax_python",
    "space_to_batch_nd_python",
    "space_to_depth_python",
    "strided_set_python",
    "strided_slice_python",
]
