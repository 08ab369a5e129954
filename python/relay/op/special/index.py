"""Indexing and sorting."""

from __future__ import annotations

from ...ir.expr import TupleWrapper
from .call import int_list, is_computed, op_call, values_of


def _take(data, indices, axis=None, batch_dims=0, mode="clip"):
    return op_call("take", [data, indices], axis=axis, batch_dims=batch_dims, mode=mode)


def _gather(data, axis, indices):
    return op_call("gather", [data, indices], axis=axis)


def _unravel_index(indices, shape):
    return op_call("unravel_index", [indices, int_list(shape, "int32")])


def _unique(data, is_sorted=True, return_counts=False):
    """Returns (unique, indices, inverse_indices, num_unique), and optionally counts."""
    call = op_call("unique", [data], sorted=is_sorted, return_counts=return_counts)
    return TupleWrapper(call, 5 if return_counts else 4)


def _topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32"):
    """k is a number, or an expression, which gives dyn.topk."""
    attributes = dict(axis=axis, ret_type=ret_type, is_ascend=is_ascend, dtype=dtype)
    if is_computed(k):
        call = op_call("dyn.topk", [data, k], **attributes)
    else:
        k = values_of(k)
        call = op_call("topk", [data], k=k[0] if isinstance(k, list) else k, **attributes)
    return TupleWrapper(call, 2) if ret_type == "both" else call


def _argsort(data, axis=-1, is_ascend=True, dtype="int32"):
    return op_call("argsort", [data], axis=axis, is_ascend=bool(is_ascend), dtype=dtype)


def _sort(data, axis=-1, is_ascend=True):
    return op_call("sort", [data], axis=axis, is_ascend=bool(is_ascend))


FUNCTIONS = {
    "argsort": _argsort,
    "gather": _gather,
    "sort": _sort,
    "take": _take,
    "topk": _topk,
    "unique": _unique,
    "unravel_index": _unravel_index,
}
