"""Operations of ML programs on elements by index, and on the order of elements."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, dtype_of, shape_of
from . import functions as f
from .conversion import Operation
from .operations import TYPES


def gather(c: Operation):
    c.ignore("validate_indices")
    axis, batch = c.axis("axis", 0), c.int("batch_dims", 0)
    indices = c.expr("indices")
    batch = batch + len(shape_of(indices)) if batch < 0 else batch
    return op.take(c.x, f.non_negative(_wide(indices), c.shape[axis]), axis=axis, batch_dims=batch, mode="clip")


def _wide(indices: Expr) -> Expr:
    """Returns indices of 16 or fewer bits with 32 bits."""
    return cast(indices, "int32") if dtype_of(indices) not in ("int32", "int64") else indices


def gather_along_axis(c: Operation):
    c.ignore("validate_indices")
    axis = c.axis("axis", 0)
    return op.gather(c.x, axis, f.non_negative(_wide(c.expr("indices")), c.shape[axis]))


def gather_nd(c: Operation):
    c.ignore("validate_indices")
    return f.gathered_nd(c.x, _wide(c.expr("indices")), c.count("batch_dims", 0, 0))


_MODES = ("update", "add", "sub", "mul", "div", "max", "min")


def _data(c: Operation) -> Expr:
    c.ignore("validate_indices")
    return c.expr("data")


def scatter(c: Operation):
    """Slices along an axis at positions."""
    data, indices, updates = _data(c), _wide(c.expr("indices")), c.expr("updates")
    axis, rank = c.axis("axis", 0, len(shape_of(data))), len(shape_of(data))
    extra = len(shape_of(indices))
    indices = f.non_negative(indices, shape_of(data)[axis])
    if axis:  # the axis moves to the front
        data = op.transpose(data, axes=[axis, *range(axis), *range(axis + 1, rank)])
        places = list(range(axis, axis + extra))
        others = [one for one in range(rank - 1 + extra) if one not in places]
        updates = op.transpose(updates, axes=[*places, *others])
    made = f.scattered_nd(data, op.expand_dims(indices, axis=-1), updates, c.text("mode", "add", _MODES))
    return op.transpose(made, axes=[*range(1, axis + 1), 0, *range(axis + 1, rank)]) if axis else made


def scatter_along_axis(c: Operation):
    data = _data(c)
    axis = c.axis("axis", 0, len(shape_of(data)))
    return f.scattered_along(data, _wide(c.expr("indices")), c.expr("updates"), axis, c.text("mode", "add", _MODES))


def scatter_nd(c: Operation):
    return f.scattered_nd(_data(c), _wide(c.expr("indices")), c.expr("updates"), c.text("mode", "add", _MODES))


def topk(c: Operation):
    count = c.count("k", 1)
    c.ignore("sort")
    axis, dtype = c.axis("axis", -1), TYPES[c.text("output_indices_dtype", "int32", tuple(TYPES))]
    values_only = not c.flag("return_indices", True)
    made = op.topk(c.x, k=min(count, c.size(axis, "`k`")), axis=axis, ret_type="both", is_ascend=c.flag("ascending"),
                   dtype="int32")  # fmt: skip
    return [made[0]] if values_only else [made[0], cast(made[1], dtype)]


def argsort(c: Operation):
    return op.argsort(c.x, axis=c.axis("axis", -1), is_ascend=c.flag("ascending"), dtype="int32")


def non_zero(c: Operation):
    return op.cast(op.argwhere(op.not_equal(c.x, c.number(0)) if c.dtype != "bool" else c.x), "int32")
