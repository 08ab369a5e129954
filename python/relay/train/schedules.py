"""Schedules of the learning rate: functions of the number of updates so far, computed in the program.

    relay.train.Adam(lr=schedules.Warmup(schedules.Cosine(1e-3, steps=10_000), steps=500))

The count of updates starts at 0, so that the k-th update has the rate of torch.optim.lr_scheduler after k - 1 calls of
scheduler.step(). Every rate is a float64 scalar.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .. import op
from .._core import Expr, Function, IRModule
from ..errors import bad_option
from ..ir.expr import const, var
from ..run.compiled import evaluate
from .formulas import scalar


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A learning rate that depends on the count of updates."""

    def at(self, count: Expr) -> Expr:
        """Returns the rate after `count` updates, both float64 scalars."""
        raise NotImplementedError

    def __call__(self, count: int) -> float:
        """Returns the rate after `count` updates, computed by the evaluator."""
        variable = var("count", shape=(), dtype="float64")
        module = IRModule({"main": Function([variable], self.at(variable))})
        return float(np.asarray(evaluate(module, [np.float64(count)])))

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in ("steps", "size", "first") and not (isinstance(value, int) and value >= 1):
                raise bad_option(
                    f"{type(self).__name__}: {field.name} is {value!r}, and must be a whole number above 0",
                    "give the number of updates",
                )


def rate_of(lr: float | Schedule) -> Schedule:
    """Returns a schedule: lr itself, or the constant one of a number."""
    return lr if isinstance(lr, Schedule) else Constant(lr)


@dataclasses.dataclass(frozen=True)
class Constant(Schedule):
    """The same rate always."""

    lr: float

    def at(self, count):
        return scalar(self.lr)


@dataclasses.dataclass(frozen=True)
class Step(Schedule):
    """lr gamma^floor(count / size): StepLR."""

    lr: float
    size: int
    gamma: float = 0.1

    def at(self, count):
        return op.power(scalar(self.gamma), op.floor(count / float(self.size))) * self.lr


@dataclasses.dataclass(frozen=True)
class MultiStep(Schedule):
    """lr gamma^n, where n is the number of milestones that are reached: MultiStepLR."""

    lr: float
    milestones: tuple[int, ...]
    gamma: float = 0.1

    def at(self, count):
        marks = const(np.asarray(self.milestones, "float64"))
        reached = op.sum(op.cast(op.greater_equal(count, marks), dtype="float64"))
        return op.power(scalar(self.gamma), reached) * self.lr


@dataclasses.dataclass(frozen=True)
class Exponential(Schedule):
    """lr gamma^count: ExponentialLR."""

    lr: float
    gamma: float

    def at(self, count):
        return op.power(scalar(self.gamma), count) * self.lr


@dataclasses.dataclass(frozen=True)
class Polynomial(Schedule):
    """From lr to `end` by (1 - count / steps)^power, then `end`: PolynomialLR if `end` is 0."""

    lr: float
    steps: int
    power: float = 1.0
    end: float = 0.0

    def at(self, count):
        left = op.maximum(count / float(self.steps) * -1.0 + 1.0, scalar(0.0))
        return op.power(left, scalar(self.power)) * (self.lr - self.end) + self.end


@dataclasses.dataclass(frozen=True)
class Linear(Schedule):
    """lr times a factor that goes from `start` to `end` in `steps` updates: LinearLR."""

    lr: float
    steps: int = 5
    start: float = 1 / 3
    end: float = 1.0

    def at(self, count):
        part = op.minimum(count / float(self.steps), scalar(1.0))
        return (part * (self.end - self.start) + self.start) * self.lr


def _cosine(start: float, end: float, part: Expr) -> Expr:
    """Returns a half wave from `start` to `end`, for `part` from 0 to 1."""
    return (op.cos(part * math.pi) + 1.0) * ((start - end) / 2) + end


@dataclasses.dataclass(frozen=True)
class Cosine(Schedule):
    """A half wave from lr to `end` in `steps` updates, then `end`. CosineAnnealingLR rises again after T_max."""

    lr: float
    steps: int
    end: float = 0.0

    def at(self, count):
        return _cosine(self.lr, self.end, op.minimum(count / float(self.steps), scalar(1.0)))


@dataclasses.dataclass(frozen=True)
class CosineRestarts(Schedule):
    """Half waves from lr to `end`. The first has `first` updates, each later one `factor` times as many:
    CosineAnnealingWarmRestarts."""

    lr: float
    first: int
    factor: int = 1
    end: float = 0.0

    def at(self, count):
        if self.factor == 1:
            length = scalar(self.first)
            begin = op.floor(count / float(self.first)) * float(self.first)
        else:
            begins = [0]
            while begins[-1] < 2**53:
                begins.append(begins[-1] * self.factor + self.first)
            marks = const(np.asarray(begins, "float64"))
            begin = op.max(op.where(op.greater_equal(count, marks), marks, op.zeros_like(marks)))
            length = begin * float(self.factor - 1) + float(self.first)
        return _cosine(self.lr, self.end, (count - begin) / length)


@dataclasses.dataclass(frozen=True)
class OneCycle(Schedule):
    """From peak / div up to `peak` in a `share` of the updates, then down to peak / div / final_div: OneCycleLR.
    anneal: "cos" or "linear"."""

    peak: float
    steps: int
    share: float = 0.3
    div: float = 25.0
    final_div: float = 1e4
    anneal: str = "cos"
    three_phase: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.anneal not in ("cos", "linear"):
            raise bad_option(f"OneCycle: there is no anneal {self.anneal!r}", "give 'cos' or 'linear'")

    def _phases(self) -> list[tuple[float, float, float]]:
        """Returns the last count, the first rate and the last rate of each phase."""
        low = self.peak / self.div
        last = (self.steps - 1, low if self.three_phase else self.peak, low / self.final_div)
        rise = (self.share * self.steps - 1, low, self.peak)
        return [rise, (2 * self.share * self.steps - 2, self.peak, low), last] if self.three_phase else [rise, last]

    def at(self, count):
        begin, phases = 0.0, []
        for until, start, end in self._phases():
            part = (count - begin) / (until - begin) if until > begin else scalar(1.0)
            part = op.minimum(part, scalar(1.0))
            phases.append(
                (until, part * (end - start) + start if self.anneal == "linear" else _cosine(start, end, part))
            )
            begin = until
        rate = phases.pop()[1]
        for until, earlier in reversed(phases):
            rate = op.where(op.less_equal(count, scalar(until)), earlier, rate)
        return rate


@dataclasses.dataclass(frozen=True)
class Chain(Schedule):
    """Several schedules in turn. Each counts from 0 at its milestone: SequentialLR."""

    parts: tuple[Schedule, ...]
    milestones: tuple[int, ...]

    def __post_init__(self):
        if len(self.milestones) != len(self.parts) - 1 or list(self.milestones) != sorted(set(self.milestones)):
            raise bad_option(
                f"Chain: {len(self.parts)} schedules with the milestones {list(self.milestones)}",
                "give one fewer milestone than schedules, in rising order",
            )

    def at(self, count):
        rate = rate_of(self.parts[0]).at(count)
        for part, mark in zip(self.parts[1:], self.milestones, strict=True):
            later = rate_of(part).at(op.maximum(count - float(mark), scalar(0.0)))
            rate = op.where(op.greater_equal(count, scalar(mark)), later, rate)
        return rate


@dataclasses.dataclass(frozen=True)
class Warmup(Schedule):
    """Rises linearly from `start` times the first rate of a schedule in `steps` updates, then follows the schedule,
    which counts from 0."""

    then: Schedule | float
    steps: int
    start: float = 0.0

    def at(self, count):
        then = rate_of(self.then)
        part = op.minimum(count / float(self.steps), scalar(1.0))
        rising = then.at(scalar(0.0)) * (part * (1 - self.start) + self.start)
        later = then.at(op.maximum(count - float(self.steps), scalar(0.0)))
        return op.where(count < float(self.steps), rising, later)
