"""Operators over windows of images by the number of axes of space, layouts, and the order of axes."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from .expressions import GIVE_SHAPES, shape_of
from .problems import Refused

CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
TRANSPOSED = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}
POOLS = {
    "max": {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d},
    "avg": {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d},
}
SPACE = {1: "W", 2: "HW", 3: "DHW"}  # letters of layouts


def layout(rank: int, channels_first: bool) -> str:
    """Returns the layout of images with this many axes of space: "NHWC"."""
    return f"NC{SPACE[rank]}" if channels_first else f"N{SPACE[rank]}C"


def spatial(sizes: list, channels_first: bool) -> list:
    return sizes[2:] if channels_first else sizes[1:-1]


def to_first(x: Expr) -> Expr:
    """Returns images (N, .., C) as (N, C, ..)."""
    rank = len(shape_of(x))
    return op.transpose(x, axes=[0, rank - 1, *range(1, rank - 1)])


def to_last(x: Expr) -> Expr:
    """Returns images (N, C, ..) as (N, .., C)."""
    rank = len(shape_of(x))
    return op.transpose(x, axes=[0, *range(2, rank), 1])


def same_padding(sizes: list, window: list[int], strides: list[int], dilation: list[int]) -> list[int]:
    """Returns the padding that Keras and TensorFlow call "same", before all axes and after all axes: ceil(n / stride)
    positions, the odd element after."""
    before, after = [], []
    for size, k, s, d in zip(sizes, window, strides, dilation, strict=True):
        reach = (k - 1) * d + 1
        if s == 1:
            total = reach - 1
        elif isinstance(size, int):
            total = max((math.ceil(size / s) - 1) * s + reach - size, 0)
        else:
            raise Refused('"same" padding of a window in steps needs the size of the image', GIVE_SHAPES)
        before.append(total // 2)
        after.append(total - total // 2)
    return before + after
