"""Convolutions and pools of neural networks and ML programs, on (N, C, ..)."""

from __future__ import annotations

import math

from ... import op
from ..._core import Expr
from ..shared.expressions import cast, known, shape_of
from ..shared.node import MOST_WINDOW
from ..shared.pool import pool
from ..shared.problems import Refused
from ..shared.windows import CONVOLUTIONS, TRANSPOSED, same_padding
from .conversion import Operation
from .functions import n


def checked(name: str, found: list, rank: int, least: int) -> list[int]:
    """Returns numbers for each axis of space."""
    if len(found) != rank or any(not least <= one <= MOST_WINDOW for one in found):
        raise Refused(f"`{name}` is {found[:8]}, not {rank} numbers from {least} to {MOST_WINDOW}")
    return [int(one) for one in found]


def padding(kind: str, given: list[int], sizes: list, window: list, strides: list, dilation: list):
    """Returns the padding before and after each axis of space. kind: valid, custom, same, same_lower; with a custom one
    `given` has the numbers before and after the first axis, then those of the next."""
    rank = len(window)
    if kind == "valid":
        return [0] * rank, [0] * rank
    if kind == "custom":
        given = checked("pad", given, 2 * rank, 0)
        return given[::2], given[1::2]
    if kind not in ("same", "same_lower"):
        raise Refused(f"the padding {kind!r} is not known")
    made = same_padding(sizes, window, strides, dilation)
    before, after = made[:rank], made[rank:]
    return (before, after) if kind == "same" else (after, before)


def convolution(x: Expr, kernel: Expr, strides, before, after, dilation, groups: int, channels: int) -> Expr:
    rank = len(strides)
    if rank not in CONVOLUTIONS or len(shape_of(x)) != rank + 2:
        raise Refused(f"its input has {len(shape_of(x))} axes for windows of {rank}")
    inputs, found = known(shape_of(x)[1], "the kernel"), shape_of(kernel)
    if groups < 1 or inputs % groups or channels % groups or found[:2] != [channels, inputs // groups]:
        raise Refused(f"the kernel has the shape {found} for {inputs} channels in {groups} groups",
                      "take the weights of this network")  # fmt: skip
    return CONVOLUTIONS[rank](
        x, kernel, strides=strides, padding=[*before, *after], dilation=dilation, groups=groups, channels=channels,
        kernel_size=found[2:],
    )  # fmt: skip


def transposed(x: Expr, kernel: Expr, strides, before, after, dilation, groups: int, channels: int, sizes) -> Expr:
    """Returns a transposed convolution. sizes: those of the result along the axes of space, or None."""
    rank = len(strides)
    if rank not in TRANSPOSED or len(shape_of(x)) != rank + 2:
        raise Refused(f"its input has {len(shape_of(x))} axes for windows of {rank}")
    inputs, found = known(shape_of(x)[1], "the kernel"), shape_of(kernel)
    if groups < 1 or inputs % groups or channels % groups or found[:2] != [inputs, channels // groups]:
        raise Refused(f"the kernel has the shape {found} for {inputs} channels in {groups} groups",
                      "take the weights of this network")  # fmt: skip
    after, more = list(after), [0] * rank
    if sizes is not None:
        own = [known(one, "the size of the result") for one in shape_of(x)[2:]]
        for axis, wanted in enumerate(sizes):
            whole = (own[axis] - 1) * strides[axis] + (found[2 + axis] - 1) * dilation[axis] + 1
            left = whole - before[axis] - after[axis] - wanted
            after[axis] += max(left, 0)
            more[axis] = max(-left, 0)
    if any(one >= stride and one for one, stride in zip(more, strides, strict=True)):
        raise Refused(f"the result is {max(more)} larger than the windows reach", "leave out its output shape")
    return TRANSPOSED[rank](
        x, kernel, strides=strides, padding=[*before, *after], output_padding=more, dilation=dilation, groups=groups,
        channels=channels, kernel_size=found[2:],
    )  # fmt: skip


def same_transposed(sizes: list, window: list, strides: list, dilation: list) -> tuple[list[int], list[int], list[int]]:
    """Returns the padding before and after of a transposed convolution whose result is the image times the strides, and
    the sizes of its result."""
    before, after, wanted = [], [], []
    for size, k, s, d in zip(sizes, window, strides, dilation, strict=True):
        size = known(size, "a transposed convolution")
        total = max((size - 1) * s + (k - 1) * d + 1 - size * s, 0)
        before.append(total // 2)
        after.append(total - total // 2)
        wanted.append(size * s)
    return before, after, wanted


def with_bias(made: Expr, bias: Expr | None) -> Expr:
    return made if bias is None else op.nn.bias_add(made, bias, axis=1)


# --- operations of ML programs ----------------------------------------------------------------------------------------
def _window(c: Operation, kernel: list):
    """Returns strides, padding before and after, dilation, groups."""
    rank = len(kernel)
    strides = checked("strides", c.ints("strides", [1] * rank), rank, 1)
    dilation = checked("dilations", c.ints("dilations", [1] * rank), rank, 1)
    return strides, dilation, c.count("groups", 1)


def conv(c: Operation):
    kernel = c.shape_of("weight")
    strides, dilation, groups = _window(c, kernel[2:])
    kind, pad = c.text("pad_type", "valid"), c.ints("pad", [0] * 2 * len(strides))
    before, after = padding(kind, pad, c.shape[2:], kernel[2:], strides, dilation)
    made = convolution(c.x, cast(c.expr("weight"), c.dtype), strides, before, after, dilation, groups, kernel[0])
    return with_bias(made, _bias(c, kernel[0]))


def _bias(c: Operation, channels: int) -> Expr | None:
    if not c.has("bias"):
        return None
    if c.shape_of("bias") not in ([channels], [1]):
        raise Refused(f"the bias has the shape {c.shape_of('bias')} for {channels} channels")
    bias = cast(c.expr("bias"), c.dtype)
    return bias if c.shape_of("bias") == [channels] else op.broadcast_to(bias, shape=[channels])


def conv_transpose(c: Operation):
    kernel = c.shape_of("weight")
    rank = len(kernel) - 2
    strides, dilation, groups = _window(c, kernel[2:])
    channels = kernel[1] * groups
    kind, pad = c.text("pad_type", "valid"), c.ints("pad", [0] * 2 * rank)
    sizes = c.sizes("output_shape", []) or None
    if sizes is not None:
        sizes = sizes[-rank:]
    if kind in ("same", "same_lower"):
        before, after, wanted = same_transposed(c.shape[2:], kernel[2:], strides, dilation)
        before, after = (before, after) if kind == "same" else (after, before)
        sizes = sizes or wanted
    else:
        before, after = padding(kind, pad, c.shape[2:], kernel[2:], strides, dilation)
    made = transposed(c.x, cast(c.expr("weight"), c.dtype), strides, before, after, dilation, groups, channels, sizes)
    return with_bias(made, _bias(c, channels))


def pooling(kind: str):
    """Returns the converter of a pool. kind: max, avg, l2."""

    def convert(c: Operation):
        window = c.ints("kernel_sizes")
        rank = len(window)
        window = checked("kernel_sizes", window, rank, 1)
        strides = checked("strides", c.ints("strides", [1] * rank), rank, 1)
        has_ceil, pad = c.flag("ceil_mode"), c.ints("pad", [0] * 2 * rank)
        before, after = padding(c.text("pad_type", "valid"), pad, c.shape[2:], window, strides, [1] * rank)
        counts = "inside" if kind == "avg" and c.flag("exclude_padding_from_average") else "padded"
        rounding = "caffe" if has_ceil else "floor"
        if kind != "l2":
            return pool(c.x, kind, window, strides, before, after, rounding, counts)
        return l2_pool(c.x, window, strides, before, after, rounding)

    return convert


def l2_pool(x: Expr, window, strides, before, after, rounding: str) -> Expr:
    """Returns the roots of the sums of squares of windows."""
    made = pool(op.multiply(x, x), "avg", window, strides, before, after, rounding, "all")
    return op.sqrt(op.multiply(made, n(made, math.prod(window))))
