"""Convolutions: plain, transposed, depthwise, separable, causal; over one, two or three axes."""

from __future__ import annotations

import numpy as np

from ... import op
from ..shared.problems import Refused
from ..shared.windows import CONVOLUTIONS, SPACE, TRANSPOSED, layout, same_padding, spatial
from .activations import activate
from .conversion import Conversion, each, known, shape_of


def padding_of(kind, sizes: list, kernel: list[int], strides: list[int], dilation: list[int]) -> list[int]:
    """Returns the padding, before all axes and after all axes."""
    if kind == "valid":
        return [0] * (2 * len(kernel))
    if kind == "same":
        return same_padding(sizes, kernel, strides, dilation)
    if kind == "causal" and len(kernel) == 1:
        return [(kernel[0] - 1) * dilation[0], 0]
    raise Refused(f"the padding {kind!r} is not one of Keras")


def convolve(x, kernel, strides, dilation, padding, channels_first: bool, groups: int, constant):
    """Returns the convolution of images with a kernel (.., in / groups, out), in Keras's order of axes."""
    rank = kernel.ndim - 2
    sizes = shape_of(x)
    channels = known(sizes[1 if channels_first else -1], "the kernel of a convolution")
    if groups < 1 or channels != kernel.shape[-2] * groups or kernel.shape[-1] % groups:
        raise Refused(
            f"the kernel has {kernel.shape[-2]} channels in each of {groups} groups, and the image {channels}",
            "the weights belong to another configuration: save the model again",
        )
    return CONVOLUTIONS[rank](
        x,
        constant(kernel),
        strides=strides,
        padding=padding_of(padding, spatial(sizes, channels_first), list(kernel.shape[:-2]), strides, dilation),
        dilation=dilation,
        groups=groups,
        channels=kernel.shape[-1],
        kernel_size=list(kernel.shape[:-2]),
        data_layout=layout(rank, channels_first),
        kernel_layout=f"{SPACE[rank]}IO",
    )


def add_bias(c: Conversion, made, name: str = "bias"):
    """Returns the sum with the bias of each channel, after which the activation is applied."""
    if c("use_bias", True):
        channels = shape_of(made)[1 if c.channels_first else -1]
        made = op.nn.bias_add(made, c.weight(name, [channels]), axis=1 if c.channels_first else -1)
    return activate(c, c("activation"), made)


def _rank(c: Conversion) -> int:
    """Returns the number of axes of space. A call may have more axes of batches; these are refused."""
    rank = c.layer.kind.removesuffix("Transpose")[-2:]
    rank = int(rank[0]) if rank in ("1D", "2D", "3D") else c.rank - 2
    if c.rank != rank + 2:
        raise Refused(f"its input has {c.rank} axes, not {rank + 2}")
    return rank


def conv(c: Conversion):
    rank = _rank(c)
    size = c.each("kernel_size", rank)
    kernel = c.array("kernel", [*size, None, c.int_of("filters")])
    made = convolve(
        c.x, kernel, c.each("strides", rank), c.each("dilation_rate", rank), c("padding", "valid"), c.channels_first,
        c.int_of("groups", 1), c.constant,
    )  # fmt: skip
    return add_bias(c, made)


def _grouped(kernel: np.ndarray) -> np.ndarray:
    """Returns a depthwise kernel (.., channels, multiplier) as (.., 1, channels * multiplier)."""
    return kernel.reshape(*kernel.shape[:-2], 1, -1)


def depthwise(c: Conversion):
    rank = _rank(c)
    kernel = c.array("depthwise_kernel", [*c.each("kernel_size", rank), None, c.int_of("depth_multiplier", 1)])
    made = convolve(
        c.x, _grouped(kernel), c.each("strides", rank), c.each("dilation_rate", rank), c("padding", "valid"),
        c.channels_first, kernel.shape[-2], c.constant,
    )  # fmt: skip
    return add_bias(c, made)


def separable(c: Conversion):
    rank = _rank(c)
    kernel = c.array("depthwise_kernel", [*c.each("kernel_size", rank), None, c.int_of("depth_multiplier", 1)])
    point = c.array("pointwise_kernel", [*[1] * rank, kernel.shape[-2] * kernel.shape[-1], c.int_of("filters")])
    made = convolve(
        c.x, _grouped(kernel), c.each("strides", rank), c.each("dilation_rate", rank), c("padding", "valid"),
        c.channels_first, kernel.shape[-2], c.constant,
    )  # fmt: skip
    ones = [1] * rank
    made = convolve(made, point, ones, ones, "valid", c.channels_first, 1, c.constant)
    return add_bias(c, made)


def transposed(c: Conversion):
    """The gradient of a convolution with respect to its image, as TensorFlow crops it."""
    rank = _rank(c)
    size, strides = c.each("kernel_size", rank), c.each("strides", rank)
    dilation = c.each("dilation_rate", rank)
    added = each(c("output_padding"), rank) if c("output_padding") is not None else [None] * rank
    channels = c.size(1 if c.channels_first else -1, "the kernel of a convolution")
    filters = c.int_of("filters")
    kernel = c.array("kernel", [*size, filters, channels])
    crop, extra = _crop(c("padding", "valid"), size, strides, dilation, added)
    made = TRANSPOSED[rank](
        c.x,
        c.constant(kernel),
        strides=strides,
        padding=crop,
        dilation=dilation,
        output_padding=extra,
        channels=filters,
        kernel_size=size,
        data_layout=layout(rank, c.channels_first),
        kernel_layout=f"{SPACE[rank]}OI",
    )
    return add_bias(c, made)


def _crop(kind, size, strides, dilation, added) -> tuple[list[int], list[int]]:
    """Returns the elements cut off before and after all axes, and the elements added after each axis.

    The whole result has (n - 1) * stride + reach positions. Keras keeps n * stride of them with "same", at least
    n * stride with "valid"; with output_padding p, (n - 1) * stride + reach - 2 * pad + p.
    """
    before, after, extra = [], [], []
    for k, s, d, p in zip(size, strides, dilation, added, strict=True):
        reach = (k - 1) * d + 1
        if kind not in ("same", "valid"):
            raise Refused(f"the padding {kind!r} of a transposed convolution")
        if p is not None:
            cut = 2 * (reach // 2 if kind == "same" else 0) - p
        else:
            cut = reach - s if kind == "same" else min(reach - s, 0)
        begin = max(cut, 0) // 2 if kind == "same" else 0
        before.append(begin)
        after.append(max(cut - begin, 0))
        extra.append(max(-(cut - begin), 0))
    return before + after, extra
