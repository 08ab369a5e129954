"""Recurrent networks: nn.lstm, nn.gru and nn.rnn.

The order of gates differs between PyTorch and Relay, which uses ONNX's.
"""

from __future__ import annotations

from ... import op
from ..._core import TupleGetItem
from .conversion import IN_EVALUATION, Conversion, Refused


def _reordered(value, order):
    if len(order) == 1:
        return value
    parts = op.split(value, indices_or_sections=len(order), axis=0)
    return op.concatenate([TupleGetItem(parts, k) for k in order], axis=0)


def _recurrent(c: Conversion, operator, order, states, **attrs):
    """Imports the layers of a network. `states` are the states of all layers before the first step."""
    if c("train") and c("dropout"):
        raise Refused(
            "dropout between the layers of a recurrent network in training is not supported", help=IN_EVALUATION
        )
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


_LSTM = [0, 3, 1, 2]


def lstm(c: Conversion):
    return _recurrent(c, op.nn.lstm, _LSTM, c("hx"))


def lstm_layer(c: Conversion):
    """Imports mkldnn_rnn_layer, to which AOTAutograd converts each layer and direction of an LSTM, and nothing else."""
    names = ["weight0", "weight1", "weight2", "weight3"][: 4 if c("has_biases") else 2]
    weights = [_reordered(c(name), _LSTM) for name in names]
    direction = "reverse" if c("reverse") else "forward"
    result = op.nn.lstm(c("input"), weights, [c("hx_"), c("cx_")], direction=direction, bias=bool(c("has_biases")))
    output = op.squeeze(TupleGetItem(result, 0), axis=[1])
    return [output, TupleGetItem(result, 1), TupleGetItem(result, 2), op.zeros(shape=[0], dtype="uint8")]


def gru(c: Conversion):
    return _recurrent(c, op.nn.gru, [1, 0, 2], [c("hx")], linear_before_reset=True)


def rnn(activation: str):
    return lambda c: _recurrent(c, op.nn.rnn, [0], [c("hx")], activations=activation)
