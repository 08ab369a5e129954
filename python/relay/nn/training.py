"""Training of layers: a step of relay.train that updates the parameters and the state of a layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..train.optimisers import Adam, Optimiser
from ..train.step import Step
from .module import Module
from .trace import trace, type_of


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
    types = [type_of(one, name) for name, one in batch.items()]
    traced = trace(layer, tuple(types), training=True, of=lambda *inputs: loss(layer, *inputs), names=list(batch))
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
