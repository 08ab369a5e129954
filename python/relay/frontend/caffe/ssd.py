"""Layers of the SSD branch of Caffe: prior boxes, and the selection of detections."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import MOST_ELEMENTS, bounded, known, number, shape_of
from ..shared.problems import Refused
from .conversion import CaffeLayer


def _sizes_of_priors(c: CaffeLayer) -> list[tuple[float, float]]:
    """Returns width and height of the boxes of each position, in pixels, in Caffe's order."""
    small, large = c.numbers("min_size"), c.numbers("max_size")
    if not small or (large and len(large) != len(small)):
        raise Refused(f"it has {len(small)} min_size and {len(large)} max_size")
    ratios = [1.0]
    for ratio in c.numbers("aspect_ratio"):
        if ratio <= 0:
            raise Refused(f"`aspect_ratio` is {ratio}, not above zero")
        if not any(abs(ratio - one) < 1e-6 for one in ratios):
            ratios.append(ratio)
            if c.flag("flip", True):
                ratios.append(1 / ratio)
    c.ignore("prior_box_param.flip")
    made = []
    for place, size in enumerate(small):
        made.append((size, size))
        if large:
            if large[place] <= size:
                raise Refused(f"`max_size` {large[place]} is not above `min_size` {size}")
            made.append((math.sqrt(size * large[place]),) * 2)
        made += [(size * math.sqrt(one), size / math.sqrt(one)) for one in ratios if abs(one - 1) >= 1e-6]
    return made


def prior_box(c: CaffeLayer):
    """Boxes around each position of the first input, and their variances: (1, 2, boxes * 4), known at import."""
    c.counted(2)
    height, width = c.sizes()[2:]
    image = [known(one, "the image") for one in shape_of(c.input(1))[2:]]
    if c.has("img_size"):
        image = [c.count("img_size")] * 2
    elif c.has("img_h") or c.has("img_w"):
        image = [c.count("img_h"), c.count("img_w")]
    step = c.real("step", 0.0)
    steps = [c.real("step_h", step) or image[0] / height, c.real("step_w", step) or image[1] / width]
    offset, boxes = c.real("offset", 0.5), np.array(_sizes_of_priors(c), np.float32)
    bounded(height * width * len(boxes) * 4, MOST_ELEMENTS, "the number of its boxes")
    y = ((np.arange(height) + offset) * steps[0]).astype(np.float32)[:, None, None]
    x = ((np.arange(width) + offset) * steps[1]).astype(np.float32)[None, :, None]
    half = boxes / 2
    sides = [
        (x - half[:, 0]) / image[1],
        (y - half[:, 1]) / image[0],
        (x + half[:, 0]) / image[1],
        (y + half[:, 1]) / image[0],
    ]
    made = np.stack(np.broadcast_arrays(*sides), axis=-1).astype(np.float32).reshape(-1)
    made = np.clip(made, 0, 1) if c.flag("clip") else made
    variances = c.numbers("variance") or [0.1]
    if len(variances) not in (1, 4):
        raise Refused(f"it has {len(variances)} `variance`, not 1 or 4")
    spread = np.resize(np.array(variances, np.float32), made.size)
    return c.constant(np.stack([made, spread])[None])


def _decoded(c: CaffeLayer, boxes: int) -> Expr:
    """Returns the corners of all boxes, (N, boxes, 4), from the locations, the priors and their variances."""
    batch = shape_of(c.x)[0]
    location = op.reshape(c.x, [batch, boxes, 4])
    priors, variances = op.split(op.reshape(c.input(2), [2, boxes, 4]), 2, axis=0)  # (1, boxes, 4) each
    if not c.flag("variance_encoded_in_target"):
        location = op.multiply(location, variances)
    begin, end = op.split(priors, 2, axis=2)
    size = op.subtract(end, begin)
    kind = c.enum("code_type", ("CORNER", "CENTER_SIZE", "CORNER_SIZE"), 1)
    if kind == "CORNER":
        return op.add(priors, location)
    if kind == "CORNER_SIZE":
        return op.add(priors, op.multiply(location, op.concatenate([size, size], axis=2)))
    middle = op.multiply(op.add(begin, end), c.number(0.5))
    moved, grown = op.split(location, 2, axis=2)
    middle = op.add(middle, op.multiply(moved, size))
    half = op.multiply(op.multiply(op.exp(grown), size), c.number(0.5))
    return op.concatenate([op.subtract(middle, half), op.add(middle, half)], axis=2)


def detection_output(c: CaffeLayer):
    """The best detections of each image: rows of image, label, score and corners, ordered by label, then by score.

    Caffe's result has as many rows as there are detections. Here it always has the most, (1, 1, N * keep_top_k, 7), and
    the rows that are left over contain -1.
    """
    c.counted(3, 4)
    c.ignore("detection_output_param.visualize", "detection_output_param.visualize_threshold", "visualize")
    classes, background = c.count("num_classes"), c.int("background_label_id", 0)
    boxes = known(shape_of(c.input(2))[2], "the number of boxes") // 4
    nms = c.value("nms_param") or {}
    limit, eta = nms.get("nms_threshold", [0.3])[-1], nms.get("eta", [1.0])[-1]
    considered = nms.get("top_k", [-1])[-1]
    considered = boxes if considered < 0 else min(considered, boxes)
    if not c.flag("share_location", True) or eta != 1 or c.all("thresholds"):
        raise Refused("boxes for each class, `eta` and `thresholds` are not imported", "use share_location: true")
    least = c.real("confidence_threshold", -3e38)
    batch = c.sizes()[0]
    corners = _decoded(c, boxes)
    scores = op.transpose(op.reshape(c.input(1), [batch, boxes, classes]), axes=[0, 2, 1])
    labels = [one for one in range(classes) if one != background]
    scores = op.take(scores, c.constant(np.array(labels, np.int32)), axis=1)
    best, places = op.topk(scores, k=considered, axis=2, ret_type="both", dtype="int32")
    chosen = op.take(corners, op.reshape(places, [batch, len(labels) * considered]), axis=1, batch_dims=1)
    groups = batch * len(labels)
    rows = op.concatenate(
        [op.reshape(best, [groups, considered, 1]), op.reshape(chosen, [groups, considered, 4])], axis=2
    )
    count = op.sum(op.cast(op.greater(best, c.number(least)), "int32"), axis=[2])
    kept = op.vision.non_max_suppression(
        rows, op.reshape(count, [groups]), op.reshape(places, [groups, considered]), max_output_size=-1,
        iou_threshold=float(np.nextafter(np.float32(limit), np.float32(2))), top_k=-1, coord_start=1, score_index=0,
        id_index=-1, return_indices=False,
    )  # fmt: skip
    return _best(c, op.reshape(kept, [batch, len(labels) * considered, 5]), labels, considered, batch)


def _best(c: CaffeLayer, kept: Expr, labels: list[int], considered: int, batch: int) -> Expr:
    """Returns the rows of the result: the best of all classes, in the order of their labels."""
    total = len(labels) * considered
    count = c.int("keep_top_k", -1)
    count = total if count < 0 else min(count, total)
    score = op.reshape(op.strided_slice(kept, begin=[0], end=[1], axes=[2]), [batch, total])
    best, places = op.topk(score, k=count, axis=1, ret_type="both", dtype="int32")
    # By label, and by score within a label, as the rows are; rows that were dropped come last.
    behind = op.where(op.less(best, c.number(0.0)), number(total, "int32"), number(0, "int32"))
    places = op.floor_mod(op.sort(op.add(places, behind), axis=1), number(total, "int32"))
    rows = op.take(kept, places, axis=1, batch_dims=1)
    label = op.take(c.constant(np.repeat(labels, considered).astype(np.float32)), places, axis=0)
    image = c.constant(np.broadcast_to(np.arange(batch, dtype=np.float32)[:, None, None], (batch, count, 1)))
    made = op.concatenate([image, op.reshape(label, [batch, count, 1]), rows], axis=2)
    is_empty = op.less(op.strided_slice(rows, begin=[0], end=[1], axes=[2]), c.number(0.0))
    return op.reshape(op.where(is_empty, c.number(-1.0), made), [1, 1, batch * count, 7])
