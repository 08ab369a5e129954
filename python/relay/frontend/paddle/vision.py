"""The selection of detections: boxes of each class by score, without those that overlap a better one."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, known, number, shape_of
from ..shared.problems import Refused
from .conversion import Operator
from .image import columns


def _above(limit: float) -> Expr:
    """Returns the least float32 above a limit: Relay drops boxes that overlap by at least it, Paddle by more."""
    least = np.float32(limit)
    return number(least if float(least) > limit else np.nextafter(least, np.float32(math.inf)), "float32")


def _cut(rows: Expr, count: Expr) -> Expr:
    """Returns the first rows."""
    end = op.reshape(cast(count, "int64"), newshape=[1])
    return op.strided_slice(rows, number(np.zeros(1), "int64"), end, [1])


def _column(rows: Expr, at: int) -> Expr:
    return op.squeeze(op.strided_slice(rows, begin=[at], end=[at + 1], axes=[1]), axis=[1])


def _chosen(boxes: Expr, scores: Expr, overlap: float, least: float) -> Expr:
    """Returns rows (image, class, box), by image, class and falling score."""
    found, count = op.vision.all_class_non_max_suppression(
        boxes, scores, number(-1, "int64"), _above(overlap), number(least, "float32")
    )
    return _cut(found, count)


def nms(c: Operator):
    """The boxes that are kept, in their order: they are sorted by score before."""
    boxes = c["Boxes"]
    count = known(shape_of(boxes)[0], "the number of boxes")
    scores = c.constant(np.arange(count, 0, -1).reshape(1, 1, -1), "float32")
    rows = _chosen(op.expand_dims(boxes, axis=0), scores, c.real("iou_threshold", 1.0), -math.inf)
    return {"KeepBoxesIdxs": cast(_column(rows, 2), "int64")}


def _of_classes(c: Operator) -> tuple[Expr, Expr, int, int]:
    """Returns boxes (1, M, 4), scores (1, C, M), C and M; the background has no scores."""
    boxes, scores = c["BBoxes"], c["Scores"]
    if len(shape_of(scores)) != 3 or shape_of(boxes)[-1] != 4:
        raise Refused(f"its boxes have the shape {shape_of(boxes)} and its scores {shape_of(scores)}")
    if shape_of(scores)[0] != 1:
        raise Refused(
            f"the boxes of {shape_of(scores)[0]} images are selected at once", "give shapes with a batch of 1"
        )
    classes, count = (known(one, "the number of boxes") for one in shape_of(scores)[1:])
    hidden = c.int("background_label", 0)
    if 0 <= hidden < classes:
        mask = (np.arange(classes) == hidden).reshape(1, -1, 1)
        scores = op.where(c.constant(mask), number(-math.inf, "float32"), scores)
    return boxes, scores, classes, count


def _widened(c: Operator, boxes: Expr) -> Expr:
    """Returns boxes whose last pixel is counted, unless they are relative to the image."""
    if c.flag("normalized", True):
        return boxes
    return op.add(boxes, c.constant(np.array([0, 0, 1, 1]), "float32"))


def multiclass_nms(c: Operator):
    """Rows (class, score, x1, y1, x2, y2) by class and falling score, of the best boxes of all classes."""
    boxes, scores, classes, count = _of_classes(c)
    c.without_value("nms_eta", 1.0)
    least, first, most = c.real("score_threshold"), c.int("nms_top_k", -1), c.int("keep_top_k", -1)
    if 0 < first < count:  # only the best boxes of a class are considered
        best = op.topk(scores, k=first, axis=-1, ret_type="values", is_ascend=False)
        worst = op.strided_slice(best, begin=[first - 1], end=[first], axes=[2])
        scores = op.where(op.greater_equal(scores, worst), scores, number(-math.inf, "float32"))
    rows = cast(_chosen(_widened(c, boxes), scores, c.real("nms_threshold", 0.3), least), "int64")
    kinds, places = _column(rows, 1), _column(rows, 2)
    flat = op.add(op.multiply(kinds, number(count, "int64")), places)
    values = op.take(op.reshape(scores, newshape=[classes * count]), flat, axis=0)
    if most > -1:
        order = op.argsort(values, axis=0, is_ascend=False, dtype="int64")
        order = op.sort(op.strided_slice(order, begin=[0], end=[most], axes=[0]), axis=0)
        kinds, places, values = (op.take(one, order, axis=0) for one in (kinds, places, values))
    return _detections(op.reshape(boxes, newshape=[count, 4]), kinds, places, values, "NmsRoisNum")


def _detections(boxes: Expr, kinds: Expr, places: Expr, values: Expr, count: str) -> dict:
    parts = [op.expand_dims(one, axis=1) for one in (cast(kinds, "float32"), values)]
    rows = op.concatenate([*parts, op.take(boxes, places, axis=0)], axis=1)
    total = op.reshape(cast(op.shape_of(places), "int32"), newshape=[1])
    return {"Out": rows, "Index": cast(op.expand_dims(places, axis=1), "int32"), count: total}


def matrix_nms(c: Operator):
    """Scores fall with the overlap with better boxes of the class; rows by falling score."""
    boxes, scores, classes, count = _of_classes(c)
    least, after = c.real("score_threshold"), c.real("post_threshold", 0.0)
    first, most = c.int("nms_top_k", -1), c.int("keep_top_k", -1)
    gaussian, sigma = c.flag("use_gaussian", False), c.real("gaussian_sigma", 2.0)
    first = count if first < 0 else min(first, count)
    values, places = op.topk(op.reshape(scores, newshape=[classes, count]), k=first, axis=-1, ret_type="both",
                             is_ascend=False, dtype="int32")  # fmt: skip
    own = op.reshape(boxes, newshape=[count, 4])
    chosen = op.take(_widened(c, own), places, axis=0)  # (C, k, 4)
    x1, y1, x2, y2 = columns(chosen)
    zero, one = number(0.0, "float32"), number(1.0, "float32")
    area = op.multiply(op.subtract(x2, x1), op.subtract(y2, y1))

    def turned(value: Expr) -> Expr:
        return op.transpose(value, axes=[0, 2, 1])

    wide = op.maximum(op.subtract(op.minimum(x2, turned(x2)), op.maximum(x1, turned(x1))), zero)
    high = op.maximum(op.subtract(op.minimum(y2, turned(y2)), op.maximum(y1, turned(y1))), zero)
    inner = op.multiply(wide, high)
    overlap = op.divide(inner, op.subtract(op.add(area, turned(area)), inner))  # (C, i, j)
    if not c.flag("normalized", True):  # boxes that do not touch have no common pixel
        a1, b1, a2, b2 = columns(op.take(own, places, axis=0))
        touch = [op.less_equal(low, turned(high)) for low, high in ((a1, a2), (b1, b2))]
        touch += [turned(one) for one in touch]
        overlap = op.where(op.logical_and(op.logical_and(*touch[:2]), op.logical_and(*touch[2:])), overlap, zero)
    before = c.constant(np.tri(first, k=-1).astype(np.float32))  # j before i
    overlap = op.multiply(overlap, before)
    highest = op.expand_dims(op.max(overlap, axis=[2]), axis=1)  # of j
    if gaussian:
        squares = op.subtract(op.multiply(highest, highest), op.multiply(overlap, overlap))
        decay = op.exp(op.multiply(squares, number(sigma, "float32")))
    else:
        decay = op.divide(op.subtract(one, overlap), op.subtract(one, highest))
    decay = op.where(op.greater(before, zero), decay, one)
    decayed = op.multiply(values, op.minimum(op.min(decay, axis=[2]), one))
    good = op.logical_and(op.greater(values, number(least, "float32")), op.greater(decayed, number(after, "float32")))
    kinds = c.constant(np.repeat(np.arange(classes), first), "int64")
    good = op.reshape(good, newshape=[-1])
    parts = [kinds, cast(op.reshape(places, newshape=[-1]), "int64"), op.reshape(decayed, newshape=[-1])]
    kinds, places, values = (op.compress(one, good, axis=0) for one in parts)
    order = op.argsort(values, axis=0, is_ascend=False, dtype="int64")
    order = op.strided_slice(order, begin=[0], end=[most], axes=[0]) if most > -1 else order
    kinds, places, values = (op.take(one, order, axis=0) for one in (kinds, places, values))
    return _detections(own, kinds, places, values, "RoisNum")


# --- regions of detectors in two stages -------------------------------------------------------------------------------
def proposals(c: Operator):
    """Regions from scores (1, A, H, W), offsets (1, 4 A, H, W) and anchors (H, W, A, 4)."""
    scores, deltas, image = c["Scores"], c["BboxDeltas"], c["ImShape"]
    if shape_of(scores)[0] != 1:
        raise Refused("the regions of several images are selected at once", "give shapes with a batch of 1")
    c.without_value("eta", 1.0)
    more = number(1.0 if c.flag("pixel_offset", True) else 0.0, "float32")
    first, most = c.int("pre_nms_topN", 6000), c.int("post_nms_topN", 1000)
    overlap, smallest = c.real("nms_thresh", 0.5), max(c.real("min_size", 0.1), 1.0)
    sizes = [known(one, "the number of regions") for one in shape_of(scores)]
    count = math.prod(sizes)
    flat = op.reshape(op.transpose(scores, axes=[0, 2, 3, 1]), newshape=[count])
    apart = op.reshape(deltas, newshape=[sizes[1], 4, *sizes[2:]])
    offsets = op.reshape(op.transpose(apart, axes=[2, 3, 0, 1]), newshape=[count, 4])
    anchors, spread = (op.reshape(c[slot], newshape=[count, 4]) for slot in ("Anchors", "Variances"))
    first = count if first <= 0 else min(first, count)
    values, places = op.topk(flat, k=first, axis=0, ret_type="both", is_ascend=False, dtype="int32")
    offsets, anchors, spread = (op.take(one, places, axis=0) for one in (offsets, anchors, spread))
    x1, y1, x2, y2 = columns(anchors)
    dx, dy, dw, dh = columns(op.multiply(offsets, spread))
    half, limit = number(0.5, "float32"), number(math.log(1000.0 / 16.0), "float32")
    wide, high = (op.add(op.subtract(b, a), more) for a, b in ((x1, x2), (y1, y2)))
    x, y = (op.add(a, op.multiply(side, half)) for a, side in ((x1, wide), (y1, high)))
    x, y = op.add(op.multiply(dx, wide), x), op.add(op.multiply(dy, high), y)
    wide, high = (op.multiply(op.exp(op.minimum(d, limit)), side) for d, side in ((dw, wide), (dh, high)))
    bottom, right = (op.reshape(one, newshape=[1, 1]) for one in op.split(op.reshape(image, newshape=[2]), 2, axis=0))

    def inside(value: Expr, side: Expr) -> Expr:
        return op.maximum(op.minimum(value, op.subtract(side, more)), number(0.0, "float32"))

    sides = [
        inside(op.subtract(x, op.multiply(wide, half)), right),
        inside(op.subtract(y, op.multiply(high, half)), bottom),
        inside(op.subtract(op.add(x, op.multiply(wide, half)), more), right),
        inside(op.subtract(op.add(y, op.multiply(high, half)), more), bottom),
    ]
    boxes = op.concatenate(sides, axis=1)
    wide, high = (op.add(op.subtract(b, a), more) for a, b in ((sides[0], sides[2]), (sides[1], sides[3])))
    least = number(smallest, "float32")
    good = op.logical_and(op.greater_equal(wide, least), op.greater_equal(high, least))
    if c.flag("pixel_offset", True):
        centred = (op.add(a, op.multiply(side, half)) for a, side in ((sides[0], wide), (sides[1], high)))
        good = op.logical_and(
            good, op.logical_and(*(op.less_equal(a, b) for a, b in zip(centred, (right, bottom), strict=True)))
        )
    kept = op.where(op.reshape(good, newshape=[first]), values, number(-math.inf, "float32"))
    shifted = op.add(boxes, op.multiply(more, c.constant(np.array([0, 0, 1, 1]), "float32")))
    rows = _chosen(op.expand_dims(shifted, axis=0), op.reshape(kept, newshape=[1, 1, first]), overlap, -3e38)
    chosen = op.strided_slice(cast(_column(rows, 2), "int64"), begin=[0], end=[most if most > 0 else count], axes=[0])
    return {
        "RpnRois": op.take(boxes, chosen, axis=0),
        "RpnRoiProbs": op.expand_dims(op.take(values, chosen, axis=0), axis=1),
        "RpnRoisNum": op.reshape(cast(op.shape_of(chosen), "int32"), newshape=[1]),
    }


def distribute_proposals(c: Operator):
    """Regions by levels of a pyramid, and the order that puts them back."""
    rois = c["FpnRois"]
    low, high, level, scale = (c.int(name) for name in ("min_level", "max_level", "refer_level", "refer_scale"))
    more = number(1.0 if c.flag("pixel_offset", True) else 0.0, "float32")
    if c.gives("RoisNum") and shape_of(c["RoisNum"]) != [1]:
        raise Refused("the regions of several images are distributed at once", "give shapes with a batch of 1")
    x1, y1, x2, y2 = columns(rois)
    area = op.multiply(op.add(op.subtract(x2, x1), more), op.add(op.subtract(y2, y1), more))
    steps = op.log2(op.add(op.divide(op.sqrt(area), number(float(scale), "float32")), number(1e-6, "float32")))
    at = op.clip(op.add(op.floor(steps), number(float(level), "float32")), float(low), float(high))
    at = op.squeeze(at, axis=[1])
    parts, counts = [], []
    for one in range(low, high + 1):
        chosen = op.compress(rois, op.equal(at, number(float(one), "float32")), axis=0)
        parts.append(chosen)
        counts.append(op.strided_slice(cast(op.shape_of(chosen), "int32"), begin=[0], end=[1], axes=[0]))
    order = op.argsort(at, axis=0, is_ascend=True, dtype="int64")
    restore = op.expand_dims(cast(op.argsort(order, axis=0, is_ascend=True, dtype="int64"), "int32"), axis=1)
    return {"MultiFpnRois": parts, "RestoreIndex": restore, "MultiLevelRoIsNum": counts}
