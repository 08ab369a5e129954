"""Sizes that are computed at import: the elements of small integer tensors are followed through arithmetic, as numbers
and Dim. Operations whose sizes are operands (dynamic_reshape, ..) read them."""

from __future__ import annotations

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import shape_of
from ..shared.problems import Refused
from .conversion import Conversion, number, reshape
from .shape import broadcast

_MOST = 64  # elements that are followed


def _least(a, b):
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else Dim(a).min(b)


def _greatest(a, b):
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else Dim(a).max(b)


_ARITHMETIC = {
    "stablehlo.add": lambda a, b: a + b,
    "stablehlo.subtract": lambda a, b: a - b,
    "stablehlo.multiply": lambda a, b: a * b,
    "stablehlo.minimum": _least,
    "stablehlo.maximum": _greatest,
}


def follow(c: Conversion, results: list[Expr]) -> None:
    """Notes the elements of the result if those of all operands are known."""
    name, known = c.operation.name, c.importer.known
    operands = [known.get(one) for one in c.inputs]
    if len(results) != 1 or not operands or any(one is None for one in operands) or results[0] in known:
        return
    if not c.result().dtype.startswith(("int", "uint")):
        return
    if name in _ARITHMETIC:
        made = [_ARITHMETIC[name](*pair) for pair in zip(*operands, strict=True)]
    elif name in ("stablehlo.reshape", "stablehlo.convert"):
        made = list(operands[0])
    elif name == "stablehlo.concatenate" and c.rank() == 1:
        made = [element for one in operands for element in one]
    elif name == "stablehlo.broadcast_in_dim" and len(operands[0]) == 1 and shape_of(results[0]) in ([], [1]):
        made = list(operands[0])
    else:
        return
    if len(made) <= _MOST:
        known[results[0]] = made


def get_dimension_size(c: Conversion) -> Expr:
    axis = c.axis(c.rank(), "dim", "dimension")
    size = c.shape()[axis]
    if isinstance(size, int):
        made = number(size, "int32")
    else:
        made = op.cast(op.take(op.shape_of(c.x), number(axis, "int64"), axis=0), "int32")
    c.importer.known[made] = [size]
    return made


def _sizes(c: Conversion, position: int) -> list:
    found = c.importer.known.get(c.input(position))
    if found is None:
        raise Refused("its sizes depend on data, or are computed in a form that is not followed at import")
    return found


def dynamic_broadcast_in_dim(c: Conversion) -> Expr:
    sizes = _sizes(c, 1)
    return broadcast(c.x, c.axes(len(sizes), "dims", "broadcast_dimensions"), sizes)


def dynamic_reshape(c: Conversion) -> Expr:
    return reshape(c.x, _sizes(c, 1))


def shape_assertion(c: Conversion) -> list[Expr]:
    """Drops JAX's test of the sizes that are given: a compiled program checks those that its operators need."""
    return []
