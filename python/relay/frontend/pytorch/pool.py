"""Pooling and resizing of images."""

from __future__ import annotations

from ... import op
from .conv import _each
from .conversion import Conversion, Refused


def _batched(c: Conversion, axes: int, function):
    """With the batch that PyTorch lets one leave out."""
    if c.rank("self") == axes + 2:
        return function(c("self"))
    return op.squeeze(function(op.expand_dims(c("self"), axis=0)), axis=[0])


def max_pool(axes: int):
    function = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}[axes]

    def convert(c):
        size = _each(c("kernel_size"), axes)
        how = {
            "pool_size": size,
            "strides": _each(c("stride"), axes) if c("stride") else size,
            "padding": _each(c("padding"), axes),
            "dilation": _each(c("dilation"), axes),
            "ceil_mode": bool(c("ceil_mode")),
        }
        return _batched(c, axes, lambda data: function(data, **how))

    return convert


def avg_pool(axes: int):
    function = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}[axes]

    def convert(c):
        if "divisor_override" in c._raw and c.has("divisor_override"):
            raise Refused("an average with a divisor of its own")
        size, padding = _each(c("kernel_size"), axes), _each(c("padding"), axes)
        if c("ceil_mode") and c("count_include_pad"):
            raise Refused("an average that rounds the size up and counts padding")
        how = {
            "pool_size": size,
            "strides": _each(c("stride"), axes) if c("stride") else size,
            "padding": padding,
            "ceil_mode": bool(c("ceil_mode")),
            "count_include_pad": bool(c("count_include_pad")) and any(padding),
        }
        return _batched(c, axes, lambda data: function(data, **how))

    return convert


def adaptive(function, axes: int):
    def convert(c):
        size = c.out_shape[-axes:]
        if not all(isinstance(one, int) for one in size):
            raise Refused("the size of the result is not known before the run")
        return _batched(c, axes, lambda data: function(data, output_size=size))

    return convert


def resize(method: str):
    """upsample_nearest2d.vec and its like."""

    def convert(c):
        size = c.out_shape[2:]
        if not all(isinstance(one, int) for one in [*size, *c.shape(next(iter(c._raw)))[2:]]):
            raise Refused("images are resized whose size is not known before the run")
        data = c(next(iter(c._raw)))
        pairs = zip(c.shape(next(iter(c._raw)))[2:], c("scale_factors") or [], size, strict=False)
        if any(extent * scale != wanted for extent, scale, wanted in pairs):
            raise Refused("a scale that does not give a whole number of pixels")
        if method == "nearest_neighbor":
            how = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
        else:
            corners = c("align_corners")
            how = {"coordinate_transformation_mode": "align_corners" if corners else "half_pixel"}
        if method == "cubic":
            how["cubic_alpha"] = -0.75
        return op.image.resize2d(data, size=size, layout="NCHW", method=method, **how)

    return convert
