"""Elements by index: gather, scatter, one-hot, the greatest ones, diagonals, unique ones."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import cast, shape_of
from ..shared.problems import Refused
from ..shared.values import constant, number
from .conversion import Conversion, axis_of


def gather(c: Conversion):
    """Gather(data, indices), GatherV2(.., axis)."""
    return gathered(c, c.x, 1, axis_of(c.int(2, "its axis"), c.rank(0)) if c.has(2) else 0)


def gathered(c: Conversion, x: Expr, place: int, axis: int):
    batch = c("batch_dims", 0)
    batch = batch + c.rank(place) if batch < 0 else batch
    return op.take(x, c.expr(place), axis=axis, batch_dims=batch, mode="clip")


def gather_nd(c: Conversion):
    """GatherNd(data, indices): the last axis of the indices holds positions."""
    return gathered_nd(c, c.x)


def gathered_nd(c: Conversion, x: Expr):
    rank = c.rank(1)
    indices = op.transpose(c.y, axes=[rank - 1, *range(rank - 1)])
    depth = c.size(rank - 1, 1)
    return op.gather_nd(x, indices, batch_dims=0, index_rank=depth)


def _places(indices: Expr) -> Expr:
    rank = len(shape_of(indices))
    return cast(op.transpose(indices, axes=[rank - 1, *range(rank - 1)]), "int64")


def scatter_nd(c: Conversion):
    """ScatterNd(indices, updates, shape): repeated positions add up."""
    sizes = c.known(2)
    if sizes is None:
        into = op.dyn.full(number(0, c.dtype(1)), cast(c.expr(2), "int64"), dtype=c.dtype(1))
    else:
        into = op.zeros([one if isinstance(one, Dim) else int(one) for one in sizes], dtype=c.dtype(1))
    return op.scatter_nd(into, _places(c.x), c.y, mode="add")


def tensor_scatter(mode: str):
    """TensorScatterUpdate and others: (tensor, indices, updates)."""

    def convert(c: Conversion):
        updates = op.negative(c.expr(2)) if mode == "sub" else c.expr(2)
        return op.scatter_nd(c.x, _places(c.y), updates, mode="add" if mode == "sub" else mode)

    return convert


def one_hot(c: Conversion):
    """OneHot(indices, depth, on, off)."""
    rank = c.rank(0)
    axis = c("axis", -1)
    depth = c.known(1)
    if depth is None or isinstance(depth.reshape(-1)[0], Dim):
        raise Refused("its depth is known only at run time", "give the depth as a constant")
    return op.one_hot(
        c.x, on_value=c.expr(2), off_value=c.expr(3), depth=int(depth.reshape(-1)[0]),
        axis=rank if axis == -1 else axis, dtype=c.dtype(2),
    )  # fmt: skip


def top_k(c: Conversion):
    """TopK, TopKV2(data, k)."""
    count = c.known(1) if c.has(1) else np.asarray(c("k"))
    dtype = c("index_type", "int32")
    if count is None or isinstance(count.reshape(-1)[0], Dim):
        computed = op.reshape(cast(c.y, "int64"), newshape=[1])
        made = op.topk(c.x, k=computed, axis=-1, ret_type="both", dtype=dtype)
        return [made[0], made[1]]
    made = op.topk(c.x, k=int(count.reshape(-1)[0]), axis=-1, ret_type="both", is_ascend=False, dtype=dtype)
    return [made[0], made[1]]


def in_top_k(c: Conversion):
    """InTopKV2(predictions, targets, k): true where the target is among the k greatest."""
    count = c.int(2, "its k") if c.has(2) else c("k")
    rows = c.size(1)
    hot = op.one_hot(c.y, on_value=number(1, c.dtype(0)), off_value=number(0, c.dtype(0)), depth=rows, axis=1,
                     dtype=c.dtype(0))  # fmt: skip
    own = op.sum(op.multiply(hot, c.x), axis=[1], keepdims=True)
    greater = op.sum(op.cast(op.greater(c.x, own), "int32"), axis=[1])
    return op.less(greater, number(count, "int32"))


def where(c: Conversion):
    """Returns the positions of true elements."""
    return cast(op.argwhere(cast(c.x, "bool")), "int64")


def unique(c: Conversion):
    """Unique: values in the order of their first occurrence, and the place of each element among them."""
    if c.rank(0) != 1:
        raise Refused(f"its input has {c.rank(0)} axes, not one")
    if c.has(1) and c.shape(1) != [0] and c.ints(1) not in ([], [0]):
        raise Refused("it has an axis other than 0")
    has_counts = "Counts" in c.node.op
    # (values, first places, places of elements, their number, counts), padded to the size of x
    made = op.unique(c.x, is_sorted=False, return_counts=has_counts)
    dtype = c("out_idx", "int32")
    end = op.reshape(cast(made[3], "int64"), newshape=[1])
    zero, one = constant(np.zeros(1, np.int64)), constant(np.ones(1, np.int64))
    results = [op.dyn.strided_slice(made[0], zero, end, one), cast(made[2], dtype)]
    if has_counts:
        results.append(cast(op.dyn.strided_slice(made[4], zero, end, one), dtype))
    return results


def matrix_diag(c: Conversion):
    """MatrixDiag, and V2 and V3 with the main diagonal: a matrix with the last axis on its diagonal."""
    _only_main(c, 1)
    sizes = c.shape(0)
    count = c.size(len(sizes) - 1)
    for place in (2, 3):
        if c.has(place) and c.int(place, "its size") not in (-1, count):
            raise Refused("its matrix is not square")
    eye = constant(np.eye(count, dtype=bool))
    filler = c.expr(4) if c.has(4) else c.number(0)
    return op.where(eye, op.expand_dims(c.x, axis=len(sizes)), filler)


def _only_main(c: Conversion, place: int) -> None:
    if c.has(place) and c.node.op[-2:] in ("V2", "V3") and any(one != 0 for one in c.ints(place, "its diagonals")):
        raise Refused("it has diagonals other than the main one")


def matrix_diag_part(c: Conversion):
    _only_main(c, 1)
    rank = c.rank(0)
    rows, columns = c.size(rank - 2), c.size(rank - 1)
    count = min(rows, columns)
    sizes = shape_of(c.x)
    flat = op.reshape(c.x, newshape=[*sizes[:-2], rows * columns])
    places = np.arange(count, dtype=np.int32) * (columns + 1)
    return op.take(flat, constant(places), axis=rank - 2, mode="clip")


def matrix_set_diag(c: Conversion):
    """MatrixSetDiag(matrix, diagonal, k)."""
    k, align = 0, "RIGHT_LEFT"
    if c.has(2):
        numbers = c.ints(2, "its diagonals")
        k = numbers[0] if len(numbers) == 1 else numbers
        align = c.text("align", "LEFT_LEFT" if c.node.op[-1] == "2" else "RIGHT_LEFT")
    return op.matrix_set_diag(c.x, c.y, k=k, align=align)


def matrix_band_part(c: Conversion):
    """MatrixBandPart(matrix, diagonals below, diagonals above); a negative number keeps all of them."""
    rank = c.rank(0)
    rows, columns = c.size(rank - 2), c.size(rank - 1)
    below, above = c.int(1, "its diagonals"), c.int(2, "its diagonals")
    y, x = np.arange(rows)[:, None], np.arange(columns)[None, :]
    keep = ((below < 0) | (y - x <= below)) & ((above < 0) | (x - y <= above))
    return op.where(constant(keep), c.x, c.number(0))


def diag(c: Conversion):
    if c.rank(0) != 1:
        raise Refused(f"its input has {c.rank(0)} axes, not one")
    return matrix_diag(c)


def diag_part(c: Conversion):
    if c.rank(0) != 2:
        raise Refused(f"its input has {c.rank(0)} axes, not two")
    return matrix_diag_part(c)


def bounds(right: bool):
    """LowerBound and UpperBound(sorted, values)."""

    def convert(c: Conversion):
        return op.searchsorted(c.x, c.y, right=right, dtype=c("out_type", "int32"))

    return convert


def bucketize(c: Conversion):
    edges = np.asarray(c.list("boundaries"), np.float32)
    x = cast(c.x, "float32")
    if c.dtype(0) in ("int64", "float64"):
        x, edges = cast(c.x, "float64"), edges.astype(np.float64)
    flat = op.reshape(x, newshape=[-1])
    made = op.searchsorted(constant(edges), flat, right=True, dtype="int32")
    return op.reshape(made, newshape=c.shape(0))


def list_diff(c: Conversion):
    """ListDiff: the elements of x that y lacks, and their positions."""
    equal = op.equal(op.expand_dims(c.x, axis=1), op.expand_dims(c.y, axis=0))
    kept = op.argwhere(op.logical_not(op.any(equal, axis=[1])))
    places = op.squeeze(kept, axis=[1])
    return [op.take(c.x, places, axis=0, mode="clip"), cast(places, c("out_idx", "int32"))]


def stitch(c: Conversion):
    """DynamicStitch(positions.., data..): rows at positions, those of later inputs last."""
    count = c("N", len(c.inputs) // 2)
    rows, places = [], []
    for place in range(count):
        found = c.elements(place, "its positions")
        if found.dtype == object:
            raise Refused("its positions are sizes")
        rank = found.ndim
        rest = c.shape(count + place)[rank:]
        rows.append(op.reshape(c.expr(count + place), newshape=[found.size, *rest]))
        places += found.reshape(-1).tolist()
    size = max(places, default=-1) + 1
    if not 0 <= size <= 1 << 24 or min(places, default=0) < 0:
        raise Refused(f"its positions reach from {min(places, default=0)} to {size - 1}")
    last = {one: row for row, one in enumerate(places)}
    together = op.concatenate(rows, axis=0) if len(rows) > 1 else rows[0]
    if len(last) == size:
        order = np.asarray([last[one] for one in range(size)], np.int32)
        return op.take(together, constant(order), axis=0, mode="clip")
    rest = shape_of(together)[1:]
    kept = constant(np.asarray(sorted(last.values()), np.int32))
    order = constant(np.asarray([[places[row] for row in sorted(last.values())]], np.int64))
    into = op.zeros([size, *rest], dtype=c.dtype(count))
    return op.scatter_nd(into, order, op.take(together, kept, axis=0, mode="clip"), mode="update")


def nth_element(c: Conversion):
    """NthElement(data, n): the n-th smallest (or greatest) number of each row."""
    rank, n = c.rank(0), c.int(1, "its n")
    made = op.sort(c.x, axis=-1, is_ascend=not c("reverse", False))
    return op.take(made, number(n, "int32"), axis=rank - 1, mode="checked")
