"""Pools over windows, with the rules of several frameworks for the last window and for the padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import op
from ..._core import Constant, Expr
from .expressions import bounded, dtype_of, known, shape_of
from .problems import Refused
from .windows import POOLS, layout

MOST_WINDOWS = 1 << 24  # along an axis


def positions(size: int, window: int, stride: int, before: int, after: int, rounding: str) -> int:
    """Returns the number of windows along an axis. rounding: "floor", "ceil", or "caffe": "ceil", but no window begins
    behind the image."""
    reach = size + before + after - window
    if reach < 0 and rounding == "floor":
        raise Refused(f"a window of {window} is larger than its image of {size} with padding")
    count = (reach if rounding == "floor" else reach + stride - 1) // stride + 1
    if rounding == "caffe" and (before or after) and (count - 1) * stride >= size + before:
        count -= 1
    return bounded(max(count, 1), MOST_WINDOWS, "the number of its windows along an axis")


def pool(
    x: Expr,
    kind: str,
    window: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    rounding: str = "floor",
    counts: str = "padded",
) -> Expr:
    """Returns the maxima or means of windows of (N, C, ..).

    kind: "max" or "avg". counts: the divisor of a mean. "inside": the elements inside of the image; "padded": those
    inside of the padded image; "all": all elements of a window.
    """
    rank = len(window)
    if len(shape_of(x)) != rank + 2:
        raise Refused(f"its input has {len(shape_of(x))} axes, not {rank + 2}")
    after, more, shares = list(after), False, []
    if rounding != "floor":
        sizes = [known(one, "the last window of a pool") for one in shape_of(x)[2:]]
        for axis, (n, k, s, b) in enumerate(zip(sizes, window, strides, before, strict=True)):
            count = positions(n, k, s, b, after[axis], rounding)
            begins = np.arange(count) * s - b
            inside = np.minimum(begins + k, n + after[axis]) - begins
            shares.append(np.where(inside > 0, k / np.maximum(inside, 1), 0))
            more |= bool((inside != k).any())
            after[axis] = max(after[axis], (count - 1) * s + k - n - b)
    how = {"count_include_pad": counts != "inside"} if kind == "avg" else {}
    made = POOLS[kind][rank](
        x, pool_size=list(window), strides=list(strides), padding=[*before, *after], layout=layout(rank, True), **how
    )
    if kind != "avg" or counts != "padded" or not more:
        return made
    factor = np.ones([1] * rank)
    for axis, share in enumerate(shares):
        factor = factor * share.reshape([-1 if axis == one else 1 for one in range(rank)])
    return op.multiply(made, Constant(factor.astype(dtype_of(x))))
