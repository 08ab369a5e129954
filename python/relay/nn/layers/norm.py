"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import op
from ...errors import not_supported
from ...ir.expr import const
from ...script.program import active
from ..module import Module
from ..parameter import Parameter, buffer, ones, zeros
from ..trace import input_type


class _BatchNorm(Module):
    has_training_form = True

    def __init__(
        self, num_features: int | None = None, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.weight = Parameter(shape=(num_features,), init=ones) if affine else None
        self.bias = Parameter(shape=(num_features,), init=zeros) if affine else None
        self.running_mean = buffer(shape=(num_features,), init=zeros)
        self.running_var = buffer(shape=(num_features,), init=ones)
        self.num_batches_tracked = buffer(np.zeros((), np.int64))

    def forward(self, x):
        program = active()
        if program.training and not self.training:
            return self._fixed(x)
        gamma, beta = (
            (self.weight, self.bias)
            if self.affine
            else (op.ones_like(self.running_mean), op.zeros_like(self.running_mean))
        )
        out = op.nn.batch_norm(x, gamma, beta, self.running_mean, self.running_var, epsilon=self.eps)[0]
        if program.training:
            self._update(x)
        return out

    def _fixed(self, x):
        """Normalises by the moving statistics, in the meaning of inference whatever the mode of the program is."""
        rank = len(input_type(x).shape)
        scale = op.rsqrt(op.add(self.running_var, const(np.float32(self.eps))))
        scale = op.multiply(scale, self.weight) if self.affine else scale
        shift = op.negative(op.multiply(self.running_mean, scale))
        shift = op.add(shift, self.bias) if self.affine else shift
        more = rank - 2
        along = (lambda v: op.expand_dims(v, axis=1, num_newaxis=more)) if more else (lambda v: v)
        return op.add(op.multiply(x, along(scale)), along(shift))

    def _update(self, x) -> None:
        """Adds the new moving statistics to the program: those of torch, with the unbiased variance."""
        program = active()
        axes = [axis for axis in range(len(input_type(x).shape)) if axis != 1]
        kept = op.mean(x, axis=axes, keepdims=True)
        mean, variance = op.squeeze(kept, axis=axes), op.variance(x, axis=axes, unbiased=True)
        count = op.add(self.num_batches_tracked, const(np.int64(1)))
        if self.momentum is None:
            share = op.divide(const(np.float32(1)), op.cast(count, dtype="float32"))
        else:
            share = const(np.float32(self.momentum))
        rest = op.subtract(const(np.float32(1)), share)
        for moving, now in ((self.running_mean, mean), (self.running_var, variance)):
            program.updates[moving] = op.add(op.multiply(moving, rest), op.multiply(now, share))
        program.updates[self.num_batches_tracked] = count

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}" + (
            "" if self.affine else ", affine=False"
        )


class BatchNorm1d(_BatchNorm):
    """Normalises the channels of (N, C) or (N, C, W). weight, bias: (C,); running_mean, running_var: (C,).

    In training, the statistics are those of the batch, and the moving ones are updated: new = (1 - momentum) * old +
    momentum * batch, as in PyTorch. num_features may be None.
    """


class BatchNorm2d(_BatchNorm):
    """Normalises the channels of (N, C, H, W), as BatchNorm1d."""


class BatchNorm3d(_BatchNorm):
    """Normalises the channels of (N, C, D, H, W), as BatchNorm1d."""


class LayerNorm(Module):
    """Normalises the last axis, then scales and shifts it. weight, bias: (C,), where C is normalized_shape.

    normalized_shape may be None: it is inferred.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int] | None = None,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ):
        super().__init__()
        shape = (
            (normalized_shape,)
            if normalized_shape is None or isinstance(normalized_shape, int)
            else tuple(normalized_shape)
        )
        if len(shape) != 1:
            raise not_supported(
                f"LayerNorm over {len(shape)} axes", "join them with reshape, and normalise the last axis"
            )
        self.eps, self.affine = eps, elementwise_affine
        self.weight = Parameter(shape=shape, init=ones) if elementwise_affine else None
        self.bias = Parameter(shape=shape, init=zeros) if elementwise_affine and bias else None

    def forward(self, x):
        gamma, beta = self.weight, self.bias
        if gamma is None or beta is None:
            flat = op.zeros_like(op.mean(x, axis=list(range(len(input_type(x).shape) - 1))))
            gamma, beta = gamma or op.add(flat, const(np.float32(1))), beta or flat
        return op.nn.layer_norm(x, gamma, beta, epsilon=self.eps)

    def extra_repr(self) -> str:
        return f"{self.weight.shape if self.affine else ''}, eps={self.eps}"


class RMSNorm(Module):
    """Divides the last axis by the root of its mean square, then scales it. weight: (C,).

    eps None: the resolution of float32, 1.2e-7.
    """

    def __init__(self, normalized_shape: int | None = None, eps: float | None = None):
        super().__init__()
        self.eps = float(np.finfo(np.float32).eps) if eps is None else eps
        self.weight = Parameter(shape=(normalized_shape,), init=ones)

    def forward(self, x):
        return op.nn.rms_norm(x, self.weight, epsilon=self.eps)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}"


class GroupNorm(Module):
    """Normalises groups of channels of (N, C, ..). weight, bias: (C,)."""

    def __init__(self, num_groups: int, num_channels: int | None = None, eps: float = 1e-5, affine: bool = True):
        super().__init__()
        self.num_groups, self.eps, self.affine = num_groups, eps, affine
        self.weight = Parameter(shape=(num_channels,), init=ones) if affine else None
        self.bias = Parameter(shape=(num_channels,), init=zeros) if affine else None

    def forward(self, x):
        gamma, beta = (self.weight, self.bias) if self.affine else _flat(x)
        return op.nn.group_norm(x, gamma, beta, num_groups=self.num_groups, epsilon=self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.weight.shape[0] if self.affine else None}, eps={self.eps}"


class _InstanceNorm(Module):
    def __init__(self, num_features: int | None = None, eps: float = 1e-5, affine: bool = False):
        super().__init__()
        self.num_features, self.eps, self.affine = num_features, eps, affine
        self.weight = Parameter(shape=(num_features,), init=ones) if affine else None
        self.bias = Parameter(shape=(num_features,), init=zeros) if affine else None

    def forward(self, x):
        gamma, beta = (self.weight, self.bias) if self.affine else _flat(x)
        return op.nn.instance_norm(x, gamma, beta, epsilon=self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, affine={self.affine}"


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of each element of (N, C, W)."""


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of each element of (N, C, H, W)."""


def _flat(x):
    """Returns a scale of ones and a shift of zeros for the channels of x."""
    rank = len(input_type(x).shape)
    zero = op.zeros_like(op.mean(x, axis=[axis for axis in range(rank) if axis != 1]))
    return op.add(zero, const(np.float32(1))), zero
