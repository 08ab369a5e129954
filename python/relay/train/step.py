"""A training step: one compiled program that owns its parameters and its state.

step = relay.train.Step(loss, {"w": w, "b": b}, {"x": ("n", 64), "y": (("n",), "int64")}, relay.train.AdamW(1e-3))
for x, y in data:
    loss = step(x, y)
"""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np

from .._core import TensorType, planned_bytes
from ..data.arrays import array
from ..data.arrays import numpy as as_numpy
from ..errors import InputError, bad_option, wrong_input
from ..run.compiled import Compiled, compile
from ..run.options import options_of
from .explain import first_not_finite
from .losses import RNG, SCALE, Loss, loss_of, prepared
from .memory import Memory, within
from .optimisers import Adam, Optimiser
from .parameters import flatten, optimiser_of_each, owned, rebuilt
from .program import KEY, MICRO, STEP, Plan, Program, add_program, step_program
from .scaler import LossScaler

PRECISIONS = ("float32", "bfloat16", "float16")
_CALM = "lower the learning rate, clip the gradients with clip_norm=1.0, or call step.explain(batch)"


class NotFinite(InputError):
    """A loss, or the norm of the gradients, that is not finite. The parameters are those before the step."""


def not_finite(count: int, what: str, help: str) -> NotFinite:
    """Returns the error of the step after `count` updates."""
    error = wrong_input(f"step {count + 1}: {what}. The parameters are those before this step", help)
    return NotFinite(error.args[0], error.diagnostics)


def by_name(names: tuple[str, ...], batch: tuple, named: dict) -> dict[str, Any]:
    """Returns the values of a batch by name, in order. It is given by position, by name, or as one dictionary or
    sequence."""
    if len(batch) == 1 and not named and isinstance(batch[0], (dict, tuple, list)) and len(names) > 1:
        (only,) = batch
        batch, named = ((), only) if isinstance(only, dict) else (tuple(only), {})
    values = dict(zip(names, batch, strict=False)) | named
    if len(batch) + len(named) != len(names) or set(values) != set(names):
        given = ", ".join([*map(str, range(len(batch))), *named]) or "nothing"
        raise wrong_input(f"a batch of {given} is given", f"a batch has: {', '.join(names)}")
    return {name: values[name] for name in names}


class _Runner:
    """A compiled program with the arrays that it reads and replaces."""

    def __init__(self, program: Program, arrays: dict[str, np.ndarray], batch: tuple[str, ...], options: dict):
        self.program = program
        self.compiled: Compiled = compile(program.module, donate=program.donate, **options)
        self._arrays = arrays
        self._own = [arrays[name] for name in program.inputs]
        self._lent = [array(value) for value in self._own]
        self._count = len(program.results) - len(program.donate)
        self._batch = batch

    def __call__(self, batch: list) -> dict[str, Any]:
        """Runs the program. Returns the results that are not in the step's own arrays."""
        core = self.compiled._core
        if core.is_graph:
            ports = self.compiled.inputs
            given = [array(value, port.dtype) for value, port in zip(batch, ports, strict=False)]
            results = [as_numpy(one) for one in core.run([*given, *self._lent], 0)[: self._count]]
        else:
            results = self.compiled(*batch, *self._own)
            for name, new in zip(self.program.results[self._count :], results[self._count :], strict=True):
                if new is not self._arrays[name]:  # a program with functions returns small tensors in its own memory
                    self._arrays[name][...] = new
        return dict(zip(self.program.results[: self._count], results[: self._count], strict=True))


class Step:
    """A training step. Calling it with a batch updates the parameters in place, and returns the loss as a NumPy scalar.

    loss: a Python function loss(parameters, *batch) over Relay expressions, which returns a scalar or a
    relay.train.Result; or a module or function of Relay whose parameters include those with the names of `params`.
    params: nested dictionaries and lists of arrays. They are copied. Names are joined by dots: encoder.0.weight.
    batch: for a Python function, the type of each of its inputs: a shape, or (shape, dtype). Sizes may be names.
    optimiser: updates of all parameters that no group changes.
    groups: by pattern of names ("*.bias|*.norm.*"), an optimiser, changed options ({"weight_decay": 0}), or None for
    parameters that stay as they are. The first pattern that matches decides.
    outputs: names of a module's results: "loss", "count" (Result.count), metrics, "=NAME" for an update of a parameter.
    accumulate: micro-batches of a step. Gradients are added up, and the last call of a step updates the parameters.
    clip_norm, clip_value: limits of the norm of all gradients together, and of each element.
    scaler: scales the loss (relay.train.LossScaler()); for precision "float16" there is one by default.
    precision: "bfloat16" and "float16" compute the loss in these types where this is safe. Parameters, gradients of
    weights and state stay as they are.
    ema: the decay of moving averages of the parameters (`Step.averages`).
    memory: bytes of temporaries that a step may plan, a number or a text such as "64M". The backward pass computes as
    many activations again as this needs; `Step.memory` has the figures. For straight-line losses with numbers as sizes.
    seed: of dropout.
    options: of relay.compile: threads, target, numerics, ...
    """

    def __init__(
        self,
        loss: Any,
        params: Any,
        batch: dict | None = None,
        optimiser: Optimiser = Adam(),  # noqa: B008 - it is immutable
        *,
        groups: dict | None = None,
        outputs: tuple[str, ...] | None = None,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        scaler: LossScaler | None = None,
        precision: str = "float32",
        ema: float | None = None,
        memory: int | float | str | None = None,
        seed: int = 0,
        **options: Any,
    ):
        self._nested = params
        self.loss, self.plan, values = planned(
            loss, params, batch, optimiser, groups=groups, outputs=outputs, accumulate=accumulate, clip_norm=clip_norm,
            clip_value=clip_value, scaler=scaler, precision=precision, ema=ema,
        )  # fmt: skip
        self.memory: Memory | None = None
        if memory is not None:
            first = dataclasses.replace(self.plan, gradients_first=True)
            loss, self.memory = within(first.loss, memory, lambda loss: _planned_bytes(first, loss, options))
            self.plan = dataclasses.replace(first, loss=loss)
        self.arrays = starting_arrays(self.plan, values, seed)
        self.batch = self.plan.loss.batch
        self._runners = [_Runner(step_program(self.plan), self.arrays, self.batch, options)]
        if accumulate > 1:
            self._runners.append(_Runner(add_program(self.plan), self.arrays, self.batch, options))
        self.calls = 0
        self.metrics: dict[str, Any] = {}

    # --- running ------------------------------------------------------------------------------------------------------
    def __call__(self, *batch: Any, **named: Any) -> np.ndarray:
        """Runs the step on a batch, by position or by name. Returns the mean loss."""
        is_last = self.plan.accumulate == 1 or self.arrays[MICRO] + 1 == self.plan.accumulate
        results = self._runners[0 if is_last else 1](list(by_name(self.batch, batch, named).values()))
        self.calls += 1
        loss = results.pop("loss")
        self.metrics = results
        if self.plan.scaler:
            self._check_scale(results)
        elif not math.isfinite(loss):
            raise not_finite(self.count, f"the loss is {float(loss)}", _CALM)
        elif not results.get("ok", True):
            what = (
                f"the norm of the gradients is {float(results['grad_norm'])}"
                if "grad_norm" in results
                else self._worst(results)
            )
            raise not_finite(self.count, f"{what}, the loss {float(loss)}", _CALM)
        return loss

    def explain(self, *batch: Any, **named: Any) -> str:
        """Returns a sentence about the first value of the loss of a batch that is not finite."""
        given = by_name(self.batch, batch, named)
        values = {name: given.get(name, self.arrays.get(name)) for name in self.plan.loss.inputs}
        if KEY in self.arrays:
            values[RNG] = self.arrays[KEY]
        return first_not_finite(self.plan.loss, values)

    def _worst(self, results: dict) -> str:
        """Returns a sentence about the first gradient that is not finite."""
        pairs = zip(self.plan.optimisers, results["finite"], strict=True)
        return f"the gradient of `{next(name for name, fine in pairs if not fine)}` is not finite"

    def _check_scale(self, results: dict) -> None:
        if self.scale >= self.plan.scaler.floor or results.get("ok", True):
            return
        raise wrong_input(
            f"step {self.count + 1}: the scale of the loss fell to {self.scale}, below {self.plan.scaler.floor}: "
            f"{self._worst(results)}",
            "lower the learning rate, or compute in bfloat16, which needs no scale",
        )

    # --- state --------------------------------------------------------------------------------------------------------
    @property
    def params(self) -> Any:
        """The parameters, nested as they were given: the step's own arrays, which every step changes."""
        return rebuilt(self._nested, self.arrays)

    @property
    def averages(self) -> Any:
        """The moving averages of the parameters, nested likewise. Parameters that are not trained are themselves."""
        if self.plan.ema is None:
            raise bad_option("there are no averages of the parameters", "make the step with ema=0.999")
        return rebuilt(
            self._nested, {name: self.arrays.get(f"state/ema/{name}", self.arrays[name]) for name in self.plan.types}
        )

    @property
    def state(self) -> dict[str, np.ndarray]:
        """All state but the parameters, by name."""
        return {name: value for name, value in self.arrays.items() if name not in self.plan.types}

    @property
    def count(self) -> int:
        """The number of updates so far."""
        return int(self.arrays[STEP])

    @property
    def scale(self) -> float:
        """The scale of the loss."""
        return float(self.arrays[SCALE]) if SCALE in self.arrays else 1.0

    # --- program ------------------------------------------------------------------------------------------------------
    @property
    def compiled(self) -> Compiled:
        """The compiled program of a step, or of its last micro-batch."""
        return self._runners[0].compiled

    @property
    def module(self):
        """The program before the compiler's passes."""
        return self._runners[0].program.module

    @property
    def report(self):
        """The compiler's report. "donations" says which parameters and moments are updated in place."""
        return self.compiled.report

    @property
    def copied(self) -> dict[str, str]:
        """The parameters and state that are not updated in place but copied, with the compiler's reason."""
        return {one["input"]: one["why"] for one in self.report["donations"] if not one["in_place"]}

    def save(self, path: str | os.PathLike) -> None:
        """Writes the program as an artifact, for relay.load() and C. Its inputs are the batch, parameters and state; it
        overwrites the latter. With accumulate, a second artifact with `.add` before the suffix adds a micro-batch."""
        self.compiled.save(path)
        if self.plan.accumulate > 1:
            root, suffix = os.path.splitext(os.fspath(path))
            self._runners[1].compiled.save(f"{root}.add{suffix}")


def planned(
    loss: Any,
    params: Any,
    batch: dict | None,
    optimiser: Optimiser,
    *,
    groups: dict | None = None,
    outputs: tuple[str, ...] | None = None,
    accumulate: int = 1,
    clip_norm: float | None = None,
    clip_value: float | None = None,
    scaler: LossScaler | None = None,
    precision: str = "float32",
    ema: float | None = None,
) -> tuple[Loss, Plan, dict[str, np.ndarray]]:
    """Returns the loss, the plan of a step and copies of the parameters by name. The arguments are those of Step."""
    _check_options(precision, accumulate, clip_norm=clip_norm, clip_value=clip_value, ema=ema)
    values = {name: owned(name, value) for name, value in flatten(params).items()}
    types = {name: TensorType(value.shape, value.dtype.name) for name, value in values.items()}
    made = loss_of(loss, params, types, batch, outputs)
    optimisers = _optimisers(types, optimiser, groups, made.updated)
    if precision == "float16" and scaler is None:
        scaler = LossScaler()
    plan = Plan(prepared(made, precision), types, optimisers, accumulate, clip_norm, clip_value, scaler, ema)
    return made, plan, values


def _planned_bytes(plan: Plan, loss: Loss, options: dict) -> int | None:
    """Returns the bytes of temporaries of a step with a loss, the most of its programs; None if sizes are open."""
    plan = dataclasses.replace(plan, loss=loss)
    programs = [step_program(plan), *([add_program(plan)] if plan.accumulate > 1 else [])]
    found = [planned_bytes(one.module, options_of({**options, "donate": one.donate})) for one in programs]
    return None if None in found else max(found)


def starting_arrays(plan: Plan, values: dict[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Returns the parameters and all state before the first step, by name."""
    arrays = values | {name: np.full(slot.shape, slot.start, slot.dtype) for name, slot in plan.state().items()}
    if KEY in arrays:
        arrays[KEY][0] = seed
    if plan.ema is not None:
        for name in plan.optimisers:
            arrays[f"state/ema/{name}"][...] = arrays[name]
    return arrays


def _optimisers(types: dict, default: Optimiser, groups: dict | None, updated: list[str]) -> dict[str, Optimiser]:
    chosen = optimiser_of_each([name for name in types if name not in updated], default, groups)
    trained = {name: one for name, one in chosen.items() if one is not None}
    if not trained:
        raise bad_option("no parameter is trained", "leave one out of the groups that are None")
    for name, one in trained.items():
        if not str(types[name].dtype).startswith(("float", "bfloat")):
            raise wrong_input(
                f"parameter `{name}` is a {types[name]}, which has no gradient",
                f"pass floats, or leave it as it is with groups={{{name!r}: None}}",
            )
        one.check(name, types[name])
    return trained


def _check_options(precision: str, accumulate: int, **limits: float | None) -> None:
    if precision not in PRECISIONS:
        raise bad_option(f"there is no precision {precision!r}", f"give one of: {', '.join(PRECISIONS)}")
    if not isinstance(accumulate, int) or accumulate < 1:
        raise bad_option(f"accumulate is {accumulate!r}", "give a whole number of micro-batches, 1 or more")
    for name, value in limits.items():
        if value is not None and not (value > 0 and (name != "ema" or value < 1)):
            raise bad_option(
                f"{name} is {value}", "give a number between 0 and 1" if name == "ema" else "give a positive number"
            )
