"""Pooling and resizing of images."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ...ir.expr import const
from ..shared.windows import POOLS
from .conversion import (
    Conversion,
    Refused,
    UnknownSize,
    counted,
    dtype_name,
    each,
    number,
    number_of_size,
    numbers_of_sizes,
)
from .shape import LAST, front


def _batched(c: Conversion, axes: int, function):
    """Adds the batch axis, which PyTorch allows to be left out."""
    if c.rank("self") == axes + 2:
        return function(c("self"))
    return op.squeeze(function(op.expand_dims(c("self"), axis=0)), axis=[0])


def max_pool(axes: int):
    function = POOLS["max"][axes]

    def convert(c):
        size = each(c("kernel_size"), axes)
        how = {
            "pool_size": size,
            "strides": each(c("stride"), axes) if c("stride") else size,
            "padding": each(c("padding"), axes),
            "dilation": each(c("dilation"), axes),
            "ceil_mode": bool(c("ceil_mode")),
        }
        return _batched(c, axes, lambda data: function(data, **how))

    return convert


def max_pool_with_indices(axes: int):
    """Imports max_pool2d_with_indices. A position is the number of a pixel in its image."""

    def convert(c):
        values = max_pool(axes)(c)
        return [values, _batched(c, axes, lambda data: _places(c, data, axes)) if c.uses(1) else None]

    return convert


def _places(c: Conversion, data, axes: int):
    out = c.out_shape[-axes:]
    size, padding = each(c("kernel_size"), axes), each(c("padding"), axes)
    dilation = each(c("dilation"), axes)
    strides = each(c("stride"), axes) if c("stride") else size
    low = -np.inf if c.dtype.startswith(("float", "bfloat")) else np.iinfo(c.dtype).min
    padded = _padded(c, data, padding, strides, low)
    best, tap = None, number(0, "int32")
    for place, offsets in enumerate(np.ndindex(*size)):
        one = _every(padded, out, [d * k for d, k in zip(dilation, offsets, strict=True)], strides)
        if best is None:
            best = one
            continue
        wins = op.greater(one, best)
        if c.dtype.startswith(("float", "bfloat")):
            wins = op.logical_or(wins, op.isnan(one))
        best, tap = op.where(wins, one, best), op.where(wins, number(place, "int32"), tap)
    if math.prod(size) == 1:
        tap = op.cast(op.zeros_like(best), dtype="int32")
    total = number(0, "int64")
    for axis, steps in enumerate(np.unravel_index(np.arange(math.prod(size)), size)):
        first = op.multiply(counted(out[axis]), number(strides[axis], "int64"))
        first = op.reshape(first, newshape=[out[axis], *[1] * (axes - 1 - axis)], allowzero=True)
        step = op.take(const(steps * dilation[axis] - padding[axis]), tap, axis=0)
        extent = number_of_size(c.val("self").shape[axis - axes], c._sizes)
        total = op.add(op.multiply(total, extent), op.add(step, first))
    return total


def _padded(c: Conversion, data, padding: list[int], strides: list[int], value):
    """Adds `padding` around the images, and the pixels behind them that windows read with ceil_mode."""
    over = [s - 1 if c("ceil_mode") else 0 for s in strides]
    pairs = [[0, 0], [0, 0], *([p, p + more] for p, more in zip(padding, over, strict=True))]
    return op.nn.pad(data, pad_width=pairs, pad_value=number(value, c.dtype))


def _every(data, sizes: list, begin: list[int], strides: list[int]):
    """Returns every s-th row and column of images from `begin` on, as many as `sizes`."""
    axes = list(range(2, 2 + len(sizes)))
    rows = zip(sizes, begin, strides, strict=True)
    end = [at + (extent - 1) * s + 1 if isinstance(extent, int) else LAST for extent, at, s in rows]
    made = op.strided_slice(data, begin=begin, end=end, strides=strides, axes=axes)
    return made if LAST not in end else front(made, sizes, axes)


def avg_pool(axes: int):
    function = POOLS["avg"][axes]

    def convert(c):
        size, padding = each(c("kernel_size"), axes), each(c("padding"), axes)
        how = {"pool_size": size, "strides": each(c("stride"), axes) if c("stride") else size}
        divisor = c("divisor_override") if "divisor_override" in c._raw else None
        if divisor is None and not (c("ceil_mode") and c("count_include_pad")):
            how |= {"padding": padding, "ceil_mode": bool(c("ceil_mode"))}
            how["count_include_pad"] = bool(c("count_include_pad")) and any(padding)
            return _batched(c, axes, lambda data: function(data, **how))
        return _batched(c, axes, lambda data: _padded_mean(c, function, data, how, padding, divisor))

    def convert_any(c):
        """Imports the mean of integers: in double precision, rounded towards 0.

        The factor compensates the rounding of the division, so that whole numbers stay exact.
        """
        if c.val("self").dtype.is_floating_point:
            return convert(c)
        c.compute_in("self", "float64")
        mean = op.multiply(convert(c), number(1 + 2.0**-40, "float64"))
        return op.cast(op.trunc(mean), dtype_name(c.result.dtype))

    return convert_any


def avg_pool_backward(c: Conversion):
    """Imports avg_pool2d_backward: distributes the gradient of a mean to the positions of its window."""
    if c("divisor_override") is not None or c("ceil_mode"):
        raise Refused("the gradient of an average with ceil_mode or divisor_override")
    size = each(c("kernel_size"), 2)
    how = {"pool_size": size, "strides": each(c("stride"), 2) if c("stride") else size}
    how |= {"padding": each(c("padding"), 2), "count_include_pad": bool(c("count_include_pad"))}
    if c.rank("self") == 4:
        return op.nn.avg_pool2d_grad(c("grad_output"), c("self"), **how)
    grad, data = (op.expand_dims(c(name), axis=0) for name in ("grad_output", "self"))
    return op.squeeze(op.nn.avg_pool2d_grad(grad, data, **how), axis=[0])


def _padded_mean(c: Conversion, function, data, how: dict, padding: list[int], divisor):
    """Adds zeros around the data that count as elements. Overhanging windows count them too, and with a divisor all
    elements."""
    axes = len(padding)
    data = _padded(c, data, padding, how["strides"] if divisor is not None else [1] * axes, 0)
    result = function(data, padding=[0] * axes, ceil_mode=divisor is None, count_include_pad=False, **how)
    result = front(result, c.out_shape[-axes:], list(range(2, 2 + axes)))
    if divisor is None:
        return result
    return op.multiply(result, number(math.prod(how["pool_size"]) / divisor, c.dtype))


def adaptive(function, axes: int):
    def convert(c):
        size = c.out_shape[-axes:]
        if not all(isinstance(one, int) for one in size):
            raise UnknownSize("the size of the result is known only at run time")
        return _batched(c, axes, lambda data: function(data, output_size=size))

    return convert


def adaptive_max(function, axes: int):
    def convert(c):
        if c.uses(1):
            raise Refused("the positions of maxima in windows of different sizes")
        return [adaptive(function, axes)(c), None]

    return convert


def resize(method: str):
    """Imports upsample_nearest2d.vec and its relatives."""

    def convert(c):
        size = c.out_shape[2:]
        if not all(isinstance(one, int) for one in c.shape(next(iter(c._raw)))[2:]):
            raise UnknownSize("resizing of images whose size is known only at run time")
        data = c(next(iter(c._raw)))
        pairs = zip(c.shape(next(iter(c._raw)))[2:], c("scale_factors") or [], size, strict=False)
        if any(extent * scale != wanted for extent, scale, wanted in pairs):
            raise Refused("a scale that does not result in a whole number of pixels")
        if method == "nearest_neighbor":
            how = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
        else:
            corners = c("align_corners")
            how = {"coordinate_transformation_mode": "align_corners" if corners else "half_pixel"}
        if method == "cubic":
            how["cubic_alpha"] = -0.75
        if all(isinstance(one, int) for one in size):
            return op.image.resize2d(data, size=size, layout="NCHW", method=method, **how)
        if len(size) != 2:
            raise UnknownSize("the size of the result is known only at run time")
        wanted = numbers_of_sizes(c.result.shape[2:], c._sizes)
        made = op.dyn.image.resize2d(data, wanted, const(np.zeros(4, "float32")), method=method, **how)
        return op.reshape(made, newshape=c.out_shape)

    return convert
