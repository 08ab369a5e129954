"""Operations of ML programs that take and replace parts of tensors."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Dim, Expr
from ..shared.expressions import cast, known, number, shape_of
from ..shared.problems import Refused
from ..shared.values import refuse_open
from . import functions as f
from .conversion import Operation
from .shape import expanded

ALL = int(np.iinfo(np.int64).max)


def _masks(c: Operation, name: str, rank: int) -> list[bool]:
    found = [bool(one) for one in c.elements(name).reshape(-1)] if c.has(name) else [False] * rank
    if len(found) != rank:
        raise Refused(f"`{name}` has {len(found)} elements for {rank} axes")
    return found


def slice_by_index(c: Operation):
    rank = c.rank
    strides = c.ints("stride", [1] * rank)
    begin_mask, end_mask, squeeze_mask = (_masks(c, f"{one}_mask", rank) for one in ("begin", "end", "squeeze"))
    if not (c.is_known("begin") and c.is_known("end")):
        return _sliced_at_run_time(c, strides, begin_mask, end_mask, squeeze_mask)
    begins, ends = c.sizes("begin"), c.sizes("end")
    return sliced(c.x, begins, ends, strides, begin_mask, end_mask, squeeze_mask)


def sliced(x: Expr, begins, ends, strides, begin_mask, end_mask, squeeze_mask) -> Expr:
    """Returns a part of a tensor. Masks: true to begin at the front, to end at the end, to take one element and leave
    out its axis."""
    own = shape_of(x)
    if (
        not len(begins)
        == len(ends)
        == len(strides)
        == len(begin_mask)
        == len(end_mask)
        == len(squeeze_mask)
        == len(own)
    ):
        raise Refused(f"it slices {len(begins)} axes of a tensor that has {len(own)}")
    first, last, steps, axes, dropped = [], [], [], [], []
    for axis, (begin, end, step, size) in enumerate(zip(begins, ends, strides, own, strict=True)):
        if step == 0:
            raise Refused("it has the stride 0")
        if squeeze_mask[axis]:
            begin = 0 if begin_mask[axis] else begin
            begin, step = _single(begin, size), 1
            end = begin + 1 if not (isinstance(begin, int) and begin == -1) else ALL
            dropped.append(axis)
        else:
            begin = (0 if step > 0 else -1) if begin_mask[axis] else begin
            end = (ALL if step > 0 else -ALL) if end_mask[axis] else end
            if begin_mask[axis] and end_mask[axis] and step == 1:
                continue
        first.append(begin)
        last.append(end)
        steps.append(step)
        axes.append(axis)
    made = _cut(x, first, last, steps, axes) if axes else x
    return op.squeeze(made, axis=dropped) if dropped else made


def _single(begin, size):
    if isinstance(begin, Dim):
        return begin
    if isinstance(size, int):
        begin = begin + size if begin < 0 else begin
        if not 0 <= begin < size:
            raise Refused(f"it takes element {begin} of an axis with {size}")
    return begin


def _cut(x: Expr, begins, ends, strides, axes) -> Expr:
    if any(isinstance(one, Dim) for one in [*begins, *ends]):
        raise refuse_open("the part that it takes")
    return op.strided_slice(x, begin=begins, end=ends, strides=strides, axes=axes)


def bounds(x: Expr, begin: Expr, end: Expr, begin_mask, end_mask, squeeze_mask) -> tuple[Expr, Expr]:
    """Returns begins and ends that are computed at run time, for dyn.strided_slice and strided_set."""
    sizes = f.constants([known(one, "a part of it") for one in shape_of(x)], "int64")
    zero = number(0, "int64")
    begin, end = cast(begin, "int64"), cast(end, "int64")
    begin, end = (op.where(op.less(one, zero), op.add(one, sizes), one) for one in (begin, end))
    begin = op.where(f.constants(begin_mask, "bool"), op.zeros_like(begin), begin)
    end = op.where(f.constants(end_mask, "bool"), sizes, end)
    end = op.where(f.constants(squeeze_mask, "bool"), op.add(begin, number(1, "int64")), end)
    return begin, end


def _sliced_at_run_time(c: Operation, strides, begin_mask, end_mask, squeeze_mask) -> Expr:
    if any(one < 0 for one in strides):
        raise refuse_open("a part of it that is taken backwards")
    begin, end = bounds(c.x, c.expr("begin"), c.expr("end"), begin_mask, end_mask, squeeze_mask)
    declared, _ = c.result()
    kept = [axis for axis, one in enumerate(squeeze_mask) if not one]
    if len(kept) == len(declared) and all(one is not None for one in declared):
        # The file gives the sizes of the result: it takes the elements from the first one on.
        made = c.x
        wanted = dict(zip(kept, declared, strict=True))
        for axis in range(c.rank):
            if begin_mask[axis] and wanted.get(axis) == c.shape[axis] and strides[axis] == 1:
                continue
            first = op.take(begin, number(axis, "int64"), axis=0)
            count = wanted.get(axis, 1)
            places = op.add(c.constant(np.arange(count) * strides[axis], "int64"), first)
            made = op.take(made, places, axis=axis, mode="clip")
        dropped = [axis for axis, one in enumerate(squeeze_mask) if one]
        return op.squeeze(made, axis=dropped) if dropped else made
    return taken(c.x, begin, end, strides, squeeze_mask)


def taken(x: Expr, begin: Expr, end: Expr, strides: list[int], squeeze_mask) -> Expr:
    """Returns a part from places that are computed at run time."""
    made = op.dyn.strided_slice(x, begin, end, f.constants(strides, "int64"))
    dropped = [axis for axis, one in enumerate(squeeze_mask) if one]
    return op.squeeze(made, axis=dropped) if dropped else made


def slice_by_size(c: Operation):
    rank = c.rank
    if not c.is_known("size"):
        raise refuse_open("`size`")
    sizes, own = c.sizes("size"), c.shape
    if len(sizes) != rank:
        raise Refused(f"it slices {len(sizes)} axes of a tensor that has {rank}")
    if not c.is_known("begin"):
        begin = cast(c.expr("begin"), "int64")
        made = c.x
        for axis, size in enumerate(sizes):
            if size == own[axis]:
                continue
            if isinstance(size, Dim) or size < 0:
                return _rest_at_run_time(c, begin, sizes)
            first = op.take(begin, number(axis, "int64"), axis=0)
            made = op.take(made, op.add(c.constant(np.arange(size), "int64"), first), axis=axis, mode="clip")
        return made
    begins = c.sizes("begin")
    ends = [ALL if not isinstance(one, Dim) and one == -1 else first + one
            for first, one in zip(begins, sizes, strict=True)]  # fmt: skip
    return _cut(c.x, begins, ends, [1] * rank, list(range(rank)))


def _rest_at_run_time(c: Operation, begin: Expr, sizes: list) -> Expr:
    """Returns a part from places that are computed at run time, with axes that go to their ends."""
    own = c.constant(np.asarray([known(one, "a part of it") for one in c.shape]), "int64")
    taken = c.constant(np.asarray([known(one, "a part of it") for one in sizes]), "int64")
    end = op.where(op.less(taken, number(0, "int64")), own, op.add(begin, taken))
    return op.dyn.strided_slice(c.x, begin, end, c.constant(np.ones(c.rank), "int64"))


def slice_update(c: Operation):
    rank = c.rank
    strides = c.ints("stride", [1] * rank)
    begin_mask, end_mask, squeeze_mask = (_masks(c, f"{one}_mask", rank) for one in ("begin", "end", "squeeze"))
    begin, end = bounds(c.x, c.expr("begin"), c.expr("end"), begin_mask, end_mask, squeeze_mask)
    update = expanded(c.expr("update"), [axis for axis, one in enumerate(squeeze_mask) if one])
    if any(one < 1 for one in strides):
        raise Refused("it writes backwards")
    folded = [c.importer.folded(one) for one in (begin, end)]
    if all(one is not None for one in folded):
        begin, end = (c.constant(one) for one in folded)
    return op.strided_set(c.x, cast(update, c.dtype), begin, end, c.constant(np.asarray(strides), "int64"))


def sliding_windows(c: Operation):
    return f.windows_along(c.x, c.axis("axis"), c.window("size"), c.window("stride", 1))
