"""Pooling, and layers that change shapes."""

from __future__ import annotations

from collections.abc import Sequence

from ... import op
from ...errors import bad_option
from ..module import Module
from ..trace import input_type
from .conv import Sizes, sizes


class _Pool(Module):
    rank, kind = 0, ""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False):
        super().__init__()
        self.kernel_size, self.padding, self.ceil_mode = (
            sizes(kernel_size, self.rank),
            sizes(padding, self.rank),
            ceil_mode,
        )
        self.stride = self.kernel_size if stride is None else sizes(stride, self.rank)

    def forward(self, x):
        more = {"count_include_pad": True} if self.kind == "avg" else {}
        pool = getattr(op.nn, f"{self.kind}_pool{self.rank}d")
        return pool(
            x,
            pool_size=list(self.kernel_size),
            strides=list(self.stride),
            padding=list(self.padding),
            ceil_mode=self.ceil_mode,
            **more,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool1d(_Pool):
    """The maximum of windows of (N, C, W)."""

    rank, kind = 1, "max"


class MaxPool2d(_Pool):
    """The maximum of windows of (N, C, H, W)."""

    rank, kind = 2, "max"


class MaxPool3d(_Pool):
    """The maximum of windows of (N, C, D, H, W)."""

    rank, kind = 3, "max"


class AvgPool1d(_Pool):
    """The mean of windows of (N, C, W). Padding counts as zeros."""

    rank, kind = 1, "avg"


class AvgPool2d(_Pool):
    """The mean of windows of (N, C, H, W). Padding counts as zeros."""

    rank, kind = 2, "avg"


class AvgPool3d(_Pool):
    """The mean of windows of (N, C, D, H, W). Padding counts as zeros."""

    rank, kind = 3, "avg"


class _Adaptive(Module):
    rank, kind = 0, ""

    def __init__(self, output_size: Sizes):
        super().__init__()
        self.output_size = sizes(output_size, self.rank)

    def forward(self, x):
        return getattr(op.nn, f"adaptive_{self.kind}_pool{self.rank}d")(x, output_size=list(self.output_size))

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The mean of windows of (N, C, W), as many as output_size."""

    rank, kind = 1, "avg"


class AdaptiveAvgPool2d(_Adaptive):
    """The mean of windows of (N, C, H, W), as many as output_size."""

    rank, kind = 2, "avg"


class AdaptiveMaxPool2d(_Adaptive):
    """The maximum of windows of (N, C, H, W), as many as output_size."""

    rank, kind = 2, "max"


class Flatten(Module):
    """Joins the axes from start_dim to end_dim."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        rank = len(input_type(x).shape)
        begin, end = self.start_dim % rank, self.end_dim % rank
        if begin > end:
            raise bad_option(
                f"axes {self.start_dim} to {self.end_dim} of {rank}", "give the first axis before the last"
            )
        return _joined(x, begin, end)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


def _joined(x, begin: int, end: int):
    """Joins axes. At most one size of the result is computed by reshape; sizes behind are copied."""
    shape = input_type(x).shape
    behind = [int(size) for size in shape[end + 1 :]]
    return op.reshape(x, newshape=[0] * begin + [-1] + behind)


class Unflatten(Module):
    """Splits an axis into several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x):
        shape = input_type(x).shape
        dim = self.dim % len(shape)
        behind = [int(size) for size in shape[dim + 1 :]]
        return op.reshape(x, newshape=[0] * dim + list(self.unflattened_size) + behind)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Upsample(Module):
    """Scales images (N, C, H, W) by a factor. mode: "nearest" or "bilinear"."""

    def __init__(self, scale_factor: float | Sequence[float], mode: str = "nearest", align_corners: bool = False):
        super().__init__()
        if mode not in ("nearest", "bilinear"):
            raise bad_option(f"the mode of an upsampling is {mode!r}", "give 'nearest' or 'bilinear'")
        self.scale_factor = (scale_factor,) * 2 if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
        self.mode, self.align_corners = mode, align_corners

    def forward(self, x):
        h, w = map(float, self.scale_factor)
        if self.mode == "nearest":
            return op.nn.upsampling(x, scale_h=h, scale_w=w)
        size = [int(extent * scale) for extent, scale in zip(input_type(x).shape[2:], (h, w), strict=True)]
        how = "align_corners" if self.align_corners else "half_pixel"
        return op.image.resize2d(x, size=size, method="linear", coordinate_transformation_mode=how)

    def extra_repr(self) -> str:
        return f"scale_factor={self.scale_factor}, mode={self.mode!r}"
