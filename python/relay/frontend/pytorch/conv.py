"""Convolutions."""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import op
from ...ir.expr import const
from ..shared.windows import CONVOLUTIONS, TRANSPOSED
from . import quantized
from .conversion import Conversion, Refused, UnknownSize, each, number


def _padding(c: Conversion, rank: int, kernel: list, dilation: list) -> list[int]:
    given = c("padding")
    if given == "valid":
        return [0] * rank
    if given == "same":
        if not all(isinstance(one, int) for one in kernel):
            raise UnknownSize("padding that keeps the size, for a window whose size is known only at run time")
        whole = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return [one // 2 for one in whole] + [one - one // 2 for one in whole]
    return each(given, rank)


def convolution(c: Conversion):
    rank = c.rank("weight") - 2
    if rank not in CONVOLUTIONS:
        raise Refused(f"a convolution over {rank} axes")
    batched = c.rank("input") == rank + 2
    data = c("input") if batched else op.expand_dims(c("input"), axis=0)
    transposed = "transposed" in c._raw and c("transposed") or "transpose" in str(c.node.target)
    weight = c.shape("weight")
    dilation = each(c("dilation"), rank)
    how = {
        "strides": each(c("stride"), rank),
        "padding": _padding(c, rank, weight[2:], dilation),
        "dilation": dilation,
        "groups": c("groups"),
        "channels": weight[1] * c("groups") if transposed else weight[0],
        "kernel_size": weight[2:],
    }
    if not all(isinstance(one, int) for one in weight):  # both are read from its type
        how |= {"channels": None, "kernel_size": None}
    if transposed:
        how["output_padding"] = each(c("output_padding"), rank)
    pair = quantized.pair(c("input"), c("weight"), 1 if transposed else 0) if rank == 2 and batched else None
    if pair is not None and not (transposed and c("groups") > 1):
        function = op.qnn.conv2d_transpose if transposed else op.qnn.conv2d
        integers = [one.integers for one in pair]
        result = quantized.of_sum(function(*integers, *quantized.parameters(*pair), **how), *pair, axis=1)
    else:
        result = (TRANSPOSED if transposed else CONVOLUTIONS)[rank](data, c("weight"), **how)
    result = op.nn.bias_add(result, c("bias"), axis=1) if c.has("bias") else result
    return result if batched else op.squeeze(result, axis=[0])


def convolution_backward(c: Conversion):
    """Imports the gradients of a convolution's input, weight and bias that output_mask selects."""
    rank = c.rank("weight") - 2
    if rank not in (1, 2):
        raise Refused(f"the gradient of a convolution over {rank} axes")
    # A convolution over one axis becomes one over two, of which the first has size 1.
    lifted = [[1, 1], [0, 0], [1, 1]] if rank == 1 else [[], [], []]
    one_more = (lambda value: op.expand_dims(value, axis=2)) if rank == 1 else (lambda value: value)
    ones_less = (lambda value: op.squeeze(value, axis=[2])) if rank == 1 else (lambda value: value)
    strides, padding, dilation = (
        [*extra[:1], *each(c(name), rank)]
        for extra, name in zip(lifted, ("stride", "padding", "dilation"), strict=True)
    )
    grad, data, weight = (one_more(c(name)) for name in ("grad_output", "input", "weight"))
    sizes = {
        name: [*c.shape(name)[:2], *lifted[0][:1], *c.shape(name)[2:]] for name in ("grad_output", "input", "weight")
    }
    kernel = sizes["weight"][2:]
    if not all(isinstance(extent, int) for extent in sizes["weight"]):
        raise UnknownSize("the gradient of a convolution whose weight has sizes that are known only at run time")
    how = {"strides": strides, "padding": padding, "dilation": dilation, "groups": c("groups"), "kernel_size": kernel}
    for_data, for_weight, for_bias = c("output_mask")
    results = [None, None, None]
    if for_data and c("transposed"):
        results[0] = op.nn.conv2d(grad, weight, channels=sizes["weight"][0], **how)
    elif for_data and (phases := _phases(c, sizes, strides, padding, dilation)):
        results[0] = _in_phases(c, grad, weight, sizes, padding, phases)
    elif for_data:
        left = _rows_that_no_window_reaches(sizes, strides, padding, dilation)
        channels = sizes["weight"][1] * c("groups")
        results[0] = op.nn.conv2d_transpose(grad, weight, channels=channels, output_padding=left, **how)
    if for_weight:
        pair = (data, grad) if c("transposed") else (grad, data)
        results[1] = op.nn.conv2d_backward_weight(*pair, **how)
    results[:2] = [None if one is None else ones_less(one) for one in results[:2]]
    if for_bias:
        results[2] = op.sum(c("grad_output"), axis=[0, *range(2, 2 + rank)])
    return results


@dataclasses.dataclass(frozen=True)
class Phase:
    """The taps that reach the positions i of an axis with (i + padding) mod stride = r, last first."""

    taps: list[int]
    before: int  # zeros before and after the gradient
    after: int


def _phases(c: Conversion, sizes: dict, strides, padding, dilation) -> list[list[Phase]] | None:
    """Returns the phases by axis in which the gradient of a strided convolution is made of ordinary convolutions, or
    None if it is not.

    With i + p = s q + r, position i gets sum(j) grad[q - j] weight[r + s j]: a convolution of the gradient with every
    s-th tap. A transposed convolution would multiply s s times as many zeros.
    """
    extents = [extent for name in ("grad_output", "input") for extent in sizes[name][2:]]
    if max(strides) == 1 or max(dilation) > 1 or c("groups") > 1 or not all(isinstance(e, int) for e in extents):
        return None
    axes = []
    for axis, (s, p) in enumerate(zip(strides, padding, strict=True), 2):
        extent, out, kernel = (sizes[name][axis] for name in ("input", "grad_output", "weight"))
        places = (extent - 1 + p) // s + 1
        taps = [list(range(r, kernel, s))[::-1] for r in range(s)]
        if places < out:
            return None
        axes.append([Phase(one, max(len(one) - 1, 0), places - out) for one in taps])
    return axes


def _in_phases(c: Conversion, grad, weight, sizes: dict, padding, phases: list[list[Phase]]):
    """Interleaves the phases, and removes the padding."""
    places = [sizes["grad_output"][axis + 2] + phases[axis][0].after for axis in range(2)]
    flipped = op.transpose(weight, axes=[1, 0, 2, 3])

    def phase(y: Phase, x: Phase):
        if not y.taps or not x.taps:
            return op.full(number(0, c.dtype), shape=[*sizes["input"][:2], *places])
        taps = op.take(flipped, const(np.array(y.taps)), axis=2, mode="checked")
        taps = op.take(taps, const(np.array(x.taps)), axis=3, mode="checked")
        around = [y.before, x.before, y.after, x.after]
        kernel = [len(y.taps), len(x.taps)]
        return op.nn.conv2d(grad, taps, padding=around, channels=sizes["weight"][1], kernel_size=kernel)

    whole = op.stack([op.stack([phase(y, x) for x in phases[1]], axis=4) for y in phases[0]], axis=3)
    shape = [*sizes["input"][:2], *(one * len(phase) for one, phase in zip(places, phases, strict=True))]
    whole = op.reshape(whole, newshape=shape)
    end = [p + extent for p, extent in zip(padding, sizes["input"][2:], strict=True)]
    return op.strided_slice(whole, begin=list(padding), end=end, axes=[2, 3])


def _rows_that_no_window_reaches(sizes: dict, strides, padding, dilation) -> list[int]:
    """Returns the size of the unused end of each axis of the data: (n + 2 p - d (k - 1) - 1) - (out - 1) s."""
    left = []
    for axis, (s, p, d) in enumerate(zip(strides, padding, dilation, strict=True), 2):
        extent, out, kernel = (sizes[name][axis] for name in ("input", "grad_output", "weight"))
        if isinstance(extent, int) and isinstance(out, int):
            left.append(extent + 2 * p - d * (kernel - 1) - 1 - (out - 1) * s)
        elif s == 1:
            left.append(0)
        else:
            raise UnknownSize("the gradient of a convolution in steps over images whose size is known only at run time")
    return left
