"""Convolutions."""

from __future__ import annotations

from ... import op
from . import quantized
from .conversion import Conversion, Refused

_FORWARD = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSED = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}


def _each(value, rank: int) -> list[int]:
    value = [value] if isinstance(value, int) else list(value)
    return value * rank if len(value) == 1 else value


def _padding(c: Conversion, rank: int, kernel: list, dilation: list) -> list[int]:
    given = c("padding")
    if given == "valid":
        return [0] * rank
    if given == "same":
        whole = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return [one // 2 for one in whole] + [one - one // 2 for one in whole]
    return _each(given, rank)


def convolution(c: Conversion):
    rank = c.rank("weight") - 2
    if rank not in _FORWARD:
        raise Refused(f"a convolution over {rank} axes")
    batched = c.rank("input") == rank + 2
    data = c("input") if batched else op.expand_dims(c("input"), axis=0)
    transposed = "transposed" in c._raw and c("transposed") or "transpose" in str(c.node.target)
    weight = [int(one) for one in c.shape("weight")]
    dilation = _each(c("dilation"), rank)
    how = {
        "strides": _each(c("stride"), rank),
        "padding": _padding(c, rank, weight[2:], dilation),
        "dilation": dilation,
        "groups": c("groups"),
        "channels": weight[1] * c("groups") if transposed else weight[0],
        "kernel_size": weight[2:],
    }
    if transposed:
        how["output_padding"] = _each(c("output_padding"), rank)
    pair = quantized.pair(c("input"), c("weight"), 1 if transposed else 0) if rank == 2 and batched else None
    if pair is not None and not (transposed and c("groups") > 1):
        function = op.qnn.conv2d_transpose if transposed else op.qnn.conv2d
        integers = [one.integers for one in pair]
        result = quantized.of_sum(function(*integers, *quantized.parameters(*pair), **how), *pair, axis=1)
    else:
        result = (_TRANSPOSED if transposed else _FORWARD)[rank](data, c("weight"), **how)
    result = op.nn.bias_add(result, c("bias"), axis=1) if c.has("bias") else result
    return result if batched else op.squeeze(result, axis=[0])


def convolution_backward(c: Conversion):
    """The gradients of a convolution's input, weight and bias, as far as output_mask asks for them."""
    rank = c.rank("weight") - 2
    if rank not in (1, 2):
        raise Refused(f"the gradient of a convolution over {rank} axes")
    # One axis is two, of which the first has one place.
    lifted = [[1, 1], [0, 0], [1, 1]] if rank == 1 else [[], [], []]
    one_more = (lambda value: op.expand_dims(value, axis=2)) if rank == 1 else (lambda value: value)
    ones_less = (lambda value: op.squeeze(value, axis=[2])) if rank == 1 else (lambda value: value)
    strides, padding, dilation = (
        [*extra[:1], *_each(c(name), rank)]
        for extra, name in zip(lifted, ("stride", "padding", "dilation"), strict=True)
    )
    grad, data, weight = (one_more(c(name)) for name in ("grad_output", "input", "weight"))
    sizes = {
        name: [*c.shape(name)[:2], *lifted[0][:1], *c.shape(name)[2:]] for name in ("grad_output", "input", "weight")
    }
    kernel = [int(extent) for extent in sizes["weight"][2:]]
    how = {"strides": strides, "padding": padding, "dilation": dilation, "groups": c("groups"), "kernel_size": kernel}
    for_data, for_weight, for_bias = c("output_mask")
    results = [None, None, None]
    if for_data and c("transposed"):
        results[0] = op.nn.conv2d(grad, weight, channels=sizes["weight"][0], **how)
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


def _rows_that_no_window_reaches(sizes: dict, strides, padding, dilation) -> list[int]:
    """At the end of each axis of the data: (n + 2 p - d (k - 1) - 1) - (out - 1) s."""
    left = []
    for axis, (s, p, d) in enumerate(zip(strides, padding, dilation, strict=True), 2):
        extent, out, kernel = (sizes[name][axis] for name in ("input", "grad_output", "weight"))
        if isinstance(extent, int) and isinstance(out, int):
            left.append(extent + 2 * p - d * (kernel - 1) - 1 - (out - 1) * s)
        elif s == 1:
            left.append(0)
        else:
            raise Refused("the gradient of a convolution in steps over images whose size is not known before the run")
    return left
