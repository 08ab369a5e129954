"""Operators that draw random numbers. PyTorch draws them before the graph runs, and the graph takes them as inputs.

A compiled graph therefore gets the numbers that eager PyTorch draws from the same state of its generator, if both draw
in the same order. This works for draws that depend on sizes, not on elements.
"""

from __future__ import annotations

import dataclasses

import torch

from .conversion import Refused
from .table import key_of

# Operators whose tensor argument is read for its sizes and type only, by name with the overload.
_OF_SIZES = {
    "rand_like", "randn_like", "randint_like", "randint_like.low_dtype", "bernoulli.p", "uniform", "normal_functional",
    "exponential", "cauchy", "geometric", "log_normal",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Blank:
    """A tensor of which only the sizes and the type matter. Sizes are numbers or formulas of symbols."""

    sizes: tuple
    dtype: torch.dtype


@dataclasses.dataclass(frozen=True)
class Draw:
    """A call of PyTorch that draws. Arguments may be Blanks and formulas of sizes."""

    target: torch._ops.OpOverload
    args: tuple
    named: dict

    def __call__(self, number) -> torch.Tensor:
        """Returns the drawn numbers. `number` evaluates a formula."""

        def value(one):
            if isinstance(one, Blank):
                return torch.empty([number(extent) for extent in one.sizes], dtype=one.dtype)
            if isinstance(one, list | tuple):
                return [value(inner) for inner in one]
            return one if isinstance(one, bool | str | torch.dtype | torch.device | torch.layout) else number(one)

        return self.target(*map(value, self.args), **{name: value(one) for name, one in self.named.items()})


def draws(target) -> bool:
    """Returns true if the operator draws random numbers."""
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def is_drawn(target) -> bool:
    """Returns true if draw_of supports the operator, which must then not be decomposed."""
    if not draws(target):
        return False
    tensors = [one for one in target._schema.arguments if isinstance(one.type, torch._C.TensorType)]
    return not tensors or key_of(target) in _OF_SIZES


def _formula(extent):
    return extent if isinstance(extent, int) else extent.node.expr


def blank(val: torch.Tensor, dtype: torch.dtype | None = None) -> Blank:
    return Blank(tuple(map(_formula, val.shape)), dtype or val.dtype)


def _argument(raw):
    if isinstance(raw, torch.fx.Node):
        val = raw.meta.get("val")
        return blank(val) if isinstance(val, torch.Tensor) else _formula(val)
    return [_argument(one) for one in raw] if isinstance(raw, list | tuple) else raw


def draw_of(node) -> Draw:
    """Returns the draw of a node. Raises Refused if the result depends on elements of a tensor."""
    reads = any(isinstance(one, torch.Tensor) for one in (source.meta.get("val") for source in node.all_input_nodes))
    if reads and key_of(node.target) not in _OF_SIZES:
        raise Refused("random numbers whose distribution depends on the elements of a tensor")
    named = {name: _argument(one) for name, one in node.kwargs.items()}
    return Draw(node.target, tuple(map(_argument, node.args)), named)


def mask_of(val: torch.Tensor, probability: float) -> Draw:
    """Returns bools of the tensor's sizes, each of which is True with this probability."""
    return Draw(torch.ops.aten.bernoulli.p, (blank(val, torch.bool), probability), {})
