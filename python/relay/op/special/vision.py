"""Operators on boxes."""

from __future__ import annotations

from ...ir.expr import TupleWrapper
from .call import number, op_call


def _get_valid_counts(data, score_threshold, id_index=0, score_index=1):
    """Returns (count, boxes, positions)."""
    threshold = (
        number(float(score_threshold), "float32") if isinstance(score_threshold, int | float) else score_threshold
    )
    call = op_call("vision.get_valid_counts", [data, threshold], id_index=id_index, score_index=score_index)
    return TupleWrapper(call, 3)


def _multibox_transform_loc(
    cls_prob, loc_pred, anchor, clip=True, threshold=0.01, variances=(0.1, 0.1, 0.2, 0.2), keep_background=False
):
    """Returns (boxes, count)."""
    attributes = {"clip": clip, "threshold": threshold, "variances": list(variances)}
    operands = [cls_prob, loc_pred, anchor]
    return TupleWrapper(
        op_call("vision.multibox_transform_loc", operands, **attributes, keep_background=keep_background), 2
    )


def _non_max_suppression(
    data,
    valid_count,
    indices,
    max_output_size=-1,
    iou_threshold=0.5,
    force_suppress=False,
    top_k=-1,
    coord_start=2,
    score_index=1,
    id_index=0,
    return_indices=True,
    invalid_to_bottom=False,
):
    """Returns (positions, count), or the boxes without return_indices."""
    operands = [data, valid_count, indices, number(max_output_size, "int32"), number(iou_threshold, "float32")]
    call = op_call(
        "vision.non_max_suppression",
        operands,
        force_suppress=force_suppress,
        top_k=top_k,
        coord_start=coord_start,
        score_index=score_index,
        id_index=id_index,
        return_indices=return_indices,
        invalid_to_bottom=invalid_to_bottom,
    )
    return TupleWrapper(call, 2) if return_indices else call


def _all_class_non_max_suppression(
    boxes,
    scores,
    max_output_boxes_per_class=-1,
    iou_threshold=-1.0,
    score_threshold=-1.0,
    output_format="onnx",
):
    """Returns (positions, count), or (positions, scores, count) for "tensorflow"."""
    limits = [number(max_output_boxes_per_class, "int64")]
    limits += [number(threshold, "float32") for threshold in (iou_threshold, score_threshold)]
    call = op_call("vision.all_class_non_max_suppression", [boxes, scores, *limits], output_format=output_format)
    return TupleWrapper(call, 2 if output_format == "onnx" else 3)


def _regular_non_max_suppression(
    boxes, scores, max_detections_per_class, max_detections, num_classes, iou_threshold, score_threshold
):
    """Returns (boxes, classes, scores, count)."""
    call = op_call(
        "vision.regular_non_max_suppression",
        [boxes, scores],
        max_detections_per_class=max_detections_per_class,
        max_detections=max_detections,
        num_classes=num_classes,
        iou_threshold=iou_threshold,
        score_threshold=score_threshold,
    )
    return TupleWrapper(call, 4)


FUNCTIONS = {
    "vision.all_class_non_max_suppression": _all_class_non_max_suppression,
    "vision.get_valid_counts": _get_valid_counts,
    "vision.multibox_transform_loc": _multibox_transform_loc,
    "vision.non_max_suppression": _non_max_suppression,
    "vision.regular_non_max_suppression": _regular_non_max_suppression,
}
