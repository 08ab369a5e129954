"""Optimisers that keep at most one momentum."""

from __future__ import annotations

import dataclasses

from ... import op
from ...errors import bad_option
from ..formulas import meets, scalar
from .optimiser import Optimiser, decayed, directed, like


@dataclasses.dataclass(frozen=True)
class SGD(Optimiser):
    """Stochastic gradient descent. buf = momentum buf + (1 - dampening) g, and g itself at the first step. The
    direction is buf, or g + momentum buf with `nesterov`."""

    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    maximize: bool = False

    def __post_init__(self):
        super().__post_init__()
        self._not_negative("momentum")
        if self.nesterov and (not self.momentum or self.dampening):
            raise bad_option("SGD: nesterov needs a momentum and no dampening", "give momentum=0.9, dampening=0")

    def slots(self, type_):
        return {"momentum_buffer": like(type_)} if self.momentum else {}

    def update(self, p, g, state, t):
        direction = g = directed(p, g, self.maximize, self.weight_decay)
        if self.momentum:
            buf = state["momentum_buffer"] * self.momentum + g * (1 - self.dampening)
            if self.dampening:
                buf = op.where(op.equal(t, scalar(1)), g, buf)
            state["momentum_buffer"] = buf
            buf = state["momentum_buffer"]
            direction = g + buf * self.momentum if self.nesterov else buf
        return p - direction * meets(self.rate(t), p)


@dataclasses.dataclass(frozen=True)
class Lion(Optimiser):
    """Lion (arxiv.org/abs/2302.06675): the sign of a mix of momentum and gradient, with decoupled weight decay."""

    lr: object = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    maximize: bool = False

    def slots(self, type_):
        return {"exp_avg": like(type_)}

    def update(self, p, g, state, t):
        b1, b2 = self.betas
        m, rate = state["exp_avg"], self.rate(t)
        g = directed(p, g, self.maximize, 0)
        sign = op.sign(m * b1 + g * (1 - b1))
        state["exp_avg"] = m * b2 + g * (1 - b2)
        return decayed(p, rate, self.weight_decay) - sign * meets(rate, p)
