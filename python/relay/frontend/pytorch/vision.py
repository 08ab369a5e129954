"""Operators of torchvision: boxes, and features of regions."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ...ir.expr import const
from .conversion import Conversion, Refused, number


def nms(c: Conversion):
    """Imports nms: the positions of the boxes that are kept, best first. Of two that overlap by more than the
    threshold, one is kept."""
    dtype = c.common_dtype("dets", "scores")
    boxes = op.expand_dims(c.as_("dets", dtype), axis=0)
    scores = op.expand_dims(op.expand_dims(c.as_("scores", dtype), axis=0), axis=0)
    # Relay drops boxes that overlap by at least the threshold, so it gets the least number above PyTorch's.
    least = np.dtype(dtype).type(c("iou_threshold"))
    if float(least) <= c("iou_threshold"):
        least = np.nextafter(least, np.dtype(dtype).type(math.inf))
    limits = number(-1, "int64"), const(least), number(-math.inf, dtype)
    found, count = op.vision.all_class_non_max_suppression(boxes, scores, *limits)
    places = op.squeeze(op.strided_slice(found, begin=[2], end=[3], axes=[1]), axis=[1])
    return op.strided_slice(places, const(np.zeros(1, "int64")), count, [1])


def roi_align(c: Conversion):
    return op.vision.roi_align(
        c("input"),
        c("rois"),
        pooled_size=[c("pooled_height"), c("pooled_width")],
        spatial_scale=c("spatial_scale"),
        sample_ratio=c("sampling_ratio"),
        aligned=c("aligned"),
    )


def roi_pool(c: Conversion):
    if c.uses(1):
        raise Refused("the positions of maxima")
    size = [c("pooled_height"), c("pooled_width")]
    return [op.vision.roi_pool(c("input"), c("rois"), pooled_size=size, spatial_scale=c("spatial_scale")), None]


def deform_conv2d(c: Conversion):
    how = {
        "strides": [c("stride_h"), c("stride_w")],
        "padding": [c("pad_h"), c("pad_w")],
        "dilation": [c("dilation_h"), c("dilation_w")],
        "groups": c("groups"),
        "deformable_groups": c("offset_groups"),
        "channels": c.shape("weight")[0],
        "kernel_size": c.shape("weight")[2:],
    }
    if c("use_mask"):
        made = op.nn.modulated_deformable_conv2d(c("input"), c("offset"), c("mask"), c("weight"), **how)
    else:
        made = op.nn.deformable_conv2d(c("input"), c("offset"), c("weight"), **how)
    return op.nn.bias_add(made, c("bias"), axis=1) if c.has("bias") else made


VISION = {"nms": nms, "roi_align": roi_align, "roi_pool": roi_pool, "deform_conv2d": deform_conv2d}
