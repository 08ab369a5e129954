"""Training of layers: a step of relay.train that updates the parameters and the state of a layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import IRModule
from ..train.optimisers import Adam, Optimiser
from ..train.step import Step
from .module import Module
from .trace import Traced, trace, type_of


def step(
    layer: Module,
    loss: Callable,
    batch: dict[str, Any],
    optimiser: Optimiser = Adam(),  # noqa: B008 - it is immutable
    **options: Any,
) -> Step:
    """Returns a training step (docs/training.md). Its parameters have the names of the layer's. The moving statistics
    of batch norms are updated with them. The step copies the parameters: layer.load_state_dict(step.params) takes them
    back.

    loss: loss(layer, *batch) over expressions, a scalar. batch: the types of its further arguments by name: a shape, or
    (shape, dtype), or a type; sizes may be names. options: those of relay.train.Step. The layer must be in training
    mode for batch norms and dropouts to train.
    """
    traced = _traced(layer, loss, batch)
    used = {one.name: one for one in traced.parameters}
    params = {name: used[name].data for name in used}
    updated = [one.name for one in traced.updated]
    groups = dict.fromkeys([name for name, one in used.items() if not one.trained and name not in updated], None)
    outputs = ("loss", *(f"={name}" for name in updated))
    return Step(
        traced.module,
        params,
        optimiser=optimiser,
        groups=groups | (options.pop("groups", None) or {}),
        outputs=outputs,
        **options,
    )


def loss_module(layer: Module, loss: Callable, batch: dict[str, Any]) -> IRModule:
    """Returns the program of a loss, for relay.value_and_grad: @main takes the batch, then the parameters by name.
    The arguments are those of step()."""
    return _traced(layer, loss, batch, training=False).module


def _traced(layer: Module, loss: Callable, batch: dict[str, Any], training: bool = True) -> Traced:
    types = [type_of(one, name) for name, one in batch.items()]
    return trace(layer, tuple(types), training=training, of=lambda *inputs: loss(layer, *inputs), names=list(batch))
