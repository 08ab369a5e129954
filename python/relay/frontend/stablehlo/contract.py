"""Converters of sums of products: dot_general and convolution."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import shape_of
from ..shared.problems import Refused
from .conversion import Conversion, checked_axes, product, reshape, transpose
from .shape import dilated, zero_of


def dot_general(c: Conversion) -> Expr:
    c.expect_inputs(2)
    lhs, rhs = c.inputs
    batch, contracted = _pair(c, "batching_dims", "batching"), _pair(c, "contracting_dims", "contracting")
    ranks = c.rank(0), c.rank(1)
    axes = [checked_axes([*b, *k], rank, "axes") for b, k, rank in zip(batch, contracted, ranks, strict=True)]
    free = [[one for one in range(rank) if one not in used] for used, rank in zip(axes, ranks, strict=True)]
    shapes = c.shape(0), c.shape(1)
    batches = [shapes[0][one] for one in batch[0]]
    rows, columns = ([shapes[i][one] for one in free[i]] for i in (0, 1))
    inner = product(shapes[0][one] for one in contracted[0])
    out = c.result().dtype
    if c.dtype(0) == "bool":
        raise Refused("a product of booleans")
    lhs = transpose(lhs, [*batch[0], *free[0], *contracted[0]])
    if batches:
        rhs = transpose(rhs, [*batch[1], *contracted[1], *free[1]])
        lhs = reshape(lhs, [product(batches), product(rows), inner])
        rhs = reshape(rhs, [product(batches), inner, product(columns)])
        made = op.nn.batch_matmul(lhs, rhs, transpose_b=False, out_dtype=out)
    else:
        rhs = transpose(rhs, [*contracted[1], *free[1]])
        lhs, rhs = reshape(lhs, [product(rows), inner]), reshape(rhs, [inner, product(columns)])
        made = op.nn.matmul(lhs, rhs, out_dtype=out)
    return reshape(made, [*batches, *rows, *columns])


def _pair(c: Conversion, short: str, stem: str) -> tuple[list[int], list[int]]:
    """Returns axes of both operands, from `short = [0] x [0]` or from #stablehlo.dot<..>."""
    numbers = c.attr("dot_dimension_numbers", default=None)
    if numbers is not None:
        return tuple(numbers.get(f"{side}_{stem}_dimensions", []) for side in ("lhs", "rhs"))
    return c.attr(short, default=([], []))


def dot(c: Conversion) -> Expr:
    """Converts the older `dot`: the last axis of one operand with the first of the other."""
    c.expect_inputs(2)
    c.operation.attrs["contracting_dims"] = ([c.rank(0) - 1], [0])
    return dot_general(c)


_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
_CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}


def convolution(c: Conversion) -> Expr:
    c.expect_inputs(2)
    rank = c.rank() - 2
    if rank not in _SPATIAL:
        raise Refused(f"a convolution over {rank} spatial axes", "use one to three")
    window = c.attr("window", default={})
    read = {**window, **c.operation.attrs}
    names = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}
    strides, spread, dilation = (_each(read.get(short, read.get(long)), rank, 1) for short, long in names.items())
    c.operation.attrs.update({"pad": window["pad"]} if "pad" in window else {})
    padding = c.ints("pad", "padding", default=[0] * (2 * rank))
    low, high = padding[0::2], padding[1::2]
    reversed_ = _each(read.get("reverse", read.get("window_reversal")), rank, False)
    groups, batch_groups = c.int("feature_group_count", default=1), c.int("batch_group_count", default=1)
    data_order, kernel_order, out_order = _orders(c, rank)
    data = transpose(c.x, [data_order.index(one) for one in ("b", "f", *range(rank))])
    kernel = transpose(c.input(1), [kernel_order.index(one) for one in ("o", "i", *range(rank))])
    for axis, is_reversed in enumerate(reversed_):
        if is_reversed:
            kernel = op.reverse(kernel, axis=axis + 2)
    data = dilated(data, zero_of(c.dtype()), [1, 1, *spread])
    if any(one < 0 for one in (*low, *high)):
        cut = [[min(a, 0), min(b, 0)] for a, b in zip(low, high, strict=True)]
        data = op.nn.pad(data, pad_width=[[0, 0], [0, 0], *cut], pad_value=zero_of(c.dtype()))
        low, high = [max(one, 0) for one in low], [max(one, 0) for one in high]

    def convolved(data: Expr, kernel: Expr) -> Expr:
        return _CONVOLUTIONS[rank](
            data, kernel, strides=strides, padding=[*low, *high], dilation=dilation, groups=groups,
            out_dtype=c.result().dtype,
        )  # fmt: skip

    if batch_groups == 1:
        made = convolved(data, kernel)
    else:
        parts = zip(_parts(data, batch_groups), _parts(kernel, batch_groups), strict=True)
        made = op.concatenate([convolved(*one) for one in parts], axis=1)
    return transpose(made, [("b", "f", *range(rank)).index(one) for one in out_order])


def _parts(x: Expr, count: int) -> list[Expr]:
    """Returns equal parts along the first axis."""
    size = shape_of(x)[0]
    if not isinstance(size, int) or count < 1 or size % count:
        raise Refused(f"{size} cannot be divided into {count} groups", "correct the text")
    step = size // count
    return [op.strided_slice(x, begin=[i * step], end=[(i + 1) * step], axes=[0]) for i in range(count)]


def _each(found, count: int, otherwise) -> list:
    found = [otherwise] * count if found is None else found
    if not isinstance(found, list) or len(found) != count:
        raise Refused(f"{found!r} are not {count} values of the window", "correct the text")
    return found


def _orders(c: Conversion, rank: int) -> list[list]:
    """Returns the orders of the axes of data, kernel and result: "b", "f", "i", "o", and numbers of spatial axes."""
    found = c.attr("dim_numbers", "dimension_numbers")
    kinds = (("b", "f"), ("i", "o"), ("b", "f"))
    if not isinstance(found, tuple) or len(found) != 3:
        raise Refused("its axes are not named as [b, 0, f]x[0, i, o]->[b, 0, f]", "correct the text")
    for order, kind in zip(found, kinds, strict=True):
        if sorted(map(str, order)) != sorted(map(str, (*kind, *range(rank)))):
            raise Refused(f"the axes {order} are not {', '.join(kind)} and {rank} numbers", "correct the text")
    return list(found)
