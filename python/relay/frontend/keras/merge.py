"""Layers that merge several tensors."""

from __future__ import annotations

import functools

from ... import op
from ..common.problems import Refused
from .conversion import Conversion, Value, axis_of, number, shape_of


def _all(c: Conversion, least: int = 2) -> list:
    """Returns the operands. Missing leading axes after the batch are added, as Keras does."""
    found = [one.expr for one in c.inputs]
    if len(found) < least:
        raise Refused(f"it merges {len(found)} tensors, at least {least} are needed")
    rank = max(len(shape_of(one)) for one in found)
    for place, one in enumerate(found):
        missing = rank - len(shape_of(one))
        found[place] = op.expand_dims(one, axis=1, num_newaxis=missing) if missing else one
    return found


def mask_of_all(c: Conversion):
    """Returns the mask of a merged tensor. Keras 2: steps that all masks keep. Keras 3: steps that one of the masks
    keeps, if all operands have one."""
    masks = [one.mask for one in c.inputs]
    given = [one for one in masks if one is not None]
    if not given or (not c.is_keras_2 and len(given) < len(masks)):
        return None
    return functools.reduce(op.logical_and if c.is_keras_2 else op.logical_or, given)


def folded(function, of_masked=None):
    """Returns the converter that applies a function of two tensors from left to right. of_masked(a, b, mask of a, mask
    of b): replaces masked elements of both, as Keras 3 does."""

    def convert(c: Conversion):
        found = _all(c, 1)
        masks = [one.mask for one in c.inputs]
        if of_masked is None or c.is_keras_2 or all(one is None for one in masks):
            return Value(functools.reduce(function, found), mask_of_all(c))
        made, kept = found[0], masks[0]
        for other, mask in zip(found[1:], masks[1:], strict=True):
            made = function(*of_masked(made, other, kept, mask))
            kept = None if kept is None or mask is None else op.logical_or(kept, mask)
        return Value(made, mask_of_all(c))

    return convert


def _where(mask, x, other):
    """Returns x where the mask keeps its steps, elsewhere `other`."""
    rank = len(shape_of(x)) - 2
    return x if mask is None else op.where(op.expand_dims(mask, axis=2, num_newaxis=rank), x, other)


def other_if_masked(a, b, mask_a, mask_b):
    """Replaces a masked element by that of the other operand, for a maximum or minimum."""
    b = _where(mask_b, b, a)
    return _where(mask_a, a, b), b


def one_if_masked(a, b, mask_a, mask_b):
    """Replaces masked elements by 1, for a product."""
    return _where(mask_a, a, op.ones_like(a)), _where(mask_b, b, op.ones_like(b))


def subtract(c: Conversion):
    found = _all(c)
    if len(found) != 2:
        raise Refused(f"it subtracts {len(found)} tensors, not 2")
    return Value(op.subtract(*found), mask_of_all(c))


def average(c: Conversion):
    found = _all(c, 1)
    return Value(op.divide(functools.reduce(op.add, found), number(len(found), c.dtype)), mask_of_all(c))


def concatenate(c: Conversion):
    found = [one.expr for one in c.inputs]
    axis = axis_of(c("axis", -1), len(shape_of(found[0])))
    made = found[0] if len(found) == 1 else op.concatenate(found, axis=axis)
    return Value(made, _mask_of_joined(c, axis))


def _mask_of_joined(c: Conversion, axis: int):
    """Returns the mask of joined tensors: joined along time, or where all are kept."""
    if all(one.mask is None for one in c.inputs):
        return None
    masks = [op.ones(shape=shape_of(one.expr)[:2], dtype="bool") if one.mask is None else one.mask for one in c.inputs]
    return op.concatenate(masks, axis=1) if axis == 1 else functools.reduce(op.logical_and, masks)
