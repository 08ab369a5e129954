"""Functions of nested parameters, compiled: for evaluation beside a training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Function, IRModule, TensorType
from ..ir.expr import var
from ..run.compiled import compile
from .losses import type_of
from .parameters import flatten, owned, rebuilt


class Forward:
    """A compiled function(parameters, *batch): Forward(scores, params, {"x": ("n", 64)})(step.params, x).

    params: nested arrays of the shapes that it will be called with. batch: types, as of relay.train.Step. options: of
    relay.compile.
    """

    def __init__(self, function: Callable, params: Any, batch: dict, **options: Any):
        values = {name: owned(name, value) for name, value in flatten(params).items()}
        weights = {name: var(name, TensorType(value.shape, value.dtype.name)) for name, value in values.items()}
        given = [var(name, type_of(type_)) for name, type_ in batch.items()]
        body = function(rebuilt(params, weights), *given)
        self.compiled = compile(IRModule({"main": Function([*given, *weights.values()], body)}), **options)

    def __call__(self, params: Any, *batch: Any) -> Any:
        """Returns the function's result."""
        return self.compiled(*batch, *flatten(params).values())
