"""Boxes that are chosen by score, without those that overlap better ones."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Constant, Expr, TupleGetItem
from ..shared.expressions import bounded, dtype_of, known, number, shape_of


def suppressed(boxes: Expr, scores: Expr, overlap: float, least: float, most: int, per_class: bool) -> list[Expr]:
    """Returns (boxes, scores, places, count) of the boxes that are kept, best first, with room for `most`.

    boxes: (B, N, 4) with centres, width and height. scores: (B, N, classes). The room that is left has zeros, and -1 as
    the place.
    """
    dtype = dtype_of(boxes)
    boxes, scores = op.cast(boxes, "float32"), op.cast(scores, "float32")
    batch, count, classes = (known(one, "the choice of boxes") for one in shape_of(scores))
    most = min(bounded(most, 1 << 20, "the number of boxes"), 1 << 20)
    best = op.max(scores, axis=[2])
    kind = op.cast(op.argmax(scores, axis=[2], keepdims=False), "float32")
    centre = op.strided_slice(boxes, begin=[0], end=[2], strides=[1], axes=[2])
    half = op.multiply(op.strided_slice(boxes, begin=[2], end=[4], strides=[1], axes=[2]), number(0.5, "float32"))
    corners = op.concatenate([op.subtract(centre, half), op.add(centre, half)], axis=2)
    rows = op.concatenate([op.expand_dims(kind, axis=2), op.expand_dims(best, axis=2), corners], axis=2)
    # Boxes below the least score get a score of which non_max_suppression takes no notice.
    sound = op.greater_equal(best, number(least, "float32"))
    order = op.argsort(op.where(sound, best, number(-np.inf, "float32")), axis=1, is_ascend=False, dtype="int32")
    spread = op.broadcast_to(op.expand_dims(order, axis=2), shape=[batch, count, 6])
    sorted_rows = op.gather(rows, 1, spread)
    valid = op.sum(op.cast(sound, "int32"), axis=[1])
    made = op.vision.non_max_suppression(
        sorted_rows, valid, order, number(most, "int32"), number(overlap, "float32"),
        force_suppress=not per_class, top_k=-1, coord_start=2, score_index=1, id_index=0, return_indices=True,
    )  # fmt: skip
    places, found = TupleGetItem(made, 0), op.reshape(TupleGetItem(made, 1), [batch])
    if count < most:
        places = op.nn.pad(places, [[0, 0], [0, most - count]], pad_value=-1)
    places = op.strided_slice(places, begin=[0], end=[most], strides=[1], axes=[1])
    found = op.minimum(op.cast(found, "int32"), number(most, "int32"))
    inside = op.less(Constant(np.arange(most, dtype=np.int32).reshape(1, -1)), op.expand_dims(found, axis=1))
    places = op.where(inside, places, number(-1, "int32"))
    results = []
    for values, width in ((boxes, 4), (scores, classes)):
        index = op.broadcast_to(op.expand_dims(op.maximum(places, number(0, "int32")), axis=2),
                                shape=[batch, most, width])  # fmt: skip
        kept = op.where(op.expand_dims(inside, axis=2), op.gather(values, 1, index), number(0.0, "float32"))
        results.append(op.cast(kept, dtype))
    return [*results, places, found]
