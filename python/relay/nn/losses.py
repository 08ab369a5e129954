"""Losses as layers without parameters."""

from __future__ import annotations

import numpy as np

from .. import op
from ..errors import bad_option
from ..ir.expr import const
from .module import Module
from .trace import input_type


class _Loss(Module):
    def __init__(self, reduction: str = "mean"):
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise bad_option(f"the reduction is {reduction!r}", "give 'mean', 'sum' or 'none'")
        self.reduction = reduction

    def reduced(self, values):
        """Returns the mean, the sum or all values."""
        return values if self.reduction == "none" else getattr(op, self.reduction)(values)

    def extra_repr(self) -> str:
        return "" if self.reduction == "mean" else f"reduction={self.reduction!r}"


class MSELoss(_Loss):
    """The squared difference."""

    def forward(self, x, target):
        difference = op.subtract(x, target)
        return self.reduced(op.multiply(difference, difference))


class L1Loss(_Loss):
    """The absolute difference."""

    def forward(self, x, target):
        return self.reduced(op.abs(op.subtract(x, target)))


class NLLLoss(_Loss):
    """The negative log likelihood of classes. x: logarithms of probabilities (N, C, ..), target: integers (N, ..)."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        super().__init__(reduction)
        self.ignore_index = ignore_index

    def forward(self, x, target):
        classes = input_type(x).shape[1]
        return op.nn.nll_loss(
            x,
            target,
            op.ones(shape=[classes], dtype="float32"),
            reduction=self.reduction,
            ignore_index=self.ignore_index,
        )


class CrossEntropyLoss(NLLLoss):
    """The cross entropy of classes. x: scores (N, C, ..), target: integers (N, ..)."""

    def forward(self, x, target):
        return super().forward(op.nn.log_softmax(x, axis=1), target)


class BCEWithLogitsLoss(_Loss):
    """The binary cross entropy of scores with targets in [0, 1]."""

    def forward(self, x, target):
        # max(x, 0) - x t + log(1 + exp(-|x|)), which does not overflow
        linear = op.subtract(op.maximum(x, const(np.float32(0))), op.multiply(x, target))
        return self.reduced(op.add(linear, op.log1p(op.exp(op.negative(op.abs(x))))))
