"""Layers of Caffe that multiply with weights: convolutions, products, tables."""

from __future__ import annotations

import math

from ... import op
from ..shared.expressions import MOST_ELEMENTS, bounded
from ..shared.problems import Refused
from .conversion import CaffeLayer

_CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSED = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}


def _windows(c: CaffeLayer):
    """Returns the window, strides, padding on both sides and dilation along each axis of space."""
    rank = c.rank - 2
    if rank not in _CONVOLUTIONS:
        raise Refused(f"its input has {c.rank} axes, not 3 to 5")
    if c.axis("axis", 1) != 1:
        raise Refused("its channels are not on axis 1", "transpose with Permute first")
    return (
        c.each("kernel_size", rank, None, 1),
        c.each("stride", rank, 1, 1),
        c.each("pad", rank, 0),
        c.each("dilation", rank, 1, 1),
    )


def _channels(c: CaffeLayer) -> tuple[int, int, int]:
    channels, filters, groups = c.sizes()[1], c.count("num_output"), c.count("group", 1)
    if channels % groups or filters % groups:
        raise Refused(f"{channels} channels and {filters} filters are not divisible by {groups} groups")
    return channels, filters, groups


def _with_bias(c: CaffeLayer, made, count: int, position: int = 1):
    if not c.flag("bias_term", True):
        return made
    return op.nn.bias_add(made, c.weight(position, [count], "the bias"), axis=1)


def convolution(c: CaffeLayer):
    window, strides, padding, dilation = _windows(c)
    channels, filters, groups = _channels(c)
    kernel = c.weight(0, [filters, channels // groups, *window], "the kernel")
    made = _CONVOLUTIONS[len(window)](
        c.x, kernel, strides=strides, padding=padding * 2, dilation=dilation, groups=groups, channels=filters,
        kernel_size=window,
    )  # fmt: skip
    return _with_bias(c, made, filters)


def deconvolution(c: CaffeLayer):
    window, strides, padding, dilation = _windows(c)
    channels, filters, groups = _channels(c)
    kernel = c.weight(0, [channels, filters // groups, *window], "the kernel")
    made = _TRANSPOSED[len(window)](
        c.x, kernel, strides=strides, padding=padding * 2, dilation=dilation, groups=groups, channels=filters,
        kernel_size=window,
    )  # fmt: skip
    return _with_bias(c, made, filters)


def inner_product(c: CaffeLayer):
    axis, outputs, sizes = c.axis("axis", 1), c.count("num_output"), c.shape
    inputs = math.prod(c.sizes()[axis:])
    bounded(inputs * outputs, MOST_ELEMENTS, "the number of its weights")
    if c.flag("transpose"):
        weights = c.blob(0, [inputs, outputs], "the matrix").T
    else:
        weights = c.blob(0, [outputs, inputs], "the matrix")
    flat = op.reshape(c.x, [math.prod(c.sizes()[:axis]), inputs])
    made = _with_bias(c, op.nn.dense(flat, c.constant(weights), units=outputs), outputs)
    return op.reshape(made, [*sizes[:axis], outputs])


def embed(c: CaffeLayer):
    rows, outputs = c.count("input_dim"), c.count("num_output")
    made = op.take(c.weight(0, [rows, outputs], "the table"), op.cast(c.x, "int32"), axis=0)
    return op.add(made, c.weight(1, [outputs], "the bias")) if c.flag("bias_term", True) else made


def im2col(c: CaffeLayer):
    window, strides, padding, dilation = _windows(c)
    if len(window) != 2:
        raise Refused("only images of two axes are imported")
    sizes = c.sizes()
    reach = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(sizes[2:], window, strides, padding, dilation, strict=True)
    ]
    made = op.nn.im2col(c.x, block_shape=window, strides=strides, padding=padding * 2, dilation=dilation)
    return op.reshape(made, [sizes[0], sizes[1] * math.prod(window), *reach])
