"""Convolutions over one, two and three axes, and their transposes."""

from __future__ import annotations

from collections.abc import Sequence

from ... import op
from ...errors import bad_option
from ..module import Module
from ..parameter import Parameter, bias_of, kaiming_uniform

Sizes = int | Sequence[int]


def sizes(value: Sizes, rank: int) -> tuple[int, ...]:
    """Returns one size for each axis."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


class _Convolution(Module):
    rank = 0

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ):
        super().__init__()
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = (
            sizes(one, self.rank) for one in (kernel_size, stride, dilation)
        )
        self.padding = self._padding(padding)
        inputs = None if in_channels is None else in_channels // groups
        self.weight = Parameter(shape=(out_channels, inputs, *self.kernel_size), init=kaiming_uniform)
        self.bias = Parameter(shape=(out_channels,), init=bias_of(self.weight)) if bias else None

    def _padding(self, padding) -> tuple[int, ...]:
        if padding == "valid":
            return (0,) * self.rank
        if padding == "same":
            if any(one != 1 for one in self.stride):
                raise bad_option("padding 'same' with a stride", "use stride 1, or give the padding as numbers")
            both = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return (*(one // 2 for one in both), *(one - one // 2 for one in both))
        return sizes(padding, self.rank)

    def forward(self, x):
        convolution = getattr(op.nn, f"conv{self.rank}d")
        x = convolution(
            x,
            self.weight,
            strides=list(self.stride),
            padding=list(self.padding),
            dilation=list(self.dilation),
            groups=self.groups,
            channels=self.out_channels,
            kernel_size=list(self.kernel_size),
        )
        return x if self.bias is None else op.nn.bias_add(x, self.bias)

    def extra_repr(self) -> str:
        more = [
            f"{name}={value}"
            for name, value, usual in (
                ("padding", self.padding, (0,) * self.rank),
                ("dilation", self.dilation, (1,) * self.rank),
                ("groups", self.groups, 1),
                ("bias", self.bias is not None, True),
            )
            if value != usual
        ]
        return ", ".join(
            [
                f"{self.in_channels}, {self.out_channels}",
                f"kernel_size={self.kernel_size}",
                f"stride={self.stride}",
                *more,
            ]
        )


class Conv1d(_Convolution):
    """A convolution of (N, C, W). weight: (out, in / groups, KW), bias: (out,). in_channels may be None."""

    rank = 1


class Conv2d(_Convolution):
    """A convolution of (N, C, H, W). weight: (out, in / groups, KH, KW), bias: (out,). in_channels may be None."""

    rank = 2


class Conv3d(_Convolution):
    """A convolution of (N, C, D, H, W). weight: (out, in / groups, KD, KH, KW), bias: (out,).
    in_channels may be None."""

    rank = 3


class _Transposed(Module):
    rank = 0

    def __init__(
        self,
        in_channels: int | None,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
    ):
        super().__init__()
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        given = (kernel_size, stride, padding, output_padding, dilation)
        self.kernel_size, self.stride, self.padding, self.output_padding, self.dilation = (
            sizes(one, self.rank) for one in given
        )
        self.weight = Parameter(shape=(in_channels, out_channels // groups, *self.kernel_size), init=kaiming_uniform)
        self.bias = Parameter(shape=(out_channels,), init=bias_of(self.weight)) if bias else None

    def forward(self, x):
        convolution = getattr(op.nn, f"conv{self.rank}d_transpose")
        x = convolution(
            x,
            self.weight,
            channels=self.out_channels,
            kernel_size=list(self.kernel_size),
            strides=list(self.stride),
            output_padding=list(self.output_padding),
            padding=list(self.padding),
            dilation=list(self.dilation),
            groups=self.groups,
        )
        return x if self.bias is None else op.nn.bias_add(x, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"


class ConvTranspose1d(_Transposed):
    """A transposed convolution of (N, C, W). weight: (in, out / groups, KW), bias: (out,)."""

    rank = 1


class ConvTranspose2d(_Transposed):
    """A transposed convolution of (N, C, H, W). weight: (in, out / groups, KH, KW), bias: (out,)."""

    rank = 2


class ConvTranspose3d(_Transposed):
    """A transposed convolution of (N, C, D, H, W). weight: (in, out / groups, KD, KH, KW), bias: (out,)."""

    rank = 3
