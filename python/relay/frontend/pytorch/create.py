"""Creation of tensors."""

from __future__ import annotations

import numpy as np

from ... import op
from ...ir.expr import const
from .conversion import Conversion, counted, number


def filled(value=None):
    """Imports full, zeros, ones, and the forms that take their shape from a tensor."""

    def convert(c):
        fill = c.as_("fill_value") if value is None else number(value, c.dtype)
        return op.full(fill, shape=c.out_shape) if c.out_shape else fill

    return convert


def fill(c: Conversion):
    return op.broadcast_to(c.as_("value"), shape=c.out_shape)


def scalar_tensor(c: Conversion):
    return c.as_("s")


def arange(c: Conversion):
    start = c("start") if "start" in c._raw else 0
    step = c("step") if "step" in c._raw else 1
    extent = c.out_shape[0]
    if not isinstance(start, (int, float)) or not isinstance(step, (int, float)):
        places = counted(extent, c.dtype)
        places = op.multiply(places, c.as_("step")) if "step" in c._raw else places
        return op.add(places, c.as_("start"))
    if not c.dtype.startswith(("float", "bfloat")):
        start, step = int(start), int(step)
    if isinstance(extent, int):
        places = np.arange(extent) * step + start
        return (
            op.cast(const(places.astype("float32")), c.dtype)
            if c.dtype == "bfloat16"
            else const(places.astype(c.dtype))
        )
    places = counted(extent, c.dtype)
    places = places if step == 1 else op.multiply(places, number(step, c.dtype))
    return places if start == 0 else op.add(places, number(start, c.dtype))


def triangle(upper: bool):
    return lambda c: op.trilu(c("self"), k=int(c("diagonal")), upper=upper)
