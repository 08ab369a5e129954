"""Layers of neural networks that multiply: convolutions, pools, products, tables."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import bounded, known, shape_of
from ..shared.pool import pool
from ..shared.problems import Refused
from ..shared.products import batched
from . import windows
from .conversion import Layer
from .image import as_images, restored

_MOST = 1 << 31


def _numbers(c: Layer, name: str, rank: int, otherwise: int = 1) -> list[int]:
    found = [int(one) for one in getattr(c.p, name)]
    return windows.checked(name, found or [otherwise] * rank, rank, 1)


def amounts(about, rank: int) -> tuple[list[int], list[int]]:
    """Returns the numbers of a BorderAmounts message, before and after each axis."""
    found = about.borderAmounts if about is not None else []
    if not found:
        return [0] * rank, [0] * rank
    before = windows.checked("startEdgeSize", [one.startEdgeSize for one in found], rank, 0)
    return before, windows.checked("endEdgeSize", [one.endEdgeSize for one in found], rank, 0)


def _padding(c: Layer, sizes: list, window: list, strides: list, dilation: list):
    """Returns the padding before and after each axis of space."""
    rank = len(window)
    if c.p.has("same"):
        kind = "same_lower" if c.p.same.asymmetryMode == 1 else "same"
        return windows.padding(kind, [], sizes, window, strides, dilation)
    return amounts(c.p.valid.paddingAmounts if c.p.has("valid") else None, rank)


def convolution(c: Layer):
    p = c.p
    window, strides, dilation = (_numbers(c, one, 2, other) for one, other in (
        ("kernelSize", 3), ("stride", 1), ("dilationFactor", 1)))  # fmt: skip
    groups = max(p.nGroups, 1)
    x, lead = as_images(c.x)
    made = _convolved(c, x, window, strides, dilation, groups, p.outputChannels, p.kernelChannels,
                      [int(one) for one in p.outputShape])  # fmt: skip
    return restored(made, lead)


def _kernel(c: Layer, shape: list[int]) -> Expr:
    """Returns the kernel: weights of the file, or the second input."""
    bounded(int(np.prod(shape, dtype=object)), _MOST, "the number of its weights")
    if len(c.inputs) > 1:
        found = c.input(1)
        if shape_of(found) != shape:
            raise Refused(f"the kernel has the shape {shape_of(found)}, not {shape}")
        return found
    return c.constant(c.weights("weights", shape))


def _convolved(c: Layer, x: Expr, window, strides, dilation, groups: int, outputs: int, inputs: int, sizes) -> Expr:
    has_bias = c.p.hasBias
    bias = c.constant(c.weights("bias", [outputs])) if has_bias else None
    space = shape_of(x)[2:]
    if not c.p.isDeconvolution:
        before, after = _padding_of(c, space, window, strides, dilation)
        kernel = _kernel(c, [outputs, inputs, *window])
        made = windows.convolution(x, kernel, strides, before, after, dilation, groups, outputs)
        return windows.with_bias(made, bias)
    if outputs % groups:
        raise Refused(f"it has {outputs} channels in {groups} groups", "take the weights of this network")
    kernel = _kernel(c, [inputs, outputs // groups, *window])
    before, after = [0] * len(window), [0] * len(window)
    wanted = sizes or None
    if _is_same(c):
        before, after, given = windows.same_transposed(space, window, strides, dilation)
        wanted = wanted or given
    elif not wanted:
        before, after = _padding_of(c, space, window, strides, dilation)
    else:
        before, after = _cut(space, window, strides, dilation, windows.checked("outputShape", sizes, len(window), 1))
    made = windows.transposed(x, kernel, strides, before, after, dilation, groups, outputs, wanted)
    return windows.with_bias(made, bias)


def _cut(space, window, strides, dilation, sizes) -> tuple[list[int], list[int]]:
    """Returns the numbers that are cut off a transposed convolution, so that its result has these sizes."""
    before, after = [], []
    for size, k, s, d, wanted in zip(space, window, strides, dilation, sizes, strict=True):
        total = max((known(size, "the size of the result") - 1) * s + (k - 1) * d + 1 - wanted, 0)
        before.append(total // 2)
        after.append(total - total // 2)
    return before, after


def _is_same(c: Layer) -> bool:
    return c.p.paddingType == 2 if c.node.kind == "convolution3d" else c.p.has("same")


def _padding_of(c: Layer, space, window, strides, dilation):
    if c.node.kind != "convolution3d":
        return _padding(c, space, window, strides, dilation)
    return _padding3d(c, space, window, strides, dilation)


_FRONTS, _BACKS = ("Front", "Top", "Left"), ("Back", "Bottom", "Right")


def _padding3d(c: Layer, space, window, strides, dilation):
    kind = c.enum("paddingType", ("custom", "valid", "same"))
    pads = [getattr(c.p, f"customPadding{one}") for pair in zip(_FRONTS, _BACKS, strict=True) for one in pair]
    return windows.padding(kind, pads, space, window, strides, dilation)


def _each(c: Layer, name: str, otherwise: int) -> list[int]:
    found = [getattr(c.p, f"{name}{one}") or otherwise for one in ("Depth", "Height", "Width")]
    return windows.checked(name, found, 3, 1)


def convolution3d(c: Layer):
    p = c.p
    window, strides, dilation = _each(c, "kernel", 3), _each(c, "stride", 1), _each(c, "dilation", 1)
    groups = max(p.nGroups, 1)
    c.with_rank(5)
    inputs = p.inputChannels if p.isDeconvolution else p.inputChannels // groups
    return _convolved(c, c.x, window, strides, dilation, groups, p.outputChannels, inputs,
                      [int(one) for one in p.outputShape])  # fmt: skip


def pooling(c: Layer):
    kind = c.enum("type", ("max", "avg", "l2"))
    x, lead = as_images(c.x)
    if c.p.globalPooling:
        if kind == "l2":
            return restored(op.sqrt(op.sum(op.multiply(x, x), axis=[2, 3], keepdims=True)), lead)
        return restored((op.max if kind == "max" else op.mean)(x, axis=[2, 3], keepdims=True), lead)
    window, strides = _numbers(c, "kernelSize", 2, 3), _numbers(c, "stride", 2)
    rounding = "floor"
    if c.p.has("includeLastPixel"):
        rounding = "caffe"
        pads = [int(one) for one in c.p.includeLastPixel.paddingAmounts] or [0, 0]
        before = after = windows.checked("paddingAmounts", pads, 2, 0)
    else:
        before, after = _padding(c, shape_of(x)[2:], window, strides, [1, 1])
    if kind == "l2":
        return restored(windows.l2_pool(x, window, strides, before, after, rounding), lead)
    # The last pixels of windows that reach beyond the padding count as none.
    counts = "inside" if kind == "avg" and c.p.avgPoolExcludePadding else "padded"
    return restored(pool(x, kind, window, strides, before, after, rounding, counts), lead)


def pooling3d(c: Layer):
    kind = c.enum("type", ("max", "avg"))
    window, strides = _each(c, "kernel", 1), _each(c, "stride", 1)
    before, after = _padding3d(c, c.with_rank(5) and c.shape[2:], window, strides, [1, 1, 1])
    counts = "inside" if kind == "avg" and c.p.countExcludePadding else "padded"
    return pool(c.x, kind, window, strides, before, after, "floor", counts)


def global_pooling3d(c: Layer):
    c.with_rank(5)
    return (op.max if c.enum("type", ("max", "avg")) == "max" else op.mean)(c.x, axis=[2, 3, 4], keepdims=True)


# --- products ---------------------------------------------------------------------------------------------------------
def inner_product(c: Layer):
    """Rows of C features: the last axis, or the axis of channels of (.., C, 1, 1)."""
    p, sizes = c.p, c.shape
    bounded(p.inputChannels * p.outputChannels, _MOST, "the number of its weights")
    weights = c.constant(c.weights("weights", [p.outputChannels, p.inputChannels]))
    is_image = c.rank >= 4 and sizes[-2:] == [1, 1] and sizes[-3] == p.inputChannels
    flat = op.reshape(c.x, [-1, p.inputChannels])
    made = op.nn.dense(flat, weights, units=p.outputChannels)
    if p.hasBias:
        made = op.nn.bias_add(made, c.constant(c.weights("bias", [p.outputChannels])), axis=-1)
    if is_image:
        return op.reshape(made, [*sizes[:-3], p.outputChannels, 1, 1])
    return op.reshape(made, [*sizes[:-1], p.outputChannels])


def _table(c: Layer, rows: int, columns: int) -> np.ndarray:
    bounded(rows * columns, _MOST, "the number of its weights")
    table = c.weights("weights", [columns, rows]).T
    return table + c.weights("bias", [columns]) if c.p.hasBias else table


def embedding(c: Layer):
    """Rows of a table, (.., 1, 1, 1) to (.., C, 1, 1)."""
    table = c.constant(_table(c, c.p.inputDim, c.p.outputChannels))
    sizes = c.shape
    if c.rank < 4:
        raise Refused(f"its input has {c.rank} axes, not four or five")
    made = op.take(table, op.cast(op.reshape(c.x, sizes[:-3]), "int32"), axis=0, mode="clip")
    return op.reshape(made, [*sizes[:-3], c.p.outputChannels, 1, 1])


def embedding_nd(c: Layer):
    """Rows of a table, (.., 1) to (.., C)."""
    table = c.constant(_table(c, c.p.vocabSize, c.p.embeddingSize))
    if c.shape[-1] != 1:
        raise Refused(f"the last axis of its input has {c.shape[-1]} elements, not one")
    return op.take(table, op.cast(op.squeeze(c.x, axis=[c.rank - 1]), "int32"), axis=0, mode="clip")


def batched_matmul(c: Layer):
    """Products of matrices; a vector is a row if it is the first input, else a column. Core ML takes no notice of the
    transpositions if the second matrix is in the layer, where its columns come one after another."""
    p = c.p
    if len(c.inputs) == 1:
        rows, columns = p.weightMatrixFirstDimension, p.weightMatrixSecondDimension
        bounded(rows * columns, _MOST, "the number of its weights")
        x = op.reshape(c.x, [1, -1]) if c.rank == 1 else c.x
        made = batched(x, c.constant(c.weights("weights", [columns, rows])), False, True)
        made = op.add(made, c.constant(c.weights("bias", [columns]))) if p.hasBias else made
        return op.squeeze(made, axis=[0]) if c.rank == 1 else made
    a, b = c.counted(2)
    ranks = c.rank, len(shape_of(b))
    a = op.reshape(a, [1, -1]) if ranks[0] == 1 else a
    b = op.reshape(b, [-1, 1]) if ranks[1] == 1 else b
    return batched(a, b, p.transposeA and ranks[0] > 1, p.transposeB and ranks[1] > 1)
