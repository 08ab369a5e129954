"""Activations, dropout and layers of shapes."""

from __future__ import annotations

import numpy as np

from ... import op
from ...errors import bad_option
from ...ir.expr import const
from ..module import Module
from ..parameter import Parameter, constant


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x):
        return op.nn.relu(x)


class ReLU6(Module):
    """min(max(x, 0), 6)."""

    def forward(self, x):
        return op.clip(x, 0.0, 6.0)


class LeakyReLU(Module):
    """x, or negative_slope * x if x is negative."""

    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x):
        return op.nn.leaky_relu(x, alpha=self.negative_slope)

    def extra_repr(self) -> str:
        return f"{self.negative_slope}"


class PReLU(Module):
    """x, or weight * x if x is negative. weight: (1,), or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25):
        super().__init__()
        self.weight = Parameter(shape=(num_parameters,), init=constant(init))

    def forward(self, x):
        return op.nn.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}"


class ELU(Module):
    """x, or alpha * (exp(x) - 1) if x is negative."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        negative = op.multiply(const(np.float32(self.alpha)), op.expm1(op.minimum(x, const(np.float32(0)))))
        return op.add(op.nn.relu(x), negative)

    def extra_repr(self) -> str:
        return f"{self.alpha}"


class GELU(Module):
    """x Phi(x), or with approximate "tanh" its approximation."""

    def __init__(self, approximate: str = "none"):
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise bad_option(f"approximate is {approximate!r}", "give 'none' or 'tanh'")
        self.approximate = approximate

    def forward(self, x):
        if self.approximate == "none":
            return op.nn.gelu(x)
        number = lambda value: const(np.float32(value))  # noqa: E731
        cube = op.multiply(op.multiply(x, x), x)
        inner = op.add(x, op.multiply(number(0.044715), cube))
        # (1 + tanh(y)) / 2 is sigmoid(2 y), in which no digits cancel.
        return op.multiply(x, op.sigmoid(op.multiply(number(2 * np.sqrt(2 / np.pi)), inner)))

    def extra_repr(self) -> str:
        return "" if self.approximate == "none" else f"approximate={self.approximate!r}"


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x):
        return op.sigmoid(x)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, x):
        return op.tanh(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x):
        return op.multiply(x, op.sigmoid(x))


class Hardswish(Module):
    """x * min(max(x + 3, 0), 6) / 6."""

    def forward(self, x):
        inner = op.clip(op.add(x, const(np.float32(3))), 0.0, 6.0)
        return op.multiply(x, op.multiply(inner, const(np.float32(1 / 6))))


class Softplus(Module):
    """log(1 + exp(x))."""

    def forward(self, x):
        return op.nn.softplus(x)


class Softmax(Module):
    """exp(x) / sum(exp(x)) along an axis."""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return op.nn.softmax(x, axis=self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """log(softmax(x)) along an axis."""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return op.nn.log_softmax(x, axis=self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Identity(Module):
    """x."""

    def forward(self, x):
        return x


class Dropout(Module):
    """In training, sets elements to 0 with probability p and divides the others by 1 - p. Otherwise x."""

    has_training_form = True

    def __init__(self, p: float = 0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise bad_option(f"the rate of a dropout is {p}", "give a number from 0 to 1")
        self.p = p

    def forward(self, x):
        return op.nn.dropout(x, rate=self.p) if self.training and self.p > 0 else x

    def extra_repr(self) -> str:
        return f"p={self.p}"
