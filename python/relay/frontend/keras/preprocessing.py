"""Preprocessing: the identity at inference, simple arithmetic, resizing, categories."""

from __future__ import annotations

import numpy as np

from ... import op
from ...ir.expr import const
from ..shared.problems import Refused
from .conversion import GIVE_SHAPES, Conversion, Value, cast, is_known, number, shape_of
from .shape import resized


def unchanged_image(c: Conversion):
    """A random change of images in training; at inference only their type changes."""
    return cast(c.x, c.compute)


def rescaling(c: Conversion):
    scale, offset = (np.asarray(c(key, 0.0), np.float64) for key in ("scale", "offset"))
    return op.add(op.multiply(cast(c.x, c.compute), c.constant(scale)), c.constant(offset))


METHODS = {"bilinear": "linear", "nearest": "nearest_neighbor", "bicubic": "cubic"}


def image_of(c: Conversion):
    """Returns images (N, ..) of a call, and a function that returns the result in the call's number of axes."""
    if c.rank == 4:
        return c.x, lambda made: made
    if c.rank == 3:
        return op.expand_dims(c.x, axis=0), lambda made: op.squeeze(made, axis=[0])
    raise Refused(f"its input has {c.rank} axes, not 3 or 4")


def _crop(x, begin: list, size: list, channels_first: bool):
    axes = [2, 3] if channels_first else [1, 2]
    return op.strided_slice(x, begin=begin, end=[a + b for a, b in zip(begin, size, strict=True)], axes=axes)


def _resize(c: Conversion, x, size: list[int], method: str):
    """Returns images at a size. Integers are resized as floats, as in Keras."""
    return resized(cast(x, c.compute), size, method, c.channels_first)


def resizing(c: Conversion):
    size, how = [c.int_of("height"), c.int_of("width")], c("interpolation", "bilinear")
    if how not in METHODS:
        raise Refused(f"the interpolation {how!r}", "use bilinear, nearest or bicubic")
    if c("antialias"):
        raise Refused("it filters images before they get smaller (antialias)", "use antialias=False")
    if c("pad_to_aspect_ratio"):
        raise Refused("it pads images to an aspect ratio", "pad them before, with ZeroPadding2D")
    x, back = image_of(c)
    if c("crop_to_aspect_ratio"):
        x = _cropped_to(c, x, size)
    return back(_resize(c, x, size, METHODS[how]))


def _sizes(c: Conversion, x) -> tuple[int, int]:
    found = shape_of(x)[2:] if c.channels_first else shape_of(x)[1:3]
    if not is_known(*found):
        raise Refused("the size of its images is known only at run time", GIVE_SHAPES)
    return tuple(found)


def _cropped_to(c: Conversion, x, size: list[int]):
    """Returns the middle of images, with the aspect ratio of a size."""
    height, width = _sizes(c, x)
    part = [min(height, int(float(width * size[0]) / size[1])), min(width, int(float(height * size[1]) / size[0]))]
    begin = [int(float(a - b) / 2) for a, b in zip((height, width), part, strict=True)]
    return _crop(x, begin, part, c.channels_first)


def center_crop(c: Conversion):
    """The middle of images; smaller ones are enlarged first."""
    size = [c.int_of("height"), c.int_of("width")]
    x, back = image_of(c)
    height, width = _sizes(c, x)
    x = cast(x, c.compute)
    if height >= size[0] and width >= size[1]:
        return back(_crop(x, [(height - size[0]) // 2, (width - size[1]) // 2], size, c.channels_first))
    return back(_resize(c, _cropped_to(c, x, size), size, "linear"))


def random_crop(c: Conversion):
    """The identity at inference in Keras 3; in Keras 2 the middle of images, with the ratio of the crop, resized."""
    if not c.is_keras_2:
        return c.x
    size = [c.int_of("height"), c.int_of("width")]
    x, back = image_of(c)
    return back(_resize(c, _cropped_to(c, cast(x, c.compute), size), size, "linear"))


# --- categories -------------------------------------------------------------------------------------------------------
def encoded(c: Conversion, indices, depth: int, mode: str, weights=None, dtype: str = ""):
    """Returns categories as integers, or as vectors of a type, by default the layer's: one_hot, multi_hot, count."""
    dtype = dtype or c.compute
    if mode == "int":
        return op.cast(indices, "int64" if c.is_keras_2 else "int32")
    sizes = shape_of(indices)
    if mode == "one_hot":
        indices = op.squeeze(indices, axis=[-1]) if len(sizes) > 1 and sizes[-1] == 1 else indices
        return _one_hot(indices, depth, dtype)
    if mode not in ("multi_hot", "count"):
        raise Refused(f"`output_mode` is {mode!r}")
    hot = _one_hot(indices, depth, dtype)
    axis = 1 if len(sizes) > 1 else 0
    if mode == "multi_hot":
        return op.max(hot, axis=[axis])
    hot = hot if weights is None else op.multiply(hot, op.expand_dims(op.cast(weights, dtype), axis=len(sizes)))
    return op.sum(hot, axis=[axis])


def _one_hot(indices, depth: int, dtype: str):
    return op.one_hot(op.cast(indices, "int32"), number(1, dtype), number(0, dtype), depth=depth, axis=-1, dtype=dtype)


def category_encoding(c: Conversion):
    weights = c.argument("count_weights", 1)
    weights = weights.expr if isinstance(weights, Value) else None
    mode = {"binary": "multi_hot"}.get(c("output_mode", "multi_hot"), c("output_mode", "multi_hot"))
    return Value(encoded(c, c.x, c.int_of("num_tokens", c("max_tokens")), mode, weights))


def discretization(c: Conversion):
    """The number of boundaries that are not above each element."""
    bounds = c("bin_boundaries")
    if not isinstance(bounds, list) or not bounds:
        raise Refused("its boundaries are not in its configuration", "save the model after adapt()")
    edges = const(np.asarray(bounds, np.float32))
    found = op.searchsorted(edges, cast(c.x, "float32"), right=True, dtype="int32")
    return Value(encoded(c, found, len(bounds) + 1, c("output_mode", "int")))


def pipeline(c: Conversion):
    """Layers, one after another."""
    made = c.value
    for one in c("layers", []):
        made = c.inner(one, (), [made])
    return made


def masking(c: Conversion):
    """Steps whose features all have one value are skipped, and become 0."""
    differs = op.any(op.not_equal(c.x, c.number(c("mask_value", 0.0))), axis=[-1], keepdims=False)
    kept = op.expand_dims(op.cast(differs, c.dtype), axis=c.rank - 1)
    return Value(op.multiply(c.x, kept), differs)
