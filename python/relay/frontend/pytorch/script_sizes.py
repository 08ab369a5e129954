"""Sizes that are known at run time only, which TorchScript has as tensors (_shape_as_tensor, NumToTensor). They stay
numbers.

A traced model writes min(cat([400], shape[0:1])) for min(400, shape[0]). As a number, it is a size that a result can
have; as a tensor, it could be any number.
"""

from __future__ import annotations

import operator

import torch


class Sizes:
    """A vector of sizes, or a single size as a tensor without axes."""

    def __init__(self, sizes: list, is_one: bool = False):
        self.sizes, self.is_one = sizes, is_one

    def tensor(self) -> torch.Tensor:
        elements = [torch.ops.aten.scalar_tensor.default(one, dtype=torch.int64) for one in self.sizes]
        return elements[0] if self.is_one else torch.stack(elements)


def of_shape(shape) -> Sizes | None:
    """Returns the sizes, or None if all of them are known."""
    return None if all(isinstance(one, int) for one in shape) else Sizes(list(shape))


def of_number(value, dtype) -> Sizes | None:
    """Imports scalar_tensor of a size. A number that is read from it may be a size again."""
    is_size = dtype in (torch.int64, 4) and isinstance(value, int | torch.SymInt)  # 4 is TorchScript's number for int64
    return Sizes([value], True) if is_size else None


def _number(value):
    """Returns the number that a tensor without axes stands for, if it is known or a size, otherwise None."""
    if isinstance(value, Sizes):
        return value.sizes[0] if value.is_one else None
    is_held = type(value) is torch.Tensor and not value.dim() and value.dtype == torch.int64
    return value.item() if is_held else value if isinstance(value, int) else None


def _joined(parts: list, axis: int) -> Sizes | None:
    found = []
    for one in parts:
        if isinstance(one, Sizes) and not one.is_one:
            found += one.sizes
        elif type(one) is torch.Tensor and one.dim() == 1 and one.dtype == torch.int64:
            found += one.tolist()
        else:
            return None
    return Sizes(found)


def _stacked(parts: list, axis: int) -> Sizes | None:
    numbers = [_number(one) for one in parts]
    return None if None in numbers else Sizes(numbers)


def _folded(function):
    def fold(x: Sizes, *axes) -> Sizes | None:
        result, *more = x.sizes
        for one in more:
            result = function(result, one)
        return None if axes else Sizes([result], True)

    return fold


def _arithmetic(function):
    def of(*given) -> Sizes | None:
        numbers = [_number(one) for one in given]
        return None if None in numbers else Sizes([function(*numbers)], True)

    return of


def _converted(x: Sizes, *how) -> Sizes | None:
    """Converts to another element type; the result is a tensor."""
    types = [one for one in how if type(one) is int or isinstance(one, torch.dtype)]
    return x if types and types[0] in (torch.int64, 4) else None


_OPERATORS = {
    "aten::add": _arithmetic(lambda a, b, times=1: a + times * b),
    "aten::sub": _arithmetic(lambda a, b, times=1: a - times * b),
    "aten::mul": _arithmetic(operator.mul),
    "aten::floor_divide": _arithmetic(operator.floordiv),
    "aten::stack": _stacked,
    "aten::to": _converted,
    "aten::detach": lambda x: x,
    "aten::select": lambda x, axis, place: Sizes([x.sizes[place]], True),
    "aten::unsqueeze": lambda x, axis: Sizes(x.sizes) if x.is_one else None,
    "aten::cat": _joined,
    "aten::min": _folded(torch.sym_min),
    "aten::max": _folded(torch.sym_max),
    "prim::NumToTensor": lambda x: x,
    **dict.fromkeys(("aten::Int", "aten::IntImplicit", "aten::ScalarImplicit", "aten::item"), lambda x: x.sizes[0]),
}


def called(kind: str, given: list):
    """Returns the result of the operator on sizes, or None if it must take them as tensors."""
    function = _OPERATORS.get(kind)
    return None if function is None else function(*given)


def has_sizes(given: list) -> bool:
    return any(isinstance(one, Sizes) for value in given for one in (value if isinstance(value, list) else [value]))


def as_tensors(given: list) -> list:
    def of(value):
        if isinstance(value, list | tuple):
            return type(value)(of(one) for one in value)
        return value.tensor() if isinstance(value, Sizes) else value

    return [of(value) for value in given]
