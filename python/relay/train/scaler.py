"""Scaling of the loss, so that gradients in float16 do not become zero: torch.amp.GradScaler, in the program."""

from __future__ import annotations

import dataclasses

from .. import op
from .._core import Expr
from ..errors import bad_option
from ..ir.expr import const


@dataclasses.dataclass(frozen=True)
class LossScaler:
    """Options of the scale, with PyTorch's defaults.

    The loss is multiplied by the scale, and the gradients are divided by it. If one of them is not finite, the step is
    skipped and the scale is multiplied by `backoff`; after `interval` steps in a row that were not skipped it is
    multiplied by `growth`, unless it would become infinite. A scale below `floor` ends the training with a diagnostic.
    """

    start: float = 2.0**16
    growth: float = 2.0
    backoff: float = 0.5
    interval: int = 2000
    floor: float = 1.0

    def __post_init__(self):
        if not (self.start > 0 and self.growth > 1 and 0 < self.backoff < 1 and self.interval >= 1):
            raise bad_option(
                f"these options contradict each other: {self}",
                "start is above 0, growth above 1, backoff between 0 and 1, and interval at least 1",
            )

    def next(self, scale: Expr, good: Expr, finite: Expr) -> tuple[Expr, Expr]:
        """Returns the scale (float32) and the number of good steps in a row (int32) after a step."""
        more = good + const(1, "int32")
        grown = op.multiply(scale, const(self.growth, "float32"))
        is_due = op.equal(more, const(self.interval, "int32"))
        after_good = op.where(op.logical_and(is_due, op.isfinite(grown)), grown, scale)
        new_scale = op.where(finite, after_good, op.multiply(scale, const(self.backoff, "float32")))
        zero = const(0, "int32")
        return new_scale, op.where(finite, op.where(is_due, zero, more), zero)
