"""Optimisers whose update of an element depends on the whole parameter."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ... import op
from ..._core import Expr
from ...errors import bad_option
from ...ir.expr import const
from ..formulas import dtype_of, elements, lerp, lerp_by, meets, norm, scalar
from .adam import moments, unbias
from .optimiser import Optimiser, Slot, State, decayed, directed, like


@dataclasses.dataclass(frozen=True)
class LAMB(Optimiser):
    """LAMB (arxiv.org/abs/1904.00962): Adam's direction plus weight_decay p, scaled to the parameter's norm. The scale
    is 1 if either norm is 0."""

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-6
    weight_decay: float = 0.0
    maximize: bool = False

    def slots(self, type_):
        return {"exp_avg": like(type_), "exp_avg_sq": like(type_)}

    def update(self, p, g, state, t):
        g = directed(p, g, self.maximize, 0)
        m, v = moments(g, state, self.betas)
        below = op.sqrt(v / meets(unbias(self.betas[1], t), p)) + self.eps
        u = m / meets(unbias(self.betas[0], t), p) / below
        if self.weight_decay:
            u = u + p * self.weight_decay
        of_p, of_u = norm(p), norm(u)
        one = op.ones_like(of_p)
        trust = op.where(op.logical_and(of_p > 0.0, of_u > 0.0), of_p / of_u, one)
        return p - u * (trust * meets(self.rate(t), p))


@dataclasses.dataclass(frozen=True)
class Adafactor(Optimiser):
    """Adafactor (arxiv.org/abs/1804.04235), as torch.optim.Adafactor: matrices keep the averages of rows and columns
    only. eps[0] None is the machine epsilon of the element type."""

    lr: object = 1e-2
    beta2_decay: float = -0.8
    eps: tuple[float | None, float] = (None, 1e-3)
    d: float = 1.0
    weight_decay: float = 0.0
    maximize: bool = False

    def __post_init__(self):
        self._not_negative("lr", "weight_decay")

    def slots(self, type_):
        shape, dtype = tuple(int(extent) for extent in type_.shape), str(type_.dtype)
        if len(shape) < 2:
            return {"variance": Slot(shape, dtype)}
        rows, columns = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
        return {"row_var": Slot(rows, dtype), "col_var": Slot(columns, dtype)}

    def _variance(self, g: Expr, state: State, t: Expr, p: Expr, eps: float) -> Expr:
        weight = meets(op.power(t, scalar(self.beta2_decay)), p)
        if "variance" in state:
            state["variance"] = lerp_by(state["variance"], g * g, weight)
            return state["variance"]
        state["row_var"] = lerp_by(state["row_var"], op.mean(g * g, axis=[-1], keepdims=True), weight)
        state["col_var"] = lerp_by(state["col_var"], op.mean(g * g, axis=[-2], keepdims=True), weight)
        over = op.maximum(op.mean(state["row_var"], axis=[-2], keepdims=True), meets(scalar(eps), p))
        return state["row_var"] * state["col_var"] / over

    def update(self, p, g, state, t):
        rate, count = self.rate(t), elements(p.type_annotation)
        eps = float(np.finfo(dtype_of(p)).eps) if self.eps[0] is None else self.eps[0]
        g = directed(p, g, self.maximize, 0)
        rho = op.minimum(rate, scalar(1.0) / op.sqrt(t))
        size = op.maximum(scalar(self.eps[1]), op.cast(norm(p), dtype="float64") / count**0.5)
        variance = self._variance(g, state, t, p, eps)
        u = g * op.rsqrt(op.maximum(variance, meets(scalar(eps * eps), p)))
        below = op.maximum(scalar(1.0), op.cast(norm(u), dtype="float64") / (count**0.5 * self.d))
        return decayed(p, rate, self.weight_decay) - u * meets(size * rho / below, p)


@dataclasses.dataclass(frozen=True)
class Muon(Optimiser):
    """Muon (kellerjordan.github.io/posts/muon), for matrices: the momentum is replaced by an approximation of its
    nearest orthogonal matrix, by Newton-Schulz steps in bfloat16."""

    weight_decay: float = 0.1
    momentum: float = 0.95
    nesterov: bool = True
    ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315)
    eps: float = 1e-7
    ns_steps: int = 5
    adjust_lr_fn: str | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise bad_option(
                f"Muon: there is no adjust_lr_fn {self.adjust_lr_fn!r}", "give None, 'original' or 'match_rms_adamw'"
            )

    def check(self, name, type_):
        if len(type_.shape) != 2:
            raise bad_option(
                f"Muon updates matrices, and parameter `{name}` is a {type_}",
                f"give it another optimiser: groups={{{name!r}: relay.train.AdamW()}}",
            )

    def slots(self, type_):
        return {"momentum_buffer": like(type_)}

    def _orthogonal(self, u: Expr, is_tall: bool) -> Expr:
        """Returns the orthogonalised matrix in bfloat16. Products of bfloat16 are added in float32."""
        a, b, c = self.ns_coefficients

        def short(x):
            return op.cast(x, dtype="bfloat16")

        def long(x):
            return op.cast(x, dtype="float32")

        def product(x, y):  # x y^T
            return op.nn.dense(long(x), long(y))

        x = short(op.transpose(u) if is_tall else u)
        x = short(long(x) / op.maximum(long(short(norm(long(x)))), const(self.eps, "float32")))
        for _ in range(self.ns_steps):
            gram = short(product(x, x))
            mix = short(long(gram) * b + product(gram, op.transpose(gram)) * c)
            x = short(long(x) * a + product(mix, op.transpose(x)))
        return op.transpose(x) if is_tall else x

    def update(self, p, g, state, t):
        rows, columns = (int(extent) for extent in p.type_annotation.shape)
        state["momentum_buffer"] = lerp(state["momentum_buffer"], g, 1 - self.momentum)
        buf = state["momentum_buffer"]
        u = lerp(g, buf, self.momentum) if self.nesterov else buf
        u = op.cast(self._orthogonal(u, rows > columns), dtype=dtype_of(p))
        ratio = math.sqrt(max(1, rows / columns))
        if self.adjust_lr_fn == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        rate = self.rate(t)
        return decayed(p, rate, self.weight_decay) - u * meets(rate * ratio, p)
