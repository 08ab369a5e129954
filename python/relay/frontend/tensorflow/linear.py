"""Products of matrices."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.problems import Refused
from .conversion import Conversion, cast
from .values import dtype_of, shape_of
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


def batched(x: Expr, y: Expr, a: bool, b: bool) -> Expr:
    rank_x, rank_y = len(shape_of(x)), len(shape_of(y))
    if rank_x < 2 or rank_y < 2:
        raise Refused(f"its inputs have {rank_x} and {rank_y} axes, not two or more")
    if rank_x == rank_y == 2:
        return op.nn.matmul(x, y, transpose_a=a, transpose_b=b)
    if rank_y == 2 and not a:  # one matrix for all: a product of rows
        sizes, weight = shape_of(x), shape_of(y)
        rows = op.nn.matmul(op.reshape(x, newshape=[-1, sizes[-1]]), y, transpose_b=b)
        return op.reshape(rows, newshape=[*sizes[:-1], weight[0 if b else 1]])
    rank = max(rank_x, rank_y)
    if rank == 3 and rank_x == rank_y and shape_of(x)[0] == shape_of(y)[0]:
        return op.nn.batch_matmul(x, y, transpose_a=a, transpose_b=b)
    letters = [chr(ord("a") + place) for place in range(rank - 2)]
    first, second = letters[rank - rank_x :], letters[rank - rank_y :]
    batch_x, batch_y = shape_of(x)[:-2], shape_of(y)[:-2]
    first, x = _without_ones(x, first, batch_x)
    second, y = _without_ones(y, second, batch_y)
    left = "".join(first) + ("yx" if a else "xy")
    right = "".join(second) + ("zy" if b else "yz")
    kept = [one for one in letters if one in first or one in second]
    made = op.einsum([x, y], equation=f"{left},{right}->{''.join(kept)}xz")
    if len(kept) == len(letters):
        return made
    sizes, place = [], 0
    own = shape_of(made)
    for one in letters:
        sizes.append(own[place] if one in kept else 1)
        place += one in kept
    return op.reshape(made, newshape=[*sizes, *own[-2:]])


def _without_ones(x: Expr, letters: list, sizes: list) -> tuple[list, Expr]:
    """Leaves out axes of one element, which are broadcast."""
    kept = [not (size == 1 and isinstance(size, int)) for size in sizes]
    if all(kept):
        return list(letters), x
    own = shape_of(x)
    left = [size for size, keep in zip(sizes, kept, strict=True) if keep]
    return [one for one, keep in zip(letters, kept, strict=True) if keep], op.reshape(x, newshape=[*left, *own[-2:]])


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
