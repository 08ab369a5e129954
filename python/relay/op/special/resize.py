"""Operators that resize images."""

from __future__ import annotations

import numpy as np

from ..._core import Expr
from ...ir.expr import const
from .call import int_list, is_computed, number, op_call, values_of


def _resize(letters: str):
    """Defines image.resize2d and its relatives: roi may be None, and rounding_method is empty by default."""
    name = f"image.resize{len(letters)}d"

    def resize(
        data,
        size,
        roi=None,
        layout="NC" + letters,
        method="linear",
        coordinate_transformation_mode="half_pixel",
        rounding_method="",
        cubic_alpha=-0.5,
        cubic_exclude=0,
        extrapolation_value=0.0,
        out_dtype=None,
    ):
        """rounding_method is "" by default here, and "round" in the text form. The size of resize2d is a list, or an
        expression, which gives dyn.image.resize2d without a roi."""
        attributes = dict(layout=layout, method=method, rounding_method=rounding_method)
        attributes |= dict(coordinate_transformation_mode=coordinate_transformation_mode, cubic_alpha=cubic_alpha)
        attributes |= dict(cubic_exclude=cubic_exclude, extrapolation_value=extrapolation_value, out_dtype=out_dtype)
        if letters == "HW" and is_computed(size, roi):
            region = roi if isinstance(roi, Expr) else const(np.asarray(roi or [0, 0, 1, 1], "float32"))
            return op_call("dyn.image.resize2d", [data, int_list(size, "int64"), region], **attributes)
        return op_call(name, [data], size=values_of(size), roi=values_of(roi) or [], **attributes)

    return resize


def _upsampling(data, scale_h=1, scale_w=1, layout="NCHW", method="nearest_neighbor", align_corners=False):
    """Scales are numbers; an expression among them gives dyn.nn.upsampling."""
    attributes = dict(layout=layout, method=method, align_corners=align_corners)
    if is_computed(scale_h, scale_w):
        scales = [number(scale, "float32") for scale in (scale_h, scale_w)]
        return op_call("dyn.nn.upsampling", [data, *scales], **attributes)
    return op_call("nn.upsampling", [data], scale_h=values_of(scale_h), scale_w=values_of(scale_w), **attributes)


def _upsampling3d(
    data,
    scale_d=1,
    scale_h=1,
    scale_w=1,
    layout="NCDHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="half_pixel",
):
    """Scales are numbers; an expression among them gives dyn.nn.upsampling3d."""
    mode = coordinate_transformation_mode
    attributes = dict(layout=layout, method=method, coordinate_transformation_mode=mode)
    scales = scale_d, scale_h, scale_w
    if is_computed(*scales):
        return op_call("dyn.nn.upsampling3d", [data, *(number(scale, "float32") for scale in scales)], **attributes)
    known = dict(zip(("scale_d", "scale_h", "scale_w"), map(values_of, scales), strict=True))
    return op_call("nn.upsampling3d", [data], **known, **attributes)


FUNCTIONS = {
    "image.resize1d": _resize("W"),
    "image.resize2d": _resize("HW"),
    "image.resize3d": _resize("DHW"),
    "nn.upsampling": _upsampling,
    "nn.upsampling3d": _upsampling3d,
}
