"""Products of matrices."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, dtype_of
from ..shared.problems import Refused
from ..shared.products import batched
from .conversion import Conversion
from .windows import fused


def matmul(c: Conversion):
    """MatMul, SparseMatMul, _FusedMatMul: of two matrices."""
    if c.rank(0) != 2 or c.rank(1) != 2:
        raise Refused(f"its inputs have {c.rank(0)} and {c.rank(1)} axes, not two")
    made = product(c, c.x, c.value(1), bool(c("transpose_a", False)), bool(c("transpose_b", False)))
    return fused(c, made, c.exprs(2), -1) if c.node.op == "_FusedMatMul" else made


def product(c: Conversion, x: Expr, weight, transpose_a: bool, transpose_b: bool) -> Expr:
    y = c.as_expr(weight)
    if dtype_of(x) != dtype_of(y):
        y = cast(y, dtype_of(x))
    return op.nn.matmul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)


def batch_matmul(c: Conversion):
    """BatchMatMul: of the last two axes. The axes before them are broadcast."""
    x, y = c.x, c.y
    if "Tout" in c.node.attrs and dtype_of(x) != c("Tout"):
        x, y = cast(x, c("Tout")), cast(y, c("Tout"))
    a, b = bool(c("adj_x", False)), bool(c("adj_y", False))
    return batched(x, y, a, b)


def einsum(c: Conversion):
    """Einsum, with an ellipsis spelled out."""
    equation = c.text("equation").replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    terms = inputs.split(",")
    if not arrow or len(terms) != len(c.inputs):
        raise Refused(f"its equation is {equation!r}")
    free = [chr(code) for code in range(ord("A"), ord("Z") + 1) if chr(code) not in equation]
    most = max((c.rank(place) - len(one) + 3 for place, one in enumerate(terms) if "..." in one), default=0)
    if most > len(free):
        raise Refused(f"its equation {equation!r} stands for {most} axes")
    dots = free[:most]
    for place, one in enumerate(terms):
        if "..." in one:
            count = c.rank(place) - len(one) + 3
            terms[place] = one.replace("...", "".join(dots[most - count :]))
    result = result.replace("...", "".join(dots))
    return op.einsum(c.exprs(), equation=f"{','.join(terms)}->{result}")
