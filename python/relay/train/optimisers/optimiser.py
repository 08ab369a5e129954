"""The interface of optimisers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ..._core import Expr, TensorType, Var
from ...errors import bad_option
from ..formulas import meets, scalar
from ..schedules import Schedule, rate_of


@dataclasses.dataclass(frozen=True)
class Slot:
    """A tensor of state that an optimiser keeps for a parameter, with the value of all its elements at the start."""

    shape: tuple[int, ...]
    dtype: str
    start: float = 0.0


class State:
    """The slots of a parameter during an update: state["exp_avg"] is the old value until it is assigned, then the new
    one. An update that is skipped keeps the old value: `choose(new, old)` selects, right where the new value is made,
    so that one kernel computes both and stores in place."""

    def __init__(self, old: dict[str, Var], choose: Callable[[Expr, Expr], Expr]):
        self._old, self._choose = old, choose
        self._now: dict[str, Expr] = dict(old)

    def __getitem__(self, name: str) -> Expr:
        return self._now[name]

    def __setitem__(self, name: str, new: Expr) -> None:
        self._now[name] = self._choose(new, self._old[name])

    def __contains__(self, name: str) -> bool:
        return name in self._old

    def items(self):
        """Returns the slots with their new values, in order."""
        return self._now.items()


@dataclasses.dataclass(frozen=True)
class Optimiser:
    """Updates of a parameter by its gradient, as Relay expressions.

    Options have PyTorch's names, defaults and formulas. `lr` is a number or a schedule (relay.train.schedules).
    """

    lr: float | Schedule = 1e-3

    def slots(self, type_: TensorType) -> dict[str, Slot]:
        """Returns the state of a parameter of this type, by PyTorch's names."""
        return {}

    def update(self, p: Var, g: Expr, state: State, t: Expr) -> Expr:
        """Returns the new parameter, and assigns its new state. `t` is the number of this update, from 1, a float64
        scalar."""
        raise NotImplementedError

    def check(self, name: str, type_: TensorType) -> None:
        """Raises a diagnostic if a parameter of this type cannot be updated."""

    def rate(self, t: Expr) -> Expr:
        """Returns the learning rate of an update, a float64 scalar."""
        return rate_of(self.lr).at(t - 1.0)

    def describe(self) -> str:
        """Returns the optimiser with all its options, as text."""
        return repr(self)

    def _not_negative(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, (int, float)) and not one >= 0:
                    raise bad_option(
                        f"{type(self).__name__}: {name} is {value}, and must not be negative", "give 0 or more"
                    )

    def _below_one(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,):
                if not 0 <= one < 1:
                    raise bad_option(
                        f"{type(self).__name__}: {name} is {value}, and must be from 0 to below 1",
                        f"the default is {type(self)().__dict__[name]}",
                    )

    def __post_init__(self):
        names = {field.name for field in dataclasses.fields(self)}
        self._not_negative(*sorted(names & {"lr", "eps", "weight_decay", "momentum_decay", "lr_decay"}))
        self._below_one(*sorted(names & {"betas", "rho", "alpha"}))


def like(type_: TensorType, start: float = 0.0) -> Slot:
    """Returns a slot of a parameter's own shape and element type."""
    return Slot(tuple(int(extent) for extent in type_.shape), str(type_.dtype), start)


def directed(p: Var, g: Expr, maximize: bool, weight_decay: float) -> Expr:
    """Returns the gradient, negated if the loss is maximised, plus the gradient of an L2 penalty."""
    g = -g if maximize else g
    return g + p * weight_decay if weight_decay else g


def decayed(p: Var, rate: Expr, weight_decay: float) -> Expr:
    """Returns the parameter after decoupled weight decay: p (1 - lr weight_decay)."""
    return p * meets(scalar(1.0) - rate * weight_decay, p) if weight_decay else p
