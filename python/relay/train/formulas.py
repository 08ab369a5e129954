"""Small formulas that optimisers, schedules and the step share.

Numbers that are equal for all elements of a tensor (rates, corrections of bias) are scalars in float64, as PyTorch
computes them on the host. They are converted to the element type of a tensor where they meet it.
"""

from __future__ import annotations

from .. import op
from .._core import Expr, TensorType, free_vars
from ..ir.expr import const


def scalar(value: float) -> Expr:
    """Returns a float64 constant."""
    return const(float(value), "float64")


def dtype_of(tensor: Expr) -> str:
    """Returns the element type of a variable with a type."""
    return str(tensor.type_annotation.dtype)


def once(number: Expr) -> Expr:
    """Returns a scalar that is computed by itself, not in the kernels of tensors that read it, where it would cost more
    than the rest."""
    return op.annotation.stop_fusion(number) if free_vars(number) else number


def meets(number: Expr, tensor: Expr) -> Expr:
    """Returns a float64 scalar in the element type of a variable."""
    dtype = dtype_of(tensor)
    return once(number if dtype == "float64" else op.cast(number, dtype=dtype))


def lerp(start: Expr, end: Expr, weight: float) -> Expr:
    """Returns start + weight * (end - start), rounded as torch.lerp does: from the nearer side."""
    if weight < 0.5:
        return start + (end - start) * weight
    return end - (end - start) * (1 - weight)


def lerp_by(start: Expr, end: Expr, weight: Expr) -> Expr:
    """Returns lerp() with a weight that is computed."""
    near, far = start + (end - start) * weight, end - (end - start) * (weight * -1.0 + 1.0)
    return op.where(weight < 0.5, near, far)


def norm(tensor: Expr) -> Expr:
    """Returns the square root of the sum of squares of all elements."""
    return op.sqrt(op.sum(tensor * tensor))


def elements(type_: TensorType) -> int:
    """Returns the number of elements of a type with known sizes."""
    count = 1
    for extent in type_.shape:
        count *= int(extent)
    return count


def is_float(type_) -> bool:
    """Returns true for a tensor of floats of any width."""
    return isinstance(type_, TensorType) and str(type_.dtype).startswith(("float", "bfloat"))


def tree_sum(terms: list[Expr]) -> Expr:
    """Returns the sum of a list, added in pairs. The order depends on the length of the list only."""
    while len(terms) > 1:
        pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + ([terms[-1]] if len(terms) % 2 else [])
    return terms[0]
