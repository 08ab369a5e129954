"""Sparse tensors: positions, values and a shape."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr, TupleGetItem
from ..shared.expressions import cast, shape_of
from ..shared.known import constant
from ..shared.problems import Refused
from .conversion import Conversion
from .values import Absent, number


def _dense_sizes(c: Conversion, place: int) -> list[int]:
    sizes = c.ints(place, "the shape of its result")
    if min(sizes, default=0) < 0:
        raise Refused(f"its shape is {tuple(sizes)}")
    return sizes


def _placed(indices: Expr, values: Expr, into: Expr, mode: str) -> Expr:
    """Returns a tensor with values at positions: (count, axes), (count,) or one position."""
    rank = len(shape_of(indices))
    indices = cast(indices, "int64")
    if rank == 0:
        indices = op.reshape(indices, newshape=[1, 1])
    elif rank == 1:
        indices = op.expand_dims(indices, axis=1)
    places = op.transpose(indices, axes=[1, 0])
    count = shape_of(indices)[0]
    if not shape_of(values):
        values = op.broadcast_to(op.reshape(values, newshape=[1]), shape=[count])
    return op.scatter_nd(into, places, values, mode=mode)


def to_dense(c: Conversion):
    """SparseToDense(positions, shape, values, default)."""
    into = op.full(c.expr(3), shape=_dense_sizes(c, 1))
    return _placed(c.x, c.expr(2), into, "update")


def add_dense(c: Conversion):
    """SparseTensorDenseAdd(positions, values, shape, dense)."""
    return _placed(c.x, c.y, c.expr(3), "add")


def matmul(c: Conversion):
    """SparseTensorDenseMatMul(positions, values, shape, dense): rows of the dense matrix, scaled and summed."""
    sizes = _dense_sizes(c, 2)
    matrix = _placed(c.x, c.y, op.zeros(sizes, dtype=c.dtype(1)), "add")
    return op.nn.matmul(
        matrix, c.expr(3), transpose_a=bool(c("adjoint_a", False)), transpose_b=bool(c("adjoint_b", False))
    )


def reshape(c: Conversion):
    """SparseReshape(positions, shape, new shape): new positions from row-major numbers."""
    before, wanted = _dense_sizes(c, 1), c.ints(2, "its shape")
    total = int(np.prod(before))
    if -1 in wanted:
        rest = int(np.prod([one for one in wanted if one != -1]))
        wanted[wanted.index(-1)] = total // max(rest, 1)
    if int(np.prod(wanted)) != total:
        raise Refused(f"{tuple(before)} cannot become {tuple(wanted)}")
    strides = np.cumprod([1, *before[:0:-1]])[::-1].astype(np.int64)
    flat = op.sum(op.multiply(cast(c.x, "int64"), constant(strides.copy())), axis=[1])
    parts, left = [], flat
    for stride in np.cumprod([1, *wanted[:0:-1]])[::-1]:
        parts.append(op.floor_divide(left, number(int(stride), "int64")))
        left = op.floor_mod(left, number(int(stride), "int64"))
    return [op.stack(parts, axis=1), constant(np.asarray(wanted, np.int64))]


def fill_empty_rows(c: Conversion):
    """SparseFillEmptyRows(positions, values, shape, default)."""
    made = op.sparse_fill_empty_rows(c.x, c.y, c.expr(2), op.reshape(c.expr(3), newshape=[]))
    return [*(TupleGetItem(made, place) for place in range(3)), Absent()]
