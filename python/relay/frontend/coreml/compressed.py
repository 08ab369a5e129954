"""Compressed weights of ML programs, which become plain ones at import, and quantised tensors."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..shared.expressions import bounded, cast, dtype_of, numpy_type, shape_of
from ..shared.problems import Refused
from ..shared.values import Known
from . import functions as f
from .conversion import Operation
from .operations import TYPES

_MOST = 1 << 32  # elements
_AGAIN = "take the weights of this model"


def _known(array: np.ndarray) -> Known:
    return Known(np.ascontiguousarray(array))


def _along(array: np.ndarray, axis: int, rank: int) -> np.ndarray:
    return array.reshape([-1 if place == axis else 1 for place in range(rank)]) if array.ndim == 1 else array


def affine_dequantize(c: Operation):
    """(data - zero point) * scale."""
    data, zero, scale = (c.elements(one) for one in ("quantized_data", "zero_point", "scale"))
    axis = c.axis("axis", 0, data.ndim)
    zero, scale = (_along(one, axis, data.ndim) for one in (zero, scale))
    return _known((data.astype(scale.dtype) - zero.astype(scale.dtype)) * scale)


def _repeated(array: np.ndarray, shape) -> np.ndarray:
    """Returns scales of blocks, each repeated for its elements."""
    if array.ndim != len(shape) or any(
        size == 0 or whole % size for size, whole in zip(array.shape, shape, strict=True)
    ):
        raise Refused(f"blocks of the shape {array.shape} do not divide {tuple(shape)}", _AGAIN)
    for axis, (size, whole) in enumerate(zip(array.shape, shape, strict=True)):
        if size not in (1, whole):
            array = np.repeat(array, whole // size, axis=axis)
    return array


def _shifted(data: np.ndarray, scale: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
    made = data.astype(scale.dtype)
    if offset is not None:
        made = made - _repeated(offset, data.shape).astype(scale.dtype)
    return made * _repeated(scale, data.shape)


def blockwise_shift_scale(c: Operation):
    """(data - offset) * scale, with a scale for each block."""
    return _known(_shifted(c.elements("data"), c.elements("scale"), c.array_of("offset")))


def _looked_up(indices: np.ndarray, table: np.ndarray, axis: int | None) -> np.ndarray:
    """Returns the entries of tables (.., entries, size of an entry); each table is that of a block of the indices."""
    if table.ndim != indices.ndim + 2:
        raise Refused(f"tables of the shape {table.shape} for indices of the shape {indices.shape}", _AGAIN)
    blocks, entries, size = table.shape[:-2], table.shape[-2], table.shape[-1]
    if indices.size and int(indices.max()) >= entries:
        raise Refused(f"an index is {int(indices.max())}, and a table has {entries} entries", _AGAIN)
    bounded(indices.size * size, _MOST, "the number of its elements")
    number_of = _repeated(np.arange(math.prod(blocks)).reshape(blocks), indices.shape)
    made = table.reshape(-1, entries, size)[number_of, indices]
    if size == 1:
        return made[..., 0]
    if axis is None:
        raise Refused("its tables hold several elements in an entry, and `vector_axis` is missing", _AGAIN)
    axis %= indices.ndim
    made = np.moveaxis(made, -1, axis + 1)
    return made.reshape(*indices.shape[:axis], indices.shape[axis] * size, *indices.shape[axis + 1 :])


def lut_to_dense(c: Operation):
    indices, table = c.elements("indices"), c.elements("lut")
    if not c.has("shape"):
        return _known(_looked_up(indices, table, _vector_axis(c)))
    # The first form: indices as packed bits, one table, and the shape of the result.
    sizes = [int(one) for one in c.elements("shape").reshape(-1)]
    count = bounded(math.prod(sizes), _MOST, "the number of its elements")
    bits = max(int(table.size).bit_length() - 1, 0)
    if table.size != 1 << bits or len(indices) != (count * bits + 7) // 8:
        raise Refused(f"{indices.size} bytes of indices and {table.size} entries for {count} elements", _AGAIN)
    return _known(table.reshape(-1)[_bits(indices, count, bits)].reshape(sizes))


def _bits(packed: np.ndarray, count: int, bits: int) -> np.ndarray:
    """Returns numbers of a few bits, the lowest first."""
    stream = np.unpackbits(packed.astype(np.uint8), bitorder="little")[: count * bits].reshape(count, bits)
    return (stream.astype(np.int64) << np.arange(bits)).sum(axis=1)


def _vector_axis(c: Operation) -> int | None:
    return c.int("vector_axis") if c.has("vector_axis") else None


def _spread(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    if int(np.count_nonzero(mask)) != values.size:
        raise Refused(f"{values.size} elements for a mask with {int(np.count_nonzero(mask))}", _AGAIN)
    made = np.zeros(mask.shape, values.dtype)
    made[mask != 0] = values.reshape(-1)
    return made


def sparse_to_dense(c: Operation):
    mask, values = c.elements("mask"), c.elements("nonzero_data")
    if c.has("shape"):  # the first form: the mask is packed
        sizes = [int(one) for one in c.elements("shape").reshape(-1)]
        count = bounded(math.prod(sizes), _MOST, "the number of its elements")
        if mask.size != (count + 7) // 8:
            raise Refused(f"a mask of {mask.size} bytes for {count} elements", _AGAIN)
        mask = _bits(mask.reshape(-1), count, 1).reshape(sizes)
    return _known(_spread(values, mask))


def lut_to_sparse(c: Operation):
    mask, values = c.elements("indices_mask"), c.elements("indices_nonzero_data")
    axis, table = _vector_axis(c), c.elements("lut")
    dense = _looked_up(_spread(values, mask), table, axis)
    if table.shape[-1] > 1:
        mask = np.repeat(mask, table.shape[-1], axis=axis)
    return [_known(mask), _known(dense[mask != 0])]


def sparse_blockwise_shift_scale(c: Operation):
    mask, values = c.elements("data_mask"), c.elements("nonzero_data")
    dense = _shifted(_spread(values, mask), c.elements("scale"), c.array_of("offset"))
    return [_known(mask), _known(dense[mask != 0])]


def constexpr_cast(c: Operation):
    dtype = TYPES[c.text("output_dtype", among=tuple(TYPES))]
    return Known(c.elements("source_val").astype(numpy_type(dtype)), dtype)


# --- quantised tensors ------------------------------------------------------------------------------------------------
def _parameters(c: Operation, x, dtype: str):
    """Returns the scale and the zero point, or None, as they broadcast along the axis."""
    rank = len(shape_of(x))
    axis = c.axis("axis", 0, rank) if c.has("axis") else 0
    made = []
    for name in ("scale", "zero_point"):
        if not c.has(name):
            made.append(None)
            continue
        one = cast(c.expr(name), dtype)
        made.append(f.per_channel(x, one, axis) if c.shape_of(name) else one)
    return made


def quantize(c: Operation):
    """round(x / scale) + zero point, within the type."""
    x, dtype = c.expr("input"), TYPES[c.text("output_dtype", among=("int8", "uint8"))]
    scale, zero = _parameters(c, x, dtype_of(x))
    made = op.round(op.divide(x, scale))
    made = op.add(made, zero) if zero is not None else made
    low, high = (-128.0, 127.0) if dtype == "int8" else (0.0, 255.0)
    return op.cast(op.clip(made, low, high), dtype)


def dequantize(c: Operation):
    x, dtype = c.expr("input"), c.dtype_of("scale")
    scale, zero = _parameters(c, x, dtype)
    made = op.cast(x, dtype)
    made = op.subtract(made, zero) if zero is not None else made
    return op.multiply(made, scale)
