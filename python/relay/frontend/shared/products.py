"""Products of matrices with any number of axes before them."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from .expressions import shape_of
from .problems import Refused


def batched(x: Expr, y: Expr, a: bool, b: bool) -> Expr:
    """Returns the products of the matrices in the last two axes. The axes before them are broadcast. a, b: true if the
    matrices of x, of y, are transposed."""
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
