"""Heads of detectors: YOLO 1 (detection), 2 (region), 3 and 4 (yolo).

A head has images (N, anchors * (5 + classes), H, W): x and y in their cell, w and h before exp(), the object, the
classes. It is what DarkNet's network has, before boxes are selected.
"""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.expressions import shape_of
from ..shared.problems import Refused
from .conversion import Layer
from .layers import OTHER_SHAPE

# Options of training and of the selection of boxes.
_ELSEWHERE = (
    "anchors", "jitter", "random", "max", "ignore_thresh", "truth_thresh", "map", "rescore", "thresh", "object_scale",
    "noobject_scale", "class_scale", "coord_scale", "mask_scale", "bias_match", "absolute", "forced", "reorg", "log",
    "sqrt", "side", "iou_thresh", "iou_loss", "iou_normalizer", "cls_normalizer", "obj_normalizer", "delta_normalizer",
    "nms_kind", "beta_nms", "max_delta", "label_smooth_eps", "resize", "focal_loss", "counters_per_class",
        "objectness_smooth",
    "iou_thresh_kind", "truth", "onlyforward", "total",
)  # fmt: skip


def _anchors(c: Layer, count: int, entries: int) -> tuple[Expr, list]:
    """Returns a head as (N, anchors, entries, H, W), and its own shape."""
    sizes = shape_of(c.image())
    if sizes[1] != count * entries:
        raise Refused(
            f"{count} anchors with {entries} entries need {count * entries} channels, not {sizes[1]}", OTHER_SHAPE
        )
    return op.reshape(c.image(), [sizes[0], count, entries, *sizes[2:]]), sizes


def _parts(x: Expr, counts: list[int]) -> list[Expr]:
    """Returns the entries of a head in parts."""
    ends = [sum(counts[:place]) for place in range(1, len(counts))]
    return list(op.split(x, ends, axis=2))


def yolo(c: Layer):
    c.ignore(*_ELSEWHERE)
    count, classes = c.count("num", 1), c.count("classes", 20, 0)
    if c.has("mask"):
        mask = c.ints("mask")
        if any(not 0 <= one < count for one in mask):
            raise Refused(f"its mask {mask} names anchors beyond {count}")
        count = len(mask)
    if c.flag("new_coords"):
        raise Refused("`new_coords` is not imported", "remove it, and place the boxes as the fork does")
    x, sizes = _anchors(c, count, classes + 5)
    place, size, rest = _parts(x, [2, 2, classes + 1])
    place, scale = op.sigmoid(place), c.real("scale_x_y", 1.0)
    if scale != 1:  # of the fork of A. Bochkovskiy
        place = op.subtract(op.multiply(place, c.number(scale)), c.number((scale - 1) / 2))
    return op.reshape(op.concatenate([place, size, op.sigmoid(rest)], axis=2), sizes)


def region(c: Layer):
    c.ignore(*_ELSEWHERE)
    coords, classes, count = c.count("coords", 4, 2), c.count("classes", 20, 0), c.count("num", 1)
    if c.has("tree"):
        raise Refused("softmax over a tree of classes is not imported", "remove tree= to get plain softmax")
    if c.flag("background"):
        raise Refused("`background` is not imported", "remove it")
    x, sizes = _anchors(c, count, coords + 1 + classes)
    place, size, is_object, kinds = _parts(x, [2, coords - 2, 1, classes]) if coords > 2 else _flat_box(x, classes)
    kinds = op.nn.softmax(kinds, axis=2) if c.flag("softmax") else op.sigmoid(kinds)
    parts = [op.sigmoid(place), *([] if size is None else [size]), op.sigmoid(is_object), kinds]
    return op.reshape(op.concatenate(parts, axis=2), sizes)


def _flat_box(x: Expr, classes: int) -> list:
    place, is_object, kinds = _parts(x, [2, 1, classes])
    return [place, None, is_object, kinds]


def detection(c: Layer):
    """YOLO 1: (N, side * side * (classes + num * (1 + coords))): the classes of all cells, objects, boxes."""
    c.ignore(*_ELSEWHERE)
    x = c.flat()
    side, classes, count, coords = c.count("side", 7), c.count("classes", 1), c.count("num", 1), c.count("coords", 1)
    cells = side * side
    entries = cells * (classes + count * (1 + coords))
    batch, found = shape_of(x)
    if found != entries:
        raise Refused(f"{side}x{side} cells need {entries} numbers, not {found}", OTHER_SHAPE)
    if not c.flag("softmax"):
        return x
    kinds, rest = op.split(x, [cells * classes], axis=1)
    kinds = op.nn.softmax(op.reshape(kinds, [batch, cells, classes]), axis=2)
    return op.concatenate([op.reshape(kinds, [batch, cells * classes]), rest], axis=1)
