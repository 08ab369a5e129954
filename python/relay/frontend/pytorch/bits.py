"""tensor.view(dtype): the same bytes as elements of another type, whose last axis becomes longer or shorter."""

from __future__ import annotations

import numpy as np
import torch

from ... import op
from ...expr import const
from .conversion import Conversion, dtype_name


def _unsigned(width: int) -> str:
    return f"uint{8 * width}"


def _as_bits(data, dtype: torch.dtype):
    """The elements as unsigned integers."""
    if dtype == torch.bool:
        return op.cast(data, "uint8")
    wanted = _unsigned(dtype.itemsize)
    return data if dtype_name(dtype) == wanted else op.reinterpret(data, dtype=wanted)


def _of_bits(bits, dtype: torch.dtype):
    if dtype == torch.bool:
        return op.cast(bits, "bool")
    return bits if dtype_name(dtype) == _unsigned(dtype.itemsize) else op.reinterpret(bits, dtype=dtype_name(dtype))


def _shifts(count: int, width: int, within: int):
    """The distance in bits of each part of an element, the lowest first, from its end."""
    return const(np.arange(count).astype(_unsigned(within)) * np.array(8 * width, _unsigned(within)))


def view(c: Conversion):
    source, target, data = c.val("self").dtype, c.result.dtype, c("self")
    shape = c.out_shape
    if source == target:
        return data
    if source.is_complex:  # parts are neighbours
        source, sizes = source.to_real(), c.shape("self")
        data = op.reshape(data, newshape=[*sizes[:-1], sizes[-1] * 2] if sizes else [2], allowzero=True)
    if target.is_complex:
        target, shape = target.to_real(), [*shape, 2]
    bits, given, wanted = _as_bits(data, source), source.itemsize, target.itemsize
    if given > wanted:
        parts = op.right_shift(op.expand_dims(bits, axis=-1), _shifts(given // wanted, wanted, given))
        mask = const(np.array((1 << 8 * wanted) - 1, _unsigned(given)))
        bits = op.cast(op.bitwise_and(parts, mask), _unsigned(wanted))
    if given < wanted:
        whole = shape[:-1] if c.result.dtype.is_complex else shape
        count = wanted // given
        parts = [*whole, 2, count] if c.result.dtype.is_complex else [*whole, count]
        apart = op.cast(op.reshape(bits, newshape=parts, allowzero=True), _unsigned(wanted))
        bits = op.sum(op.left_shift(apart, _shifts(count, given, wanted)), axis=[-1])
    return _of_bits(op.reshape(bits, newshape=shape, allowzero=True), target)
