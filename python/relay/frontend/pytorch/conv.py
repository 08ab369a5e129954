"""Convolutions."""

from __future__ import annotations

from ... import op
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
    result = (_TRANSPOSED if transposed else _FORWARD)[rank](data, c("weight"), **how)
    result = op.nn.bias_add(result, c("bias"), axis=1) if c.has("bias") else result
    return result if batched else op.squeeze(result, axis=[0])
