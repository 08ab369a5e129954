"""Recurrent layers of Caffe: RNN and LSTM over (steps, rows, ..), with a second input that is 0 where a sequence
begins."""

from __future__ import annotations

import math

from ... import op
from ..shared.expressions import bounded, known, shape_of
from ..shared.problems import Refused
from .conversion import CaffeLayer

MOST_STEPS = 1000  # each of which is imported


def _product(c: CaffeLayer, x, position: int, rows: int, name: str):
    inputs = known(shape_of(x)[1], "the layer")
    return op.nn.dense(x, c.weight(position, [rows, inputs], name), units=rows)


def _transformed(c: CaffeLayer, rows: int):
    """Returns the products of all steps with the input's weights and the bias, divided into steps, the rows that go on
    at each step, and the number of blobs that were read."""
    c.counted(2, 3)
    if c.flag("expose_hidden"):
        raise Refused("`expose_hidden` is not imported", "remove it")
    c.ignore("debug_info")
    sizes = c.sizes()
    steps, batch = bounded(sizes[0], MOST_STEPS, "the number of its steps"), sizes[1]
    flat = op.reshape(c.x, [steps * batch, math.prod(sizes[2:])])
    made = op.nn.bias_add(_product(c, flat, 0, rows, "the input's weights"), c.weight(1, [rows], "the bias"), axis=1)
    made, blobs = op.reshape(made, [steps, batch, rows]), 2
    if len(c.inputs) == 3:
        static = op.nn.batch_flatten(c.input(2))
        made, blobs = op.add(made, _product(c, static, 2, rows, "the static input's weights")), 3
    goes_on = op.reshape(c.input(1), [steps, batch, 1])
    return [_at(made, step) for step in range(steps)], [_at(goes_on, step) for step in range(steps)], batch, blobs


def _at(x, step: int):
    return op.squeeze(op.strided_slice(x, begin=[step], end=[step + 1], axes=[0]), axis=[0])


def _joined(results: list):
    return op.stack(results, axis=0)


def lstm(c: CaffeLayer):
    """Gates in the order input, forget, output, candidate."""
    size = c.count("num_output")
    inputs, goes_on, batch, blobs = _transformed(c, 4 * size)
    hidden = cell = op.zeros([batch, size], c.dtype)
    made = []
    for x, on in zip(inputs, goes_on, strict=True):
        gates = op.add(x, _product(c, op.multiply(hidden, on), blobs, 4 * size, "the state's weights"))
        i, f, o, g = op.split(gates, 4, axis=1)
        kept = op.multiply(op.multiply(on, op.sigmoid(f)), cell)
        cell = op.add(kept, op.multiply(op.sigmoid(i), op.tanh(g)))
        hidden = op.multiply(op.sigmoid(o), op.tanh(cell))
        made.append(hidden)
    return _joined(made)


def rnn(c: CaffeLayer):
    size = c.count("num_output")
    inputs, goes_on, batch, blobs = _transformed(c, size)
    hidden, made = op.zeros([batch, size], c.dtype), []
    for x, on in zip(inputs, goes_on, strict=True):
        hidden = op.tanh(op.add(x, _product(c, op.multiply(hidden, on), blobs, size, "the state's weights")))
        output = _product(c, hidden, blobs + 1, size, "the output's weights")
        made.append(op.tanh(op.nn.bias_add(output, c.weight(blobs + 2, [size], "the output's bias"), axis=1)))
    return _joined(made)
