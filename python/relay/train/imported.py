"""Losses of imported models: PyTorch's modules, and modules whose weights are constants, such as those of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import (
    Call,
    Constant,
    Expr,
    Function,
    IRModule,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    Var,
    post_order_visit,
    substitute,
)
from ..data.arrays import array
from ..data.arrays import numpy as as_numpy
from ..errors import wrong_input
from ..frontend.pytorch import from_module
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import run_passes


def from_torch(
    network: Any, loss: Callable, example: tuple, *, any_size: bool = True
) -> tuple[IRModule, dict[str, np.ndarray], tuple[str, ...]]:
    """Returns the loss of a torch.nn.Module as a module, its parameters by PyTorch's names, and the names of the
    module's results: step = Step(module, params, optimiser=.., outputs=outputs).

    loss: loss(network, *batch) in PyTorch, a scalar. example: a batch. any_size: leave the first size of the batch
    open. Moving averages of batch norms are updated, from the biased variance of the batch. A network with dropout is
    refused, as exported programs lack it.
    """
    import torch

    for name, part in network.named_modules():
        if "Dropout" in type(part).__name__ and getattr(part, "p", 0) > 0:
            raise wrong_input(
                f"`{name or type(network).__name__}` is a {type(part).__name__}, which an exported program lacks",
                "set its p to 0, or write the loss in Relay with relay.nn.dropout",
            )
    values = {name: one.detach() for name, one in network.state_dict().items() if one.is_floating_point()}

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            object.__setattr__(self, "network", network)  # not a part: its parameters are inputs

        def forward(self, params, *batch):
            return loss(lambda *inputs: torch.func.functional_call(network, params, inputs), *batch)

    sizes = None
    if any_size:
        n = torch.export.Dim("n")
        sizes = (dict.fromkeys(values), tuple({0: n} if one.ndim else None for one in example))
    was_training = network.training
    network.eval()
    try:
        module = from_module(Loss(), (values, *example), sizes)
    finally:
        network.train(was_training)
    module, outputs = _with_averages(_renamed(module, list(values)))
    return module, {name: np.array(as_numpy(array(one))) for name, one in values.items()}, outputs


def _renamed(module: IRModule, names: list[str]) -> IRModule:
    """Returns the module with these names for @main's first parameters, and x0, x1, .. for the batch."""
    main = run_passes(module, ["infer_type"])["main"]
    names = names + [f"x{i}" for i in range(len(main.params) - len(names))]
    new = {old: Var(name, old.checked_type) for old, name in zip(main.params, names, strict=True)}
    return _with_main(module, list(new.values()), substitute(main.body, new))


def _with_main(module: IRModule, params: list[Var], body: Expr) -> IRModule:
    out = module.clone()
    out["main"] = Function(params, body)
    return run_passes(out, ["infer_type"])


def _with_averages(module: IRModule) -> tuple[IRModule, tuple[str, ...]]:
    """Returns the module with the new moving averages of batch norms as further results, and the results' names."""
    main, found = module["main"], {}

    def note(e):
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == "nn.batch_norm":
            for at, moving in ((1, e.args[3]), (2, e.args[4])):
                if isinstance(moving, Var):
                    found[f"={moving.name_hint}"] = TupleGetItem(e, at)

    post_order_visit(main, note)
    if not found:
        return module, ("loss",)
    return _with_main(module, list(main.params), Tuple([main.body, *found.values()])), ("loss", *found)


class _Lifter(ExprMutator):
    """Replaces constants by parameters."""

    def __init__(self):
        super().__init__()
        self.found: dict[Constant, Var] = {}

    def visit_constant(self, constant):
        type_ = constant.checked_type
        if not str(type_.dtype).startswith("float") or not len(type_.shape):
            return constant
        if constant not in self.found:
            self.found[constant] = Var(f"p{len(self.found)}", TensorType(type_.shape, type_.dtype))
        return self.found[constant]


def with_parameters(module: IRModule) -> tuple[IRModule, dict[str, np.ndarray]]:
    """Returns the module with @main's constants of floats, other than scalars, as parameters p0, p1, .. in the order of
    their use, and their values. An ONNX model's weights are such constants."""
    main, lifter = run_passes(module, ["infer_type"])["main"], _Lifter()
    body = lifter.visit(main.body)
    made = _with_main(module, [*main.params, *lifter.found.values()], body)
    return made, {var.name_hint: np.array(as_numpy(array(one.data))) for one, var in lifter.found.items()}
