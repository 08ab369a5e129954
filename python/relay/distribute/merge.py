"""Merges small collectives: sums of many gradients become one message."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, op
from .._core import Call, Expr, Function, IRModule, Tuple, TupleGetItem, Var
from ..ir.pass_infra import run_passes
from .collectives import is_collective
from .partitioning import size_in_bytes
from .straight import Straight, chained, straight


def _levels(source: Straight) -> dict[Expr, int]:
    """Returns for each step how many collectives there are on the longest path to it, itself included."""
    level: dict[Expr, int] = {}
    for step in source.steps:
        before = max((level.get(one, 0) for one in source.operands(step)), default=0)
        level[step] = before + (1 if is_collective(step) and step.op.name != "comm.part" else 0)
    return level


def _buckets(source: Straight, limit: int) -> list[list[Call]]:
    """Returns all_reduces that may be merged: independent ones that sum one type over one axis."""
    level = _levels(source)
    open_: dict[Any, list[Call]] = {}
    out: list[list[Call]] = []
    for step in source.steps:
        if not is_collective(step) or step.op.name != "comm.all_reduce":
            continue
        attrs, type_ = dict(step.attrs), step.args[0].checked_type
        key = (level[step], attrs["axis"], attrs["combiner"], str(type_.dtype))
        bucket = open_.setdefault(key, [])
        if bucket and sum(size_in_bytes(one.args[0].checked_type) for one in bucket) + size_in_bytes(type_) > limit:
            out.append(bucket)
            bucket = open_[key] = []
        bucket.append(step)
    return [one for one in [*out, *open_.values()] if len(one) > 1]


def merge_collectives(module: IRModule, *, limit: int = 25 << 20) -> IRModule:
    """Returns a divided program in which independent all_reduces are merged into ones of at most `limit` bytes. Each
    element is summed in the same order as before."""
    source = straight(module["main"])
    bucket_of = {step: bucket for bucket in _buckets(source, limit) for step in bucket}
    if not bucket_of:
        return module
    now: dict[Expr, Expr] = {}
    bound: list[tuple[Var, Expr]] = []
    waiting = {step: list(source.operands(step)) for step in source.steps}
    merged: set[int] = set()

    def new(expr: Expr) -> Expr:
        value = source.value(expr)
        return now.get(value, value)

    def let(value: Expr) -> Var:
        variable = Var("value")
        bound.append((variable, value))
        return variable

    def merge(bucket: list[Call]) -> None:
        merged.add(id(bucket))
        flat = [op.reshape(new(one.args[0]), newshape=[-1]) for one in bucket]
        whole = let(_core.call("comm.all_reduce", [op.concatenate(Tuple(flat), axis=0)], dict(bucket[0].attrs)))
        begin = 0
        for one in bucket:
            shape = [int(extent) for extent in one.checked_type.shape]
            end = begin + math.prod(shape)
            part = op.strided_slice(whole, begin=[begin], end=[end], axes=[0])
            now[one] = let(op.reshape(part, newshape=shape))
            begin = end

    for step in _ordered(source, bucket_of):
        operands = [new(one) for one in waiting[step]]
        if step in bucket_of:
            if id(bucket_of[step]) not in merged:
                merge(bucket_of[step])
        elif isinstance(step, Tuple):
            now[step] = Tuple(operands)
        elif isinstance(step, TupleGetItem):
            now[step] = let(TupleGetItem(operands[0], step.index))
        else:
            now[step] = let(_core.call(step.op.name, operands, dict(step.attrs) if step.attrs else {}))
    out = IRModule.from_expr(Function(source.params, chained(bound, new(source.result))))
    return run_passes(out, ["infer_type"])


def _ordered(source: Straight, bucket_of: dict[Expr, list[Call]]) -> list[Expr]:
    """Returns the steps with all operands of a bucket before its first member."""
    done: set[Expr] = set()
    out: list[Expr] = []
    steps = set(source.steps)
    for first in source.steps:
        work = [(first, False)]
        while work:
            step, ready = work.pop()
            if step in done or step not in steps:
                continue
            if ready:
                for member in bucket_of.get(step, [step]):
                    if member not in done:
                        done.add(member)
                        out.append(member)
                continue
            work.append((step, True))
            needed = [one for member in bucket_of.get(step, [step]) for one in source.operands(member)]
            work.extend((one, False) for one in reversed(needed) if one not in done)
    return out
