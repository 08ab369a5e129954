"""Converters of reductions over axes and over windows."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Constant, Expr
from ...data.arrays import as_numpy
from ..shared.expressions import is_float, shape_of
from ..shared.problems import Refused
from .attributes import numpy_dtype
from .conversion import Conversion, number, product, reshape, transpose
from .shape import dilated, padded

_MOST_TAPS = 1024  # elements of a window, each of which becomes operations of its own


def _over_bools(function):
    """Returns a reduction of numbers for bool."""
    return lambda x, axis: op.cast(function(op.cast(x, "int32"), axis=axis), "bool")


_REDUCTIONS = {
    "add": (op.sum, op.add),
    "multiply": (op.prod, op.multiply),
    "maximum": (op.max, op.maximum),
    "minimum": (op.min, op.minimum),
}
_ON_BOOLS = {
    "and": (op.all, op.logical_and),
    "minimum": (op.all, op.logical_and),
    "multiply": (op.all, op.logical_and),
    "or": (op.any, op.logical_or),
    "maximum": (op.any, op.logical_or),
    "add": (op.any, op.logical_or),
}


def _identity(name: str, dtype: str):
    """Returns the element that a combination leaves as it is."""
    if dtype == "bool":
        return name in ("and", "minimum", "multiply")
    if name in ("add", "multiply"):
        return 0 if name == "add" else 1
    if is_float(dtype):
        return -math.inf if name == "maximum" else math.inf
    limits = np.iinfo(dtype)
    return limits.min if name == "maximum" else limits.max


def _is_identity(value: Expr, name: str, dtype: str) -> bool:
    """Returns true if a constant is the identity of a combination."""
    if not isinstance(value, Constant):
        return False
    found = as_numpy(value.data)
    return found.size == 1 and bool(found.reshape(())[()] == numpy_dtype(dtype).type(_identity(name, dtype)))


def _table(dtype: str) -> dict:
    return _ON_BOOLS if dtype == "bool" else _REDUCTIONS


def reduce(c: Conversion) -> list[Expr]:
    count = len(c.inputs) // 2
    values, inits = c.inputs[:count], c.inputs[count:]
    if not count or len(inits) != count:
        raise Refused(f"it has {len(c.inputs)} operands: values and as many initial ones", "correct the text")
    axes = sorted(c.axes(c.rank(), "dimensions"))
    name = c.combiner()
    if count == 1 and name in _table(c.dtype()):
        return [_reduced(values[0], inits[0], axes, name, c.dtype())]
    return _paired(c, values, inits, axes)


def _reduced(x: Expr, init: Expr, axes: list[int], name: str, dtype: str) -> Expr:
    over, combined = _table(dtype)[name]
    made = over(x, axis=axes) if axes else x
    return made if _is_identity(init, name, dtype) else combined(made, init)


def _paired(c: Conversion, values: list[Expr], inits: list[Expr], axes: list[int]) -> list[Expr]:
    """Reduces with any region: combines neighbours until one element is left, which keeps their order, and then the
    initial values with it."""
    shape = c.known_shape()
    kept = [one for one in range(len(shape)) if one not in axes]
    length = product(shape[one] for one in axes)
    sizes = [shape[one] for one in kept]
    rows = [reshape(transpose(one, [*kept, *axes]), [*sizes, length]) for one in values]
    return _combined(c, 0, rows, inits, sizes, length)


def _combined(c: Conversion, region: int, rows: list[Expr], inits: list[Expr], sizes: list, length: int) -> list[Expr]:
    """Combines the elements along the last axis of `rows`."""
    axis = len(sizes)

    def part(x: Expr, start: int, end: int, step: int = 2) -> Expr:
        return op.strided_slice(x, begin=[start], end=[end], strides=[step], axes=[axis])

    if length == 0:
        return [op.broadcast_to(one, sizes) for one in inits]
    while length > 1:
        half = length // 2
        joined = c.run_on_elements(
            region, [part(one, 0, 2 * half) for one in rows] + [part(one, 1, 2 * half) for one in rows]
        )
        if length % 2:
            joined = [
                op.concatenate([one, part(row, length - 1, length)], axis=axis)
                for one, row in zip(joined, rows, strict=True)
            ]
        rows, length = joined, half + length % 2
    rows = [reshape(one, sizes) for one in rows]
    starts = [op.broadcast_to(one, sizes) for one in inits]
    return c.run_on_elements(region, [*starts, *rows])


# --- windows ----------------------------------------------------------------------------------------------------------
class _Windows:
    """The windows of an operation: sizes, steps, and padding along each axis."""

    def __init__(self, c: Conversion):
        rank = c.rank()
        self.sizes = c.each(rank, "window_dimensions", otherwise=1)
        self.strides = c.each(rank, "window_strides", otherwise=1)
        self.base = c.each(rank, "base_dilations", otherwise=1)
        self.dilation = c.each(rank, "window_dilations", otherwise=1)
        padding = c.ints("padding", default=[0] * (2 * rank))
        self.low, self.high = padding[0::2], padding[1::2]
        if min([*self.sizes, *self.strides, *self.base, *self.dilation], default=1) < 1 or len(padding) != 2 * rank:
            raise Refused("a size, step or dilation of the window is below 1", "correct the text")

    def of(self, x: Expr, outside: Expr) -> Expr:
        """Returns the windows as one more axis, the last; `outside` fills the padding."""
        x = padded(dilated(x, outside, self.base), outside, self.low, self.high, [0] * len(self.low))
        if all(one == 1 for one in self.sizes):
            x = op.strided_slice(x, begin=[0] * len(self.sizes), end=shape_of(x), strides=self.strides)
            return reshape(x, [*shape_of(x), 1])
        spans = [(size - 1) * step + 1 for size, step in zip(self.sizes, self.dilation, strict=True)]
        rank = len(spans)
        found = op.sliding_window(x, axis=0, window_shape=spans, strides=self.strides)
        if any(one > 1 for one in self.dilation):
            axes = list(range(rank, 2 * rank))
            found = op.strided_slice(found, begin=[0] * rank, end=spans, strides=self.dilation, axes=axes)
        return reshape(found, [*shape_of(found)[:rank], product(self.sizes)])


def reduce_window(c: Conversion) -> list[Expr]:
    count = len(c.inputs) // 2
    values, inits = c.inputs[:count], c.inputs[count:]
    windows, name = _Windows(c), c.combiner()
    if count == 1 and name in _table(c.dtype()):
        if (pooled := _pooled(c, windows, name)) is not None:
            return [pooled]
        outside = number(_identity(name, c.dtype()), c.dtype())
        return [_reduced(windows.of(values[0], outside), inits[0], [c.rank()], name, c.dtype())]
    if product(windows.sizes) > _MOST_TAPS:
        raise Refused(f"a window of {product(windows.sizes)} elements with a function of its own")
    rows = [windows.of(one, init) for one, init in zip(values, inits, strict=True)]
    sizes = shape_of(rows[0])[:-1]
    return _combined(c, 0, rows, inits, sizes, product(windows.sizes))


def _pooled(c: Conversion, windows: _Windows, name: str) -> Expr | None:
    """Returns a maximum over windows of an image as a pool, which has fast kernels; None if it has another form."""
    is_plain = all(one == 1 for one in windows.base) and min([0, *windows.low, *windows.high]) == 0
    if c.rank() != 4 or name != "maximum" or not is_float(c.dtype()) or not is_plain:
        return None
    if not _is_identity(c.input(1), name, c.dtype()):
        return None
    for layout, (h, w) in {"NHWC": (1, 2), "NCHW": (2, 3)}.items():
        others = [one for one in range(4) if one not in (h, w)]
        if all(windows.sizes[i] == windows.strides[i] == 1 and windows.low[i] == windows.high[i] == 0 for i in others):
            span = [(windows.sizes[i] - 1) * windows.dilation[i] + 1 for i in (h, w)]
            if any(max(windows.low[i], windows.high[i]) >= s for i, s in zip((h, w), span, strict=True)):
                return None
            return op.nn.max_pool2d(
                c.x,
                pool_size=[windows.sizes[h], windows.sizes[w]],
                strides=[windows.strides[h], windows.strides[w]],
                dilation=[windows.dilation[h], windows.dilation[w]],
                padding=[windows.low[h], windows.low[w], windows.high[h], windows.high[w]],
                layout=layout,
            )
    return None


_SELECTED = {"GE": op.argmax, "GT": op.argmax, "LE": op.argmin, "LT": op.argmin}


def select_and_scatter(c: Conversion) -> Expr:
    """Adds each element of the source to the greatest (or least) element of its window: the gradient of a pool."""
    c.expect_inputs(3)
    windows, shape = _Windows(c), c.known_shape()
    region = c.region(0)
    compared = region.operations[0]
    direction = compared.attrs.get("comparison_direction", (compared.words or [""])[0])
    if compared.name != "stablehlo.compare" or len(region.operations) != 2 or direction not in _SELECTED:
        raise Refused("its selection is not a comparison of two elements")
    if c.combiner(1) != "add":
        raise Refused("it does not add the elements that it scatters")
    if product(windows.sizes) > _MOST_TAPS:
        raise Refused(f"a window of {product(windows.sizes)} elements")
    dtype, source, init = c.dtype(), c.input(1), c.input(2)
    worst = number(_identity("maximum" if direction[0] == "G" else "minimum", dtype), dtype)
    place = _SELECTED[direction](windows.of(c.x, worst), axis=[c.rank()], select_last_index=len(direction) == 1)
    zero, total = number(0, dtype), None
    counts = shape_of(source)
    for tap in range(product(windows.sizes)):
        at = np.unravel_index(tap, windows.sizes)
        chosen = op.where(op.equal(place, op.cast(number(tap, "int64"), "int32")), source, zero)
        ends = [
            size - (int(offset) - low + (count - 1) * stride + 1)
            for size, offset, low, count, stride in zip(shape, at, windows.low, counts, windows.strides, strict=True)
        ]
        starts = [int(offset) - low for offset, low in zip(at, windows.low, strict=True)]
        spread = padded(chosen, zero, starts, ends, [one - 1 for one in windows.strides])
        total = spread if total is None else op.add(total, spread)
    return total if _is_identity(init, "add", dtype) else op.add(total, init)
