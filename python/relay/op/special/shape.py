"""Operators on shapes and parts of tensors, with lists or expressions as shapes."""

from __future__ import annotations

from ... import _core
from ...ir.expr import TupleWrapper, const
from .call import int_list, is_computed, op_call, values_of


def _reshape(data, newshape, allowzero=False):
    """newshape is a list, or an expression, which gives dyn.reshape."""
    if is_computed(newshape):
        if allowzero:
            raise ValueError(
                "allowzero is only allowed if newshape is a list: in a computed shape, 0 keeps the extent of data"
            )
        return op_call("dyn.reshape", [data, newshape])
    return op_call("reshape", [data], newshape=values_of(newshape), allowzero=allowzero)


def _broadcast_to(data, shape):
    """shape is a list, or an expression, which gives dyn.broadcast_to."""
    if is_computed(shape):
        return op_call("dyn.broadcast_to", [data, shape])
    return op_call("broadcast_to", [data], shape=values_of(shape))


def _tile(data, reps):
    """reps is a list, or an expression, which gives dyn.tile."""
    return op_call("dyn.tile", [data, reps]) if is_computed(reps) else op_call("tile", [data], reps=values_of(reps))


def _squeeze(data, axis=None):
    """axis is a list, None, or an expression, which gives dyn.squeeze."""
    return (
        op_call("dyn.squeeze", [data, axis]) if is_computed(axis) else op_call("squeeze", [data], axis=values_of(axis))
    )


def _expand_dims(data, axis, num_newaxis=1):
    """axis is a number, or an expression, which gives dyn.expand_dims."""
    if is_computed(axis):
        return op_call("dyn.expand_dims", [data, axis], num_newaxis=num_newaxis)
    return op_call("expand_dims", [data], axis=values_of(axis), num_newaxis=num_newaxis)


def _collapse_sum_to(data, shape):
    """The shape is a list of integers, or an expression."""
    return op_call("collapse_sum_to", [data, int_list(shape, "int32")])


def _strided_slice(data, begin, end, strides=None, axes=None, slice_mode="end"):
    """begin, end and strides are lists; an expression among them gives dyn.strided_slice."""
    if is_computed(begin, end, strides):
        if axes is not None:
            raise ValueError(
                "axes are only allowed if begin, end and strides are lists: computed ones apply to the leading axes"
            )
        lists = [x for x in (begin, end, strides) if isinstance(x, (list, tuple))]
        if strides is None:
            strides = [1] * len(lists[0]) if lists else op_call("ones_like", [begin])
        return op_call(
            "dyn.strided_slice", [data, *(int_list(x, "int64") for x in (begin, end, strides))], slice_mode=slice_mode
        )
    begin, end, strides = values_of(begin), values_of(end), values_of(strides)
    return op_call(
        "strided_slice", [data], begin=begin, end=end, strides=strides or [], axes=axes, slice_mode=slice_mode
    )


def _strided_set(data, v, begin, end, strides=None):
    """begin, end and strides are lists of integers or expressions; strides are 1 by default."""
    if strides is None:
        count = len(begin) if isinstance(begin, (list, tuple)) else int(begin.checked_type.shape[0])
        strides = [1] * count
    return op_call("strided_set", [data, v, *(int_list(x, "int32") for x in (begin, end, strides))])


def _split(data, indices_or_sections, axis=0):
    call = op_call("split", [data], indices_or_sections=indices_or_sections, axis=axis)
    parts = indices_or_sections
    return TupleWrapper(call, parts if isinstance(parts, int) else len(parts) + 1)


def _meshgrid(data, indexing="ij"):
    """Returns a tuple with one field for each vector."""
    data = list(data)
    return TupleWrapper(op_call("meshgrid", [_core.Tuple(data)], indexing=indexing), len(data))


def _trilu(data, k, upper=True):
    """k is an integer or an expression."""
    return op_call("trilu", [data, const(k, "int32") if isinstance(k, int) else k], upper=upper)


def _matrix_set_diag(data, diagonal, k=0, align="RIGHT_LEFT"):
    """k is one diagonal, or the lowest and the highest. align: the alignment of shorter diagonals, above and below the
    main one."""
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    above, _, below = align.partition("_")
    if above not in ("LEFT", "RIGHT") or below not in ("LEFT", "RIGHT"):
        raise ValueError(f"align must be LEFT_LEFT, LEFT_RIGHT, RIGHT_LEFT or RIGHT_RIGHT, but is {align}")
    attributes = {"super_diag_right_align": above == "RIGHT", "sub_diag_right_align": below == "RIGHT"}
    return op_call("matrix_set_diag", [data, diagonal], k1=low, k2=high, **attributes)


FUNCTIONS = {
    "broadcast_to": _broadcast_to,
    "collapse_sum_to": _collapse_sum_to,
    "expand_dims": _expand_dims,
    "matrix_set_diag": _matrix_set_diag,
    "meshgrid": _meshgrid,
    "reshape": _reshape,
    "split": _split,
    "squeeze": _squeeze,
    "strided_set": _strided_set,
    "strided_slice": _strided_slice,
    "tile": _tile,
    "trilu": _trilu,
}
