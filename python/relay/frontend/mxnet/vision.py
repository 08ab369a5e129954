"""Operators of MXNet for detectors: regions, boxes, sampling."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import known, number, shape_of
from ..shared.problems import Refused
from .conversion import Operator
from .linear import _each, with_bias


def roi_pooling(c: Operator):
    size = c.ints("pooled_size", count=2)
    return op.vision.roi_pool(c.with_rank(4), c.input(1), pooled_size=size, spatial_scale=c.real("spatial_scale"))


def roi_align(c: Operator):
    if c.flag("position_sensitive"):
        raise Refused("`position_sensitive` is not imported", "use plain regions")
    return op.vision.roi_align(
        c.with_rank(4), c.input(1), pooled_size=c.ints("pooled_size", count=2), spatial_scale=c.real("spatial_scale"),
        sample_ratio=c.int("sample_ratio", -1), aligned=c.flag("aligned"),
    )  # fmt: skip


def multibox_prior(c: Operator):
    return op.vision.multibox_prior(
        c.with_rank(4), sizes=c.reals("sizes", (1.0,)), ratios=c.reals("ratios", (1.0,)),
        steps=c.reals("steps", (-1.0, -1.0)), offsets=c.reals("offsets", (0.5, 0.5)), clip=c.flag("clip"),
    )  # fmt: skip


def multibox_detection(c: Operator):
    """Rows of class, score and corners; those that are left over have the class -1."""
    if c.int("background_id", 0) != 0:
        raise Refused("a background other than class 0 is not imported", "put it first")
    c.ignore("keep_topk")
    rows, count = op.vision.multibox_transform_loc(
        *c.counted(3), clip=c.flag("clip", True), threshold=c.real("threshold", 0.01),
        variances=c.reals("variances", (0.1, 0.1, 0.2, 0.2)),
    )  # fmt: skip
    batch, boxes = (known(one, "it") for one in shape_of(rows)[:2])
    places = c.constant(np.broadcast_to(np.arange(boxes, dtype=np.int32), (batch, boxes)))
    return op.vision.non_max_suppression(
        rows, count, places, iou_threshold=c.real("nms_threshold", 0.5), force_suppress=c.flag("force_suppress"),
        top_k=c.int("nms_topk", -1), return_indices=False,
    )  # fmt: skip


def box_nms(c: Operator):
    if c.text("in_format", "corner") != "corner" or c.text("out_format", "corner") != "corner":
        raise Refused("boxes by their middle are not imported", "use in_format='corner' and out_format='corner'")
    if c.int("background_id", -1) != -1:
        raise Refused("`background_id` is not imported", "remove its boxes before")
    score, kind = c.int("score_index", 1), c.int("id_index", -1)
    batched = c.x if c.rank == 3 else op.reshape(c.x, [-1, *c.shape[-2:]])
    count, rows, places = op.vision.get_valid_counts(
        batched, score_threshold=c.real("valid_thresh", 0.0), id_index=kind, score_index=score
    )
    made = op.vision.non_max_suppression(
        rows, count, places, iou_threshold=c.real("overlap_thresh", 0.5), force_suppress=c.flag("force_suppress"),
        top_k=c.int("topk", -1), coord_start=c.int("coord_start", 2), score_index=score, id_index=kind,
        return_indices=False, invalid_to_bottom=True,
    )  # fmt: skip
    return [made if c.rank == 3 else op.reshape(made, c.shape), made]


def box_decode(c: Operator):
    """Corners of boxes from their moves and growths relative to anchors."""
    data, anchors = c.counted(2)
    spread = [c.real(f"std{place}", 1.0) for place in range(4)]
    limit = c.real("clip", -1.0)
    first, second = op.split(anchors, 2, axis=2)
    if c.text("format", "center", ("center", "corner")) == "corner":
        size = op.subtract(second, first)
        middle = op.add(first, op.multiply(size, c.number(0.5)))
    else:
        middle, size = first, second
    scaled = op.multiply(data, c.constant(np.array(spread), c.dtype))
    moved, grown = op.split(scaled, 2, axis=2)
    grown = op.minimum(grown, c.number(limit)) if limit > 0 else grown
    half = op.multiply(op.multiply(op.exp(grown), size), c.number(0.5))
    middle = op.add(op.multiply(moved, size), middle)
    return op.concatenate([op.subtract(middle, half), op.add(middle, half)], axis=2)


def proposal(c: Operator):
    if c.flag("output_score"):
        raise Refused("the scores as a second result are not imported", "use output_score=False")
    return op.vision.proposal(
        *c.counted(3), scales=c.reals("scales", (4.0, 8.0, 16.0, 32.0)), ratios=c.reals("ratios", (0.5, 1.0, 2.0)),
        feature_stride=c.count("feature_stride", 16), threshold=c.real("threshold", 0.7),
        rpn_pre_nms_top_n=c.count("rpn_pre_nms_top_n", 6000), rpn_post_nms_top_n=c.count("rpn_post_nms_top_n", 300),
        rpn_min_size=c.int("rpn_min_size", 16), iou_loss=c.flag("iou_loss"),
    )  # fmt: skip


def deformable_convolution(c: Operator):
    c.ignore("workspace", "cudnn_tune", "cudnn_off", "layout")
    window, filters = c.ints("kernel", count=2), c.count("num_filter")
    strides, padding, dilation = _each(c, "stride", 2, 1), _each(c, "pad", 2, 0), _each(c, "dilate", 2, 1)
    made = op.nn.deformable_conv2d(
        c.with_rank(4), _inside(c, c.input(1), window, strides, padding, dilation), c.input(2), strides=strides,
        padding=padding * 2, dilation=dilation, deformable_groups=c.count("num_deformable_group", 1),
        groups=c.count("num_group", 1), channels=filters, kernel_size=window,
    )  # fmt: skip
    return with_bias(c, made, 3, filters, c.flag("no_bias"))


def _inside(c: Operator, offset: Expr, window: list, strides: list, padding: list, dilation: list) -> Expr:
    """Returns offsets that stay inside of the image or are far away from it.

    MXNet reads the last row or column behind it, up to a distance of one, and nothing before the first; the operator
    nn.deformable_conv2d reads a share of the border on both sides.
    """
    batch, channels, *result = (known(one, "the offsets") for one in shape_of(offset))
    taps = window[0] * window[1]
    apart = op.reshape(offset, [batch, channels // (2 * taps), taps, 2, *result])
    places = np.zeros([1, 1, taps, 2, *result], np.float32)
    for tap in range(taps):
        for axis, at in enumerate(divmod(tap, window[1])):
            steps = np.arange(result[axis]) * strides[axis] - padding[axis] + at * dilation[axis]
            places[0, 0, tap, axis] = steps[:, None] if axis == 0 else steps
    sizes = np.array([known(one, "the image") for one in c.shape[2:]], np.float32).reshape(1, 1, 1, 2, 1, 1)
    base, far = c.constant(places), c.number(-1e4)
    found = op.add(apart, base)
    is_outside = op.logical_or(op.less(found, c.number(0.0)), op.greater_equal(found, c.constant(sizes)))
    found = op.where(is_outside, far, op.minimum(found, c.constant(sizes - 1)))
    return op.reshape(op.subtract(found, base), [batch, channels, *result])


def correlation(c: Operator):
    return op.nn.correlation(
        *c.counted(2), kernel_size=c.count("kernel_size", 1), max_displacement=c.int("max_displacement", 1),
        stride1=c.count("stride1", 1), stride2=c.count("stride2", 1), padding=[c.int("pad_size", 0)] * 4,
        is_multiply=c.flag("is_multiply", True),
    )  # fmt: skip


def bilinear_sampler(c: Operator):
    c.ignore("cudnn_off")
    return op.image.grid_sample(*c.counted(2), method="bilinear", padding_mode="zeros", align_corners=True)


def grid_generator(c: Operator):
    if c.text("transform_type", among=("affine", "warp")) == "affine":
        matrices = op.reshape(c.x, [c.shape[0], 2, 3])
        return op.image.affine_grid(matrices, target_shape=c.ints("target_shape", count=2))
    c.ignore("target_shape")
    high, wide = (known(one, "a grid") for one in shape_of(c.with_rank(4))[2:])
    base = np.stack(np.meshgrid(np.arange(wide), np.arange(high))).astype(np.float32)
    half = np.maximum(np.array([wide - 1, high - 1], np.float32) / 2, 1e-30).reshape(2, 1, 1)
    moved = op.divide(op.add(c.x, c.constant(base[None])), c.constant(half[None]))
    return op.subtract(moved, c.number(1.0))


def spatial_transformer(c: Operator):
    c.without("transform_type", "affine")
    c.without("sampler_type", "bilinear")
    c.ignore("cudnn_off")
    matrices = op.reshape(c.input(1), [c.shape[0], 2, 3])
    grid = op.image.affine_grid(matrices, target_shape=c.ints("target_shape", count=2))
    return op.image.grid_sample(c.x, grid, method="bilinear", padding_mode="zeros", align_corners=True)


def box_iou(c: Operator):
    """The share of overlap of each box of the first tensor with each of the second."""
    c.without("format", "corner")
    a, b = c.counted(2)
    first, second = shape_of(a), shape_of(b)
    a = op.reshape(a, [*first[:-1], *[1] * (len(second) - 1), 4])
    (low_a, high_a), (low_b, high_b) = (op.split(one, 2, axis=-1) for one in (a, b))
    sides = op.maximum(op.subtract(op.minimum(high_a, high_b), op.maximum(low_a, low_b)), number(0.0, c.dtype))
    inner = op.prod(sides, axis=[-1])
    whole = op.add(op.prod(op.subtract(high_a, low_a), axis=[-1]), op.prod(op.subtract(high_b, low_b), axis=[-1]))
    union = op.subtract(whole, inner)
    return op.where(op.greater(union, number(0.0, c.dtype)), op.divide(inner, union), op.zeros_like(inner))
