"""Converters of windows as axes, and of slices that are replaced."""

from __future__ import annotations

import numpy as np

from .conversion import Conversion
from .tensors import wrapped
from .writer import Value, Writer, ints


def sliding_window(w: Writer, c: Conversion) -> Value:
    """Reads the windows along each axis at constant positions: the axis becomes (position, element of the window)."""
    first, x = c.axis(), c.x
    windows, strides = c.attrs["window_shape"], c.attrs["strides"]
    for place, (window, stride) in enumerate(zip(windows, strides, strict=True)):
        axis, count = first + 2 * place, c.shape[first + place]
        places = np.arange(count)[:, None] * int(stride) + np.arange(int(window))[None]
        x = _taken(w, x, w.constant(places, "int64"), axis)
    rank, moved = len(windows), range(first, first + 2 * len(windows))
    return w.transpose(x, [*range(first), *moved[0 : 2 * rank : 2], *moved[1 : 2 * rank : 2]])


def _taken(w: Writer, x: Value, places: Value, axis: int) -> Value:
    """Reads slices along an axis; the axes of `places` take its place."""
    shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
    offsets = [*range(axis), *range(axis + places.rank, len(shape))]
    sizes = [1 if one == axis else size for one, size in enumerate(x.shape)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = [{axis}], start_index_map = [{axis}], "
        f"index_vector_dim = {places.rank}>"
    )
    attrs = f"dimension_numbers = {numbers}, slice_sizes = {ints(sizes)}"
    return w.emit("gather", [x, places], shape, x.dtype, attrs)


def strided_set(w: Writer, c: Conversion) -> Value:
    """Replaces a slice of consecutive elements. Its begin may be computed."""
    x, update, begin, _, strides = c.inputs
    steps = w.known.get(strides.name)
    if steps is None or (steps != 1).any() or begin.shape != (x.rank,) or update.rank != x.rank:
        raise c.refuse("a slice with steps, or of some axes only")
    starts = []
    for axis, size in enumerate(x.shape):
        one = wrapped(w, w.slice(begin, [axis], [axis + 1]), size)
        starts.append(w.reshape(one, ()))
    return w.emit("dynamic_update_slice", [x, update, *starts], x.shape, x.dtype)
