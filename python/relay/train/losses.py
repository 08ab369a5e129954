"""A loss as a program: batch and parameters in; the loss, and further named results, out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .. import op
from .._core import (
    Call,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    Let,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    free_vars,
)
from ..errors import bad_option, wrong_input
from ..ir.expr import var
from ..ir.pass_infra import run_passes
from .formulas import is_float
from .parameters import near, rebuilt

RNG, SCALE = "rng", "state/scale"


@dataclasses.dataclass(frozen=True)
class Result:
    """The results of a loss function.

    loss: a scalar. With `count` it is a sum, of as many terms as `count` says (a scalar): sums and counts of all
    micro-batches are added before they are divided.
    metrics: further results of a step, by name. updates: new values of parameters that have no gradient, such as moving
    averages, by name.
    """

    loss: Expr
    count: Expr | None = None
    metrics: dict[str, Expr] = dataclasses.field(default_factory=dict)
    updates: dict[str, Expr] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Loss:
    """A typed module with the meaning of @main's parameters and results.

    outputs: names of the results in order: "loss", "count", metrics, and "=NAME" for a new value of a parameter.
    """

    module: IRModule
    batch: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def inputs(self) -> list[str]:
        """The names of @main's parameters."""
        return [param.name_hint for param in self.module["main"].params]

    @property
    def updated(self) -> list[str]:
        """The parameters whose new values are results."""
        return [name[1:] for name in self.outputs if name.startswith("=")]

    def types(self) -> dict[str, Any]:
        """The types of @main's parameters by name."""
        return {param.name_hint: param.checked_type for param in self.module["main"].params}

    def result_type(self, name: str):
        """The type of a result."""
        type_ = self.module["main"].body.checked_type
        return type_.fields[self.outputs.index(name)] if isinstance(type_, TupleType) else type_


def type_of(given) -> Any:
    """Returns the type of a batch input: (shape), (shape, dtype), or a type."""
    if not isinstance(given, (tuple, list)):
        return given
    is_pair = len(given) == 2 and isinstance(given[0], (tuple, list)) and isinstance(given[1], str)
    shape, dtype = given if is_pair else (given, "float32")
    return TensorType(tuple(shape), dtype)


def _called(loss: Callable, nested: Any, types: dict[str, TensorType], batch: dict) -> tuple[Expr, list, tuple]:
    """Calls a Python function on variables. Returns the body, the parameters and the names of the results."""
    weights = {name: var(name, type_) for name, type_ in types.items()}
    given = [var(name, type_of(type_)) for name, type_ in batch.items()]
    made = loss(rebuilt(nested, weights), *given)
    result = made if isinstance(made, Result) else Result(made)
    if not isinstance(result.loss, Expr) and not hasattr(result.loss, "__relay_expr__"):
        raise wrong_input(
            f"the loss function returns a value of type {type(made).__name__}",
            "return a Relay expression, or relay.train.Result(loss, metrics=..)",
        )
    unknown = [name for name in result.updates if name not in types]
    if unknown:
        raise wrong_input(f"there is no parameter `{unknown[0]}` to update", near(unknown[0], list(types)))
    results = {"loss": result.loss} | ({} if result.count is None else {"count": result.count})
    results |= result.metrics | {f"={name}": value for name, value in result.updates.items()}
    body = Tuple(list(results.values())) if len(results) > 1 else result.loss
    return body, [*given, *weights.values()], tuple(results)


def loss_of(loss: Any, nested: Any, types: dict[str, TensorType], batch: dict | None, outputs: tuple | None) -> Loss:
    """Returns the program of a loss: a module or function whose parameters have the parameters' names, or a Python
    function loss(parameters, *batch) over expressions."""
    if isinstance(loss, Function):
        loss = IRModule.from_expr(loss)
    if isinstance(loss, IRModule):
        module = run_passes(loss, ["infer_type"])
        known = [param.name_hint for param in module["main"].params]
        missing = [name for name in types if name not in known]
        if missing:
            raise wrong_input(
                f"@main of the loss has no parameter `{missing[0]}`", f"its parameters are: {', '.join(known)}"
            )
        batch = tuple(name for name in known if name not in types)
        return _checked(Loss(module, batch, tuple(outputs or ("loss",))))
    if not callable(loss):
        raise wrong_input(
            f"the loss is of type {type(loss).__name__}", "give a module, a function of Relay, or a Python function"
        )
    if batch is None:
        raise bad_option(
            "the inputs of the loss function are not known", 'give batch={"x": ("n", 64), "y": (("n",), "int64")}'
        )
    clash = [name for name in batch if name in types]
    if clash:
        raise bad_option(f"`{clash[0]}` is a parameter and a part of the batch", "rename one of the two")
    body, params, names = _called(loss, nested, types, batch)
    module = run_passes(IRModule({"main": Function(params, body)}), ["infer_type"])
    return _checked(Loss(module, tuple(batch), names))


def _checked(loss: Loss) -> Loss:
    """Refuses a loss that is not a scalar, and results without names."""
    type_ = loss.module["main"].body.checked_type
    count = len(type_.fields) if isinstance(type_, TupleType) else 1
    if count != len(loss.outputs):
        raise bad_option(
            f"the loss has {count} results and {len(loss.outputs)} names: {', '.join(loss.outputs)}",
            'give outputs=("loss", "accuracy", "=mean"): a name for each, "=" before a new value of a parameter',
        )
    if "loss" not in loss.outputs:
        raise bad_option("no result is called loss", "name one of the outputs loss")
    type_ = loss.result_type("loss")
    if not is_float(type_) or len(type_.shape):
        raise wrong_input(
            f"the loss has the type {type_} and is not a scalar of floats",
            "take its mean, or its sum and a count of its terms",
        )
    return loss


def prepared(loss: Loss, precision: str) -> Loss:
    """Returns the loss in the precision of its computation, and in the meaning of training. With a dropout, @main has a
    further parameter `rng`."""
    passes, options = ["infer_type"], {}
    if precision != "float32":
        passes = ["to_mixed_precision"]
        options = {"to_mixed_precision.dtype": precision, "to_mixed_precision.keep_output": 1}
    module = run_passes(loss.module, [*passes, "training_forms"], options=options)
    return dataclasses.replace(loss, module=module)


_WHOLE = "results of the loss"  # the variable that is bound to all results


def _differentiable(loss: Loss, scaled: bool) -> IRModule:
    """Returns the module with the loss as its only result, multiplied by a further parameter if it is scaled."""
    main, whole = loss.module["main"], Var(_WHOLE)
    value = whole if len(loss.outputs) == 1 else TupleGetItem(whole, loss.outputs.index("loss"))
    scale = Var(SCALE, TensorType((), "float32"))
    if scaled:
        dtype = str(loss.result_type("loss").dtype)
        value = op.multiply(value, scale if dtype == "float32" else op.cast(scale, dtype=dtype))
    out = loss.module.clone()
    out["main"] = Function([*main.params, *([scale] if scaled else [])], Let(whole, main.body, value))
    return run_passes(out, ["infer_type"])


def _check_reached(module: IRModule, made: IRModule, wrt: list[str]) -> None:
    """Refuses parameters that the loss does not depend on."""
    reached = {one.name_hint for one in free_vars(run_passes(module, ["dead_code"])["main"].body)}
    _, result = bindings(made["main"].body)
    if isinstance(result, Tuple) and isinstance(result.fields[1], Tuple):
        names = [param.name_hint for param in made["main"].params]
        for name, gradient in zip(names, result.fields[1].fields, strict=True):
            if isinstance(gradient, Call) and isinstance(gradient.op, Op) and gradient.op.name == "zeros_like":
                reached.discard(name)
    idle = [name for name in wrt if name not in reached]
    if idle:
        raise wrong_input(
            f"the loss has no gradient with respect to {len(idle)} of the parameters: {', '.join(idle)}",
            f"remove them, or leave them as they are with groups={{{idle[0]!r}: None}}",
        )


def bindings(body: Expr) -> tuple[list[tuple[Var, Expr]], Expr]:
    """Returns the bindings in front of a result, and the result."""
    bound = []
    while isinstance(body, Let):
        bound.append((body.var, body.value))
        body = body.body
    return bound, body


def add_gradients(loss: Loss, wrt: list[str], scaled: bool) -> tuple[IRModule, list[str], list[str]]:
    """Returns a module with @loss_and_gradients, which returns (loss, gradients, all results), with its inputs, and
    those of @all_results.

    The last of the three is left out, and @all_results computes it, if the loss has control flow: then the results
    are computed within functions. The inputs of @all_results are empty if it is not needed.
    """
    module = _differentiable(loss, scaled)
    made = run_passes(module, ["gradient"])
    _check_reached(module, made, wrt)
    main = made["main"]
    bound, result = bindings(main.body)
    inputs = [param.name_hint for param in main.params]
    whole = next((variable for variable, _ in bound if variable.name_hint == _WHOLE), None)
    both = Var("both")
    gradients = Tuple([TupleGetItem(TupleGetItem(both, 1), inputs.index(name)) for name in wrt])
    body: Expr = Let(both, result, Tuple([TupleGetItem(both, 0), gradients, *([whole] if whole is not None else [])]))
    for variable, value in reversed(bound):
        body = Let(variable, value, body)
    out = made.clone()
    out["loss_and_gradients"] = Function(main.params, body).with_attr("Inline", 1)
    if whole is not None or len(loss.outputs) == 1:
        return out, inputs, []
    for variable, function in loss.module.functions.items():
        if variable not in out:
            out[variable] = function
    out["all_results"] = loss.module["main"].with_attr("Inline", 1)
    return out, inputs, loss.inputs


def call(name: str, arguments: list[Expr]) -> Call:
    """Returns a call of a function of the module."""
    return Call(GlobalVar(name), arguments)
