"""Suppression of overlapping boxes in cases that can be checked by hand, compiled and evaluated."""

import numpy as np
import pytest

import relay

# (class, score, x1, y1, x2, y2)
BOXES = np.array(
    [
        [
            [0, 0.8, 0, 0, 10, 10],
            [1, 0.7, 0, 0, 10, 10],  # the same place, another class
            [0, 0.6, 1, 0, 11, 10],  # overlaps the first by 9 / 11
            [0, 0.9, 50, 50, 60, 60],  # the best, alone
            [0, 0.5, 50, 50, 60, 60],  # invalid: only four are
        ]
    ],
    np.float32,
)


def run(expr, *arguments):
    module = relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr))
    results = [relay.create_executor(kind, mod=module).evaluate()(*arguments) for kind in ("debug", "graph")]
    tensors = [list(r) if isinstance(r, tuple | list) else [r] for r in results]
    for one, other in zip(*tensors, strict=True):
        np.testing.assert_array_equal(one, other)
    return tensors[0]


@pytest.mark.parametrize(
    ("attributes", "kept"),
    [
        ({}, [13, 10, 11]),
        ({"force_suppress": True}, [13, 10]),
        ({"iou_threshold": 0.9}, [13, 10, 11, 12]),
        ({"max_output_size": 2}, [13, 10]),
        ({"top_k": 1}, [13]),
        ({"iou_threshold": 0.0}, [10, 11, 12, 13]),
    ],
)
def test_kept_boxes_of_a_class(attributes, kept):
    data = relay.var("data", shape=BOXES.shape)
    count, indices = relay.var("count", shape=(1,), dtype="int32"), relay.var("indices", shape=(1, 5), dtype="int32")
    call = relay.vision.non_max_suppression(data, count, indices, **attributes)
    places, many = run(call.astuple(), BOXES, np.array([4], np.int32), np.arange(10, 15, dtype=np.int32)[None])
    assert places[0].tolist() == kept + [-1] * (5 - len(kept))
    assert many.tolist() == [[len(kept)]]


@pytest.mark.parametrize(("to_bottom", "ranks"), [(False, [3, 0, None, 2, None]), (True, [3, 0, 2, None, None])])
def test_kept_boxes_themselves(to_bottom, ranks):
    data = relay.var("data", shape=BOXES.shape)
    count, indices = relay.const(np.array([4], np.int32)), relay.const(np.zeros((1, 5), np.int32))
    attributes = {"iou_threshold": 0.9, "force_suppress": True, "return_indices": False}
    call = relay.vision.non_max_suppression(data, count, indices, **attributes, invalid_to_bottom=to_bottom)
    (found,) = run(call, BOXES)
    expected = [np.full(6, -1, np.float32) if k is None else BOXES[0, k] for k in ranks]
    np.testing.assert_array_equal(found[0], expected)


def test_all_classes():
    corners = BOXES[:, :, 2:]
    scores = np.array([[[0.1, 0.2, 0.9, 0.3, 0.4], [0.8, 0.1, 0.1, 0.1, 0.7]]], np.float32)
    boxes, given = relay.var("boxes", shape=corners.shape), relay.var("scores", shape=scores.shape)
    call = relay.vision.all_class_non_max_suppression(boxes, given, -1, 0.5, 0.15)
    places, many = run(call.astuple(), corners, scores)
    # Box 2 leaves out 0 and 1, box 4 box 3; of class 1 two are above the threshold.
    assert places[: many[0]].tolist() == [[0, 0, 2], [0, 0, 4], [0, 1, 0], [0, 1, 4]]
    assert not places[many[0] :].any()
    call = relay.vision.all_class_non_max_suppression(boxes, given, 1, 0.5, 0.15, output_format="tensorflow")
    places, best, many = run(call.astuple(), corners, scores)
    assert many.tolist() == [2]
    assert places[0, :2].tolist() == [[0, 2], [1, 0]]
    np.testing.assert_array_equal(best[0, :3], np.array([0.9, 0.8, 0], np.float32))
