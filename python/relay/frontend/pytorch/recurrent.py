"""Recurrent networks: nn.lstm, nn.gru and nn.rnn.

PyTorch's gates stand in another order than Relay's, which is ONNX's.
"""

from __future__ import annotations

from ... import op
from ..._core import TupleGetItem
from .conversion import Conversion, Refused


def _reordered(value, order):
    if len(order) == 1:
        return value
    parts = op.split(value, indices_or_sections=len(order), axis=0)
    return op.concatenate([TupleGetItem(parts, k) for k in order], axis=0)


def _recurrent(c: Conversion, operator, order, states, **attrs):
    """`states`: those of all layers before the first step."""
    if c("train") and c("dropout"):
        raise Refused("dropout between the layers of a recurrent network in training is not supported")
    layers, directions = c("num_layers"), 2 if c("bidirectional") else 1
    params = c("params")
    each = len(params) // (layers * directions)  # weights, biases, and a projection, which has no gates
    gated = 4 if c("has_biases") else 2
    weights = [_reordered(p, order) if k % each < gated else p for k, p in enumerate(params)]
    if each > gated:
        attrs["projection"] = True
    data = op.transpose(c("input"), axes=[1, 0, 2]) if c("batch_first") else c("input")
    attrs |= {"direction": "bidirectional" if c("bidirectional") else "forward", "bias": bool(c("has_biases"))}
    result = operator(data, weights, list(states), layers=layers, **attrs)
    axes = [2, 0, 1, 3] if c("batch_first") else [0, 2, 1, 3]
    output = op.reshape(op.transpose(TupleGetItem(result, 0), axes=axes), newshape=[0, 0, -1])
    return [output, *(TupleGetItem(result, 1 + k) for k in range(len(states)))]


def lstm(c: Conversion):
    return _recurrent(c, op.nn.lstm, [0, 3, 1, 2], c("hx"))


def gru(c: Conversion):
    return _recurrent(c, op.nn.gru, [1, 0, 2], [c("hx")], linear_before_reset=True)


def rnn(activation: str):
    return lambda c: _recurrent(c, op.nn.rnn, [0], [c("hx")], activations=activation)
