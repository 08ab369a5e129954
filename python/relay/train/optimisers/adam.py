"""Adam and its relatives: moving averages of the gradient and of its square, with corrections of their bias."""

from __future__ import annotations

import dataclasses

from ... import op
from ..._core import Expr
from ..formulas import lerp, meets, scalar
from .optimiser import Optimiser, Slot, State, decayed, directed, like


def unbias(beta: float, t: Expr) -> Expr:
    """Returns 1 - beta^t, a float64 scalar."""
    return scalar(1.0) - op.power(scalar(beta), t)


def moments(g: Expr, state: State, betas: tuple[float, float]) -> tuple[Expr, Expr]:
    """Updates and returns the averages of the gradient and of its square."""
    b1, b2 = betas
    state["exp_avg"] = lerp(state["exp_avg"], g, 1 - b1)
    state["exp_avg_sq"] = state["exp_avg_sq"] * b2 + g * g * (1 - b2)
    return state["exp_avg"], state["exp_avg_sq"]


@dataclasses.dataclass(frozen=True)
class Adam(Optimiser):
    """Adam (arxiv.org/abs/1412.6980). `amsgrad` divides by the greatest average of squares so far."""

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = False
    maximize: bool = False
    decoupled_weight_decay: bool = False

    def slots(self, type_):
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * self.amsgrad
        return {name: like(type_) for name in names}

    def update(self, p, g, state, t):
        rate = self.rate(t)
        g = directed(p, g, self.maximize, 0 if self.decoupled_weight_decay else self.weight_decay)
        p_decayed = decayed(p, rate, self.weight_decay) if self.decoupled_weight_decay else p
        m, v = moments(g, state, self.betas)
        if self.amsgrad:
            state["max_exp_avg_sq"] = op.maximum(state["max_exp_avg_sq"], v)
            v = state["max_exp_avg_sq"]
        size = meets(rate / unbias(self.betas[0], t), p)
        below = op.sqrt(v) / meets(op.sqrt(unbias(self.betas[1], t)), p) + self.eps
        return p_decayed - size * m / below


@dataclasses.dataclass(frozen=True)
class AdamW(Adam):
    """Adam with decoupled weight decay (arxiv.org/abs/1711.05101): p (1 - lr weight_decay) before each update."""

    weight_decay: float = 1e-2
    decoupled_weight_decay: bool = True


@dataclasses.dataclass(frozen=True)
class AMSGrad(Adam):
    """Adam with amsgrad=True (openreview.net/forum?id=ryQu7f-RZ)."""

    amsgrad: bool = True


@dataclasses.dataclass(frozen=True)
class Adamax(Optimiser):
    """Adam with the greatest decayed magnitude in place of the average of squares."""

    lr: object = 2e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    maximize: bool = False

    def slots(self, type_):
        return {"exp_avg": like(type_), "exp_inf": like(type_)}

    def update(self, p, g, state, t):
        g = directed(p, g, self.maximize, self.weight_decay)
        state["exp_avg"] = lerp(state["exp_avg"], g, 1 - self.betas[0])
        state["exp_inf"] = op.maximum(state["exp_inf"] * self.betas[1], op.abs(g) + self.eps)
        return p - meets(self.rate(t) / unbias(self.betas[0], t), p) * state["exp_avg"] / state["exp_inf"]


@dataclasses.dataclass(frozen=True)
class NAdam(Optimiser):
    """Adam with Nesterov's momentum. The momentum of step t is betas[0] (1 - 0.96^(t momentum_decay) / 2); its product
    so far is state."""

    lr: object = 2e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum_decay: float = 4e-3
    maximize: bool = False
    decoupled_weight_decay: bool = False

    def slots(self, type_):
        return {"exp_avg": like(type_), "exp_avg_sq": like(type_), "mu_product": Slot((), "float64", 1.0)}

    def _momentum(self, t: Expr) -> Expr:
        return (op.power(scalar(0.96), t * self.momentum_decay) * -0.5 + 1.0) * self.betas[0]

    def update(self, p, g, state, t):
        rate = self.rate(t)
        g = directed(p, g, self.maximize, 0 if self.decoupled_weight_decay else self.weight_decay)
        p_decayed = decayed(p, rate, self.weight_decay) if self.decoupled_weight_decay else p
        m, v = moments(g, state, self.betas)
        now, following = self._momentum(t), self._momentum(t + 1.0)
        product = state["mu_product"] * now
        state["mu_product"] = product
        below = op.sqrt(v / meets(unbias(self.betas[1], t), p)) + self.eps
        of_g = rate * (scalar(1.0) - now) / (scalar(1.0) - product)
        of_m = rate * following / (scalar(1.0) - product * following)
        return p_decayed - meets(of_g, p) * g / below - meets(of_m, p) * m / below


@dataclasses.dataclass(frozen=True)
class RAdam(Optimiser):
    """Rectified Adam (arxiv.org/abs/1908.03265): momentum alone while the adaptive rate varies too much."""

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decoupled_weight_decay: bool = False
    maximize: bool = False

    def slots(self, type_):
        return {"exp_avg": like(type_), "exp_avg_sq": like(type_)}

    def _rectification(self, t: Expr) -> tuple[Expr, Expr]:
        """Returns the length of the simple moving average that v approximates, and the factor of the adaptive rate."""
        b2 = self.betas[1]
        longest = 2 / (1 - b2) - 1
        length = (t * 2.0) * op.power(scalar(b2), t) / unbias(b2, t) * -1.0 + longest
        ratio = (length - 4.0) * (length - 2.0) * longest / (length * ((longest - 4) * (longest - 2)))
        return length, op.sqrt(op.maximum(ratio, scalar(0.0)))

    def update(self, p, g, state, t):
        rate = self.rate(t)
        g = directed(p, g, self.maximize, 0 if self.decoupled_weight_decay else self.weight_decay)
        p_decayed = decayed(p, rate, self.weight_decay) if self.decoupled_weight_decay else p
        m, v = moments(g, state, self.betas)
        length, factor = self._rectification(t)
        plain = m / meets(unbias(self.betas[0], t), p) * meets(rate, p)
        adaptive = meets(op.sqrt(unbias(self.betas[1], t)), p) / (op.sqrt(v) + self.eps)
        change = op.where(length > 5.0, plain * adaptive * meets(factor, p), plain)
        return p_decayed - change
