"""The program of a training step: loss, gradients, clipping and the updates of all parameters in one @main.

Its results take the memory of the inputs that they replace: parameters, moments, counters.
"""

from __future__ import annotations

import dataclasses

from .. import op
from .._core import Expr, Function, IRModule, Let, TensorType, Tuple, TupleGetItem, Var
from ..ir.expr import const
from ..ir.pass_infra import run_passes
from .formulas import lerp, once, scalar, tree_sum
from .losses import RNG, SCALE, Loss, add_gradients, call
from .optimisers import Optimiser, Slot
from .optimisers.optimiser import State
from .scaler import LossScaler

STEP, GOOD, COUNT, SUM, KEY = "state/step", "state/good_steps", "state/count", "state/loss", "state/rng"
MICRO = "state/micro_batches"  # that were accumulated since the last update


@dataclasses.dataclass(frozen=True)
class Plan:
    """All that decides a step's program."""

    loss: Loss
    types: dict[str, TensorType]  # of all parameters, by name
    optimisers: dict[str, Optimiser]  # of the parameters that are trained
    accumulate: int = 1
    clip_norm: float | None = None
    clip_value: float | None = None
    scaler: LossScaler | None = None
    ema: float | None = None
    gradients_first: bool = False  # all are computed, last parameter first, and must be finite, before any update

    @property
    def draws(self) -> bool:
        """True if the loss draws random numbers."""
        return RNG in self.loss.inputs

    def master(self, name: str) -> TensorType:
        """Returns the type in which a parameter's gradient and state are kept: at least float32."""
        type_ = self.types[name]
        return type_ if str(type_.dtype) in ("float32", "float64") else TensorType(type_.shape, "float32")

    def state(self) -> dict[str, Slot]:
        """Returns the tensors of state by name."""
        found = {STEP: Slot((), "int64")}
        if self.draws:
            found[KEY] = Slot((10,), "uint64")
        if self.scaler:
            found |= {SCALE: Slot((), "float32", self.scaler.start), GOOD: Slot((), "int32")}
        for name, optimiser in self.optimisers.items():
            slots = optimiser.slots(self.master(name))
            found |= {f"state/{slot}/{name}": spec for slot, spec in slots.items()}
            if self.ema is not None:
                found[f"state/ema/{name}"] = _slot(self.master(name))
            if self.accumulate > 1:
                found[f"state/accumulated/{name}"] = _slot(self.master(name))
        if self.accumulate > 1:
            found[MICRO] = Slot((), "int64")
            found[SUM] = Slot((), str(self.loss.result_type("loss").dtype))
            if "count" in self.loss.outputs:
                found[COUNT] = Slot((), str(self.loss.result_type("count").dtype))
        return found


@dataclasses.dataclass(frozen=True)
class Program:
    """A step's module. inputs: names of @main's parameters after those of the batch. results: names of its results.
    donate: the number of the result that replaces an input."""

    module: IRModule
    inputs: list[str]
    results: list[str]
    donate: dict[str, int]


def _slot(type_: TensorType) -> Slot:
    return Slot(tuple(int(extent) for extent in type_.shape), str(type_.dtype))


class _Builder:
    """Binds values to variables with types, in order."""

    def __init__(self, plan: Plan):
        self.plan, self.bound, self.used, self.new = plan, [], {}, {}
        self.module, self.inputs, self.further = add_gradients(
            plan.loss, list(plan.optimisers), plan.scaler is not None
        )
        types = plan.loss.types()
        self.batch = {name: Var(name, types[name]) for name in plan.loss.batch}
        self.state_types = {name: TensorType(slot.shape, slot.dtype) for name, slot in plan.state().items()}

    def let(self, name: str, value: Expr, type_=None) -> Var:
        """Returns a variable that is bound to the value."""
        variable = Var(name, type_)
        self.bound.append((variable, value))
        return variable

    def read(self, name: str) -> Var:
        """Returns the input with this name: a parameter or a tensor of state."""
        if name not in self.used:
            self.used[name] = Var(name, self.plan.types.get(name) or self.state_types[name])
        return self.used[name]

    def arguments(self, names: list[str], key: Expr | None) -> list[Expr]:
        """Returns the arguments of a function with parameters of these names."""
        return [self.batch.get(name) or (key if name == RNG else self.read(name)) for name in names]

    def finish(self, results: dict[str, Expr]) -> Program:
        """Returns the program with these results, followed by the new values of inputs."""
        named = {name: value for name, value in self.new.items()}
        results = results | named
        body: Expr = Tuple(list(results.values()))
        for variable, value in reversed(self.bound):
            body = Let(variable, value, body)
        module = self.module.clone()
        module["main"] = Function([*self.batch.values(), *self.used.values()], body)
        module = run_passes(module, ["infer_type", "inline_calls", "dead_code", "remove_unused_functions"])
        names = list(results)
        return Program(module, list(self.used), names, {name: names.index(name) for name in named})


def _forward_backward(b: _Builder) -> tuple[Expr, dict[str, Expr], dict[str, Expr]]:
    """Binds the loss, the gradients by parameter and the further results by name."""
    plan, key = b.plan, None
    if plan.draws:
        keys = b.let("keys", op.random.threefry_split(b.read(KEY)))
        key = b.let("key", TupleGetItem(keys, 0))
        b.new[KEY] = TupleGetItem(keys, 1)
    both = b.let("both", call("loss_and_gradients", b.arguments(b.inputs, key)))
    loss = b.let("loss", TupleGetItem(both, 0), plan.loss.result_type("loss"))
    if plan.scaler:
        scale = b.read(SCALE)
        loss = loss / (scale if str(loss.type_annotation.dtype) == "float32" else op.cast(scale, dtype="float64"))
    gradients = {}
    for at, name in enumerate(plan.optimisers):
        value: Expr = TupleGetItem(TupleGetItem(both, 1), at)
        gradient = b.let(f"gradient/{name}", value, plan.types[name])
        gradients[name] = _in(plan.master(name), gradient)
    return loss, gradients, _further(b, both, key)


def _further(b: _Builder, both: Expr, key: Expr | None) -> dict[str, Expr]:
    """Binds the results of the loss other than the loss itself, by name."""
    outputs = b.plan.loss.outputs
    if len(outputs) == 1:
        return {}
    whole = (
        b.let("all_results", call("all_results", b.arguments(b.further, key))) if b.further else TupleGetItem(both, 2)
    )
    return {
        name: b.let(name, TupleGetItem(whole, at), b.plan.loss.result_type(name))
        for at, name in enumerate(outputs)
        if name != "loss"
    }


def _in(type_: TensorType, value: Expr) -> Expr:
    """Returns a variable's value in the element type of another type."""
    return value if value.type_annotation == type_ else op.cast(value, dtype=str(type_.dtype))


def _choose(ok: Expr | None):
    return (lambda new, old: new) if ok is None else (lambda new, old: op.where(ok, new, old))


def add_program(plan: Plan) -> Program:
    """Returns the program of a micro-batch that is not the last of its step: it adds to the accumulated gradients."""
    b = _Builder(plan)
    loss, gradients, further = _forward_backward(b)
    ok = None if plan.scaler else b.let("ok", op.isfinite(loss), TensorType((), "bool"))
    choose = _choose(ok)
    more = op.cast(ok, dtype="int64") if ok is not None else const(1, "int64")
    b.new[MICRO] = b.read(MICRO) + more
    is_first = b.let("is_first", once(op.equal(b.read(MICRO), const(0, "int64"))), TensorType((), "bool"))

    def add(name, value):  # the sums of the step before are still there
        old = b.read(name)
        b.new[name] = choose(op.where(is_first, op.zeros_like(old), old) + value, old)

    for name, gradient in gradients.items():
        add(f"state/accumulated/{name}", gradient)
    add(SUM, loss)
    if "count" in further:
        add(COUNT, further["count"])
    _update_others(b, further, choose)
    return b.finish({"loss": _mean(loss, further)} | _metrics(further))


def _mean(loss: Expr, further: dict[str, Expr]) -> Expr:
    return loss / op.cast_like(further["count"], loss) if "count" in further else loss


def _metrics(further: dict[str, Expr]) -> dict[str, Expr]:
    return {name: value for name, value in further.items() if name != "count" and not name.startswith("=")}


def _update_others(b: _Builder, further: dict[str, Expr], choose) -> None:
    for name, value in further.items():
        if name.startswith("="):
            b.new[name[1:]] = choose(value, b.read(name[1:]))


def _with_accumulated(b: _Builder, loss, gradients, further) -> tuple[Expr, dict[str, Expr], Expr | None]:
    """Returns the loss, the sums of gradients over all micro-batches, and their divisor if there is one."""
    plan, count = b.plan, further.get("count")
    if plan.accumulate > 1:
        loss = b.read(SUM) + loss
        gradients = {name: b.read(f"state/accumulated/{name}") + value for name, value in gradients.items()}
        count = b.read(COUNT) + count if count is not None else None
    if count is not None:
        return loss / op.cast_like(count, loss), gradients, op.cast(count, dtype="float64")
    if plan.accumulate > 1:
        return loss / float(plan.accumulate), gradients, scalar(plan.accumulate)
    return loss, gradients, None


def _clipped(b: _Builder, gradients: dict[str, Expr]) -> tuple[dict[str, Expr], Expr | None]:
    """Returns the clipped gradients and, if they are clipped by it, the norm of all of them.

    g min(1, max / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_. Squares are added for each parameter, and the sums
    in pairs, in the order of the parameters.
    """
    plan, total = b.plan, None
    if plan.clip_value is not None:
        gradients = {name: op.clip(g, a_min=-plan.clip_value, a_max=plan.clip_value) for name, g in gradients.items()}
    if plan.clip_norm is not None:
        squares = [op.sum(g * g) for g in gradients.values()]
        wide = "float64" if any(str(plan.master(name).dtype) == "float64" for name in gradients) else "float32"
        total = b.let(
            "grad_norm", op.sqrt(tree_sum([op.cast(one, dtype=wide) for one in squares])), TensorType((), wide)
        )
        factor = op.minimum(const(plan.clip_norm, wide) / (total + 1e-6), const(1.0, wide))
        factor = once(factor)
        gradients = {name: g * op.cast(factor, dtype=str(plan.master(name).dtype)) for name, g in gradients.items()}
    return gradients, total


def step_program(plan: Plan) -> Program:
    """Returns the program of a step, or of its last micro-batch."""
    b = _Builder(plan)
    loss, gradients, further = _forward_backward(b)
    results = _metrics(further)
    loss, gradients, divisor = _with_accumulated(b, loss, gradients, further)
    loss = b.let("mean_loss", loss, plan.loss.result_type("loss"))
    gradients = _unscaled(b, gradients, divisor)
    finite = {}
    if plan.scaler or plan.gradients_first:
        finite = {
            name: b.let(f"finite/{name}", op.all(op.isfinite(g)), TensorType((), "bool"))
            for name, g in gradients.items()
        }
        results["finite"] = op.stack(Tuple(list(finite.values())), axis=0)
    gradients, total = _clipped(b, gradients)
    if total is not None:
        results["grad_norm"] = total
    ok = op.isfinite(loss) if not finite else _all([*reversed(finite.values())])
    if total is not None and not finite:
        ok = op.logical_and(ok, op.isfinite(total))
    ok = b.let("ok", once(ok), TensorType((), "bool"))
    _update(b, gradients, ok)
    _update_others(b, further, _choose(ok))
    if plan.scaler:
        b.new[SCALE], b.new[GOOD] = plan.scaler.next(b.read(SCALE), b.read(GOOD), ok)
    return b.finish({"loss": loss, "ok": ok} | results)


def _all(flags: list[Expr]) -> Expr:
    while len(flags) > 1:
        flags = [
            op.logical_and(*pair) if len(pair) == 2 else pair[0]
            for pair in (flags[i : i + 2] for i in range(0, len(flags), 2))
        ]
    return flags[0]


def _unscaled(b: _Builder, gradients: dict[str, Expr], divisor: Expr | None) -> dict[str, Expr]:
    """Returns the gradients divided by the scale of the loss and by the number of terms."""
    factor = None
    if b.plan.scaler:
        factor = op.cast(scalar(1.0) / op.cast(b.read(SCALE), dtype="float64"), dtype="float32")
    if divisor is not None:
        inverse = scalar(1.0) / divisor
        factor = inverse if factor is None else op.cast(factor, dtype="float64") * inverse
    if factor is None:
        return gradients
    factor = once(factor)
    return {name: g * op.cast(factor, dtype=str(b.plan.master(name).dtype)) for name, g in gradients.items()}


def _update(b: _Builder, gradients: dict[str, Expr], ok: Expr) -> None:
    """Binds the new parameters, their state and the counters."""
    plan, choose = b.plan, _choose(ok)
    step = b.read(STEP)
    b.new[STEP] = step + op.cast(ok, dtype="int64")
    t = op.cast(step + const(1, "int64"), dtype="float64")
    for name, optimiser in plan.optimisers.items():
        type_ = plan.master(name)
        old = b.read(name)
        p = old if type_ == plan.types[name] else b.let(f"master/{name}", op.cast(old, dtype=str(type_.dtype)), type_)
        slots = {slot: b.read(f"state/{slot}/{name}") for slot in optimiser.slots(type_)}
        state = State(slots, choose)
        new = choose(optimiser.update(p, gradients[name], state, t), p)
        b.new[name] = new if p is old else op.cast(new, dtype=str(plan.types[name].dtype))
        for slot, value in state.items():
            b.new[f"state/{slot}/{name}"] = value
        if plan.ema is not None:
            ema = b.read(f"state/ema/{name}")
            b.new[f"state/ema/{name}"] = choose(lerp(ema, new, 1 - plan.ema), ema)
    if plan.accumulate > 1:
        b.new[MICRO] = op.zeros_like(b.read(MICRO))
