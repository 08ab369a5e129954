"""tvm.topi.testing: what operators compute, in NumPy, for tests to compare with."""

from __future__ import annotations

import numpy as np

from ...outside import missing as _missing

__getattr__ = _missing("tvm.topi.testing")


def softmax_python(a, axis: int = 1):
    """exp(a) / sum(exp(a))"""
    powers = np.exp(a - a.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax_python(a, axis: int = 1):
    """log(softmax(a))"""
    moved = a - a.max(axis, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis, keepdims=True))


def one_hot(indices, on_value, off_value, depth: int, axis: int, dtype: str):
    """on_value where the index is the place along the new axis."""
    places = np.arange(depth)
    out = np.where(np.asarray(indices)[..., None] == places, on_value, off_value).astype(dtype)
    return np.moveaxis(out, -1, axis)


def batch_matmul(x, y, out_dtype=None, trans_x: bool = False, trans_y: bool = True):
    """x @ transpose(y), for each of a batch."""
    x = np.swapaxes(x, 1, 2) if trans_x else x
    y = np.swapaxes(y, 1, 2) if trans_y else y
    return np.matmul(x.astype(out_dtype or x.dtype), y.astype(out_dtype or y.dtype))


def dilate_python(a, strides, dilation_value: float = 0.0):
    """With strides[i] - 1 fillers between the elements along axis i."""
    shape = [(size - 1) * stride + 1 if size else 0 for size, stride in zip(a.shape, strides, strict=True)]
    out = np.full(shape, dilation_value, a.dtype)
    out[tuple(slice(None, None, stride) for stride in strides)] = a
    return out


def _pair(value) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def _padding(padding, sizes, kernel, strides) -> list[tuple[int, int]]:
    """(before, after) for both axes, of a number, (h, w), (top, left, bottom, right), "SAME" or "VALID"."""
    if isinstance(padding, str):
        if padding == "VALID":
            return [(0, 0), (0, 0)]
        out = []
        for size, k, stride in zip(sizes, kernel, strides, strict=True):
            total = max((-(-size // stride) - 1) * stride + k - size, 0)
            out.append((total // 2, total - total // 2))
        return out
    if not isinstance(padding, int) and len(padding) == 4:
        return [(padding[0], padding[2]), (padding[1], padding[3])]
    return [(one, one) for one in _pair(padding)]


def conv2d_nchw_python(a, w, stride, padding, groups: int = 1):
    """The convolution of (n, c, h, w) with (out, c / groups, kh, kw)."""
    strides, kernel = _pair(stride), w.shape[2:]
    a = np.pad(a, [(0, 0), (0, 0), *_padding(padding, a.shape[2:], kernel, strides)])
    windows = np.lib.stride_tricks.sliding_window_view(a, kernel, (2, 3))[:, :, :: strides[0], :: strides[1]]
    parts = [
        np.einsum("nchwij,ocij->nohw", of_input, of_weight, optimize=True)
        for of_input, of_weight in zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1)


def conv2d_nhwc_python(a, w, stride, padding, groups: int = 1):
    """The convolution of (n, h, w, c) with (kh, kw, c / groups, out)."""
    out = conv2d_nchw_python(a.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), stride, padding, groups)
    return out.transpose(0, 2, 3, 1)


def depthwise_conv2d_python_nchw(a, w, stride, padding):
    """Each channel with its own (multiplier) kernels."""
    return conv2d_nchw_python(a, w.reshape(-1, 1, *w.shape[2:]), stride, padding, a.shape[1])


def conv2d_transpose_nchw_python(a, w, stride, padding, output_padding=(0, 0)):
    """The transposed convolution of (n, c, h, w) with (c, out, kh, kw)."""
    kernel = w.shape[2:]
    spread = dilate_python(a, (1, 1, *_pair(stride)))
    pads = _padding(padding, spread.shape[2:], kernel, (1, 1))
    around = [
        (k - 1 - before, k - 1 - after + extra)
        for k, (before, after), extra in zip(kernel, pads, _pair(output_padding), strict=True)
    ]
    spread = np.pad(spread, [(0, 0), (0, 0), *around])
    return conv2d_nchw_python(spread, w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1], 1, 0)


__all__ = [
    "batch_matmul",
    "conv2d_nchw_python",
    "conv2d_nhwc_python",
    "conv2d_transpose_nchw_python",
    "depthwise_conv2d_python_nchw",
    "dilate_python",
    "log_softmax_python",
    "one_hot",
    "softmax_python",
]
