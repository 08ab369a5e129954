"""Optimisers that divide by the size of past gradients."""

from __future__ import annotations

import dataclasses

from ... import op
from ..formulas import lerp, meets
from .optimiser import Optimiser, directed, like


@dataclasses.dataclass(frozen=True)
class Adagrad(Optimiser):
    """Adagrad: the rate is divided by the root of the sum of all squared gradients so far."""

    lr: object = 1e-2
    lr_decay: float = 0.0
    weight_decay: float = 0.0
    initial_accumulator_value: float = 0.0
    eps: float = 1e-10
    maximize: bool = False

    def slots(self, type_):
        return {"sum": like(type_, self.initial_accumulator_value)}

    def update(self, p, g, state, t):
        g = directed(p, g, self.maximize, self.weight_decay)
        state["sum"] = state["sum"] + g * g
        rate = self.rate(t) / ((t - 1.0) * self.lr_decay + 1.0)
        return p - meets(rate, p) * g / (op.sqrt(state["sum"]) + self.eps)


@dataclasses.dataclass(frozen=True)
class RMSprop(Optimiser):
    """RMSprop: the gradient is divided by the root of the average of its square, or of its variance if `centered`."""

    lr: object = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False
    maximize: bool = False

    def slots(self, type_):
        names = ["square_avg"] + ["grad_avg"] * self.centered + ["momentum_buffer"] * bool(self.momentum)
        return {name: like(type_) for name in names}

    def update(self, p, g, state, t):
        g = directed(p, g, self.maximize, self.weight_decay)
        state["square_avg"] = state["square_avg"] * self.alpha + g * g * (1 - self.alpha)
        variance = state["square_avg"]
        if self.centered:
            state["grad_avg"] = lerp(state["grad_avg"], g, 1 - self.alpha)
            variance = variance - state["grad_avg"] * state["grad_avg"]
        below = op.sqrt(variance) + self.eps
        rate = meets(self.rate(t), p)
        if not self.momentum:
            return p - rate * g / below
        state["momentum_buffer"] = state["momentum_buffer"] * self.momentum + g / below
        return p - state["momentum_buffer"] * rate


@dataclasses.dataclass(frozen=True)
class Adadelta(Optimiser):
    """Adadelta (arxiv.org/abs/1212.5701): the units of the update are those of past updates."""

    lr: object = 1.0
    rho: float = 0.9
    eps: float = 1e-6
    weight_decay: float = 0.0
    maximize: bool = False

    def slots(self, type_):
        return {"square_avg": like(type_), "acc_delta": like(type_)}

    def update(self, p, g, state, t):
        g = directed(p, g, self.maximize, self.weight_decay)
        state["square_avg"] = state["square_avg"] * self.rho + g * g * (1 - self.rho)
        delta = op.sqrt(state["acc_delta"] + self.eps) / op.sqrt(state["square_avg"] + self.eps) * g
        state["acc_delta"] = state["acc_delta"] * self.rho + delta * delta * (1 - self.rho)
        return p - delta * meets(self.rate(t), p)
