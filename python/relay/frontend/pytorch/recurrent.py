"""Recurrent networks: each layer is nn.lstm, nn.gru or nn.rnn.

PyTorch's gates stand in another order than Relay's, which is ONNX's.
"""

from __future__ import annotations

from ... import op
from ..._core import TupleGetItem
from .conversion import Conversion, Refused


def _rows(value, begin: int, end: int):
    return op.strided_slice(value, begin=[begin], end=[end], strides=[1], axes=[0])


def _reordered(value, order):
    if len(order) == 1:
        return value
    parts = op.split(value, indices_or_sections=len(order), axis=0)
    return op.concatenate([TupleGetItem(parts, k) for k in order], axis=0)


def _layers(c: Conversion, run, order, states):
    """`run(data, weights, state)` is a layer; `states`: those of all layers before the first step."""
    if c("train") and c("dropout"):
        raise Refused("dropout between the layers of a recurrent network in training is not supported")
    layers, directions = c("num_layers"), 2 if c("bidirectional") else 1
    params = c("params")
    each = len(params) // (layers * directions)  # weights, biases, and a projection, which has no gates
    gated = 4 if c("has_biases") else 2
    reordered = [_reordered(p, order) if k % each < gated else p for k, p in enumerate(params)]
    data = op.transpose(c("input"), axes=[1, 0, 2]) if c("batch_first") else c("input")
    last = []
    for layer in range(layers):
        begin, end = layer * directions, (layer + 1) * directions
        weights = reordered[begin * each : end * each]
        result = run(data, weights, [_rows(s, begin, end) for s in states], each > gated)
        data = op.reshape(op.transpose(TupleGetItem(result, 0), axes=[0, 2, 1, 3]), newshape=[0, 0, -1])
        last.append([TupleGetItem(result, 1 + k) for k in range(len(states))])
    output = op.transpose(data, axes=[1, 0, 2]) if c("batch_first") else data
    stacked = [op.concatenate(list(of), axis=0) if layers > 1 else of[0] for of in zip(*last, strict=True)]
    return [output, *stacked]


def _common(c: Conversion) -> dict:
    return {"direction": "bidirectional" if c("bidirectional") else "forward", "bias": bool(c("has_biases"))}


def lstm(c: Conversion):
    def run(data, weights, state, projection):
        return op.nn.lstm(data, weights, state, projection=projection, **_common(c))

    return _layers(c, run, [0, 3, 1, 2], c("hx"))


def gru(c: Conversion):
    def run(data, weights, state, _):
        return op.nn.gru(data, weights, state, linear_before_reset=True, **_common(c))

    return _layers(c, run, [1, 0, 2], [c("hx")])


def rnn(activation: str):
    def convert(c: Conversion):
        def run(data, weights, state, _):
            return op.nn.rnn(data, weights, state, activations=activation, **_common(c))

        return _layers(c, run, [0], [c("hx")])

    return convert
