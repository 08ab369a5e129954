"""Recurrent layers of neural networks. Their sequences are (T, N, C, 1, 1), or (T, N, C)."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr, TupleGetItem
from ..shared.expressions import bounded, shape_of
from ..shared.problems import Refused
from . import clipped
from .conversion import Layer

_SIMPLE = {"tanh": "tanh", "sigmoid": "sigmoid", "ReLU": "relu", "softsign": "softsign", "softplus": "softplus"}


def _activation(found) -> str:
    """Returns an activation as Relay's recurrent operators call it."""
    for name, word in _SIMPLE.items():
        if found.has(name):
            return word
    with_numbers = (("linear", "affine", 2), ("sigmoidHard", "hard_sigmoid", 2), ("scaledTanh", "scaled_tanh", 2),
                    ("leakyReLU", "leaky_relu", 1), ("thresholdedReLU", "thresholded_relu", 1),
                    ("ELU", "elu", 1))  # fmt: skip
    for name, word, count in with_numbers:
        if found.has(name):
            about = getattr(found, name)
            numbers = [about.alpha, *([about.beta] if count == 2 else [])]
            return f"{word}({', '.join(str(float(one)) for one in numbers)})"
    raise Refused("an activation of it is not imported", f"use one of {', '.join(_SIMPLE)}")


def _activations(found, otherwise: str) -> str:
    return ", ".join(_activation(one) for one in found) if found else otherwise


class _Sequence:
    """The sequence that a layer reads, (T, N, I). compact: true if the input is (T, I, 1, 1), without its batch."""

    def __init__(self, c: Layer):
        self.c, sizes = c, c.shape
        self.is_compact = len(sizes) == 4 and c.node.inputs[0] in c.importer.compact
        inputs = bounded(c.p.inputVectorSize, 1 << 24, "`inputVectorSize`")
        self.size = bounded(c.p.outputVectorSize, 1 << 24, "`outputVectorSize`")
        if self.is_compact:
            self.steps, self.batch = sizes[0], 1
        elif len(sizes) in (3, 5):
            self.steps, self.batch = sizes[:2]
        else:
            raise Refused(f"its input has {len(sizes)} axes, not three or five")
        self.rank = len(sizes)
        self.x = op.reshape(c.x, [self.steps, self.batch, inputs])

    def state(self, position: int, ways: int = 1) -> Expr:
        """Returns an initial state, (ways, N, H); zeros if it is not given."""
        shape = [ways, self.batch, self.size]
        if position >= len(self.c.inputs):
            return op.zeros(shape, dtype="float32")
        return op.reshape(self.c.input(position), shape)

    def output(self, made, ways: int = 1, is_sequence: bool | None = None) -> Expr:
        """Returns the results of all steps, or of the last one, with the input's axes."""
        is_sequence = self.c.p.sequenceOutput if is_sequence is None else is_sequence
        width = ways * self.size
        if is_sequence:
            steps = TupleGetItem(made, 0)  # with a reversed input, in the order of the computation
            steps = op.reverse(steps, axis=0) if ways == 1 and self.c.p.reverseInput else steps
            return self._axes(op.reshape(op.transpose(steps, axes=[0, 2, 1, 3]), [self.steps, self.batch, width]))
        return self.last(TupleGetItem(made, 1), ways)

    def last(self, state: Expr, ways: int = 1) -> Expr:
        """Returns a state (ways, N, H) as one step."""
        width = ways * self.size
        return self._axes(op.reshape(op.transpose(state, axes=[1, 0, 2]), [1, self.batch, width]))

    def one(self, state: Expr, way: int) -> Expr:
        """Returns the state of one direction as one step."""
        part = op.strided_slice(state, begin=[way], end=[way + 1], strides=[1], axes=[0])
        return self._axes(op.reshape(part, [1, self.batch, self.size]))

    def _axes(self, x: Expr) -> Expr:
        if self.rank == 3:
            return x
        steps, batch, width = shape_of(x)
        return op.reshape(x, [steps, width, 1, 1] if self.is_compact else [steps, batch, width, 1, 1])


def _blocks(c: Layer, names, shape: list[int], of=None) -> np.ndarray:
    return np.concatenate([c.weights(name, shape, of=of) for name in names])


def simple(c: Layer):
    s, p = _Sequence(c), c.p
    arrays = [c.weights("weightMatrix", [s.size, p.inputVectorSize]), c.weights("recursionMatrix", [s.size, s.size]),
              c.weights("biasVector", [s.size]) if p.hasBiasVector else np.zeros(s.size), np.zeros(s.size)]  # fmt: skip
    made = op.nn.rnn(s.x, [c.constant(one, "float32") for one in arrays], [s.state(1)],
                     direction="reverse" if p.reverseInput else "forward", bias=True,
                     activations=_activation(c.message("activation")))  # fmt: skip
    return [s.output(made), s.last(TupleGetItem(made, 1))]


def gru(c: Layer):
    s, p = _Sequence(c), c.p
    gates = ("updateGate", "resetGate", "outputGate")
    arrays = [
        _blocks(c, [f"{one}WeightMatrix" for one in gates], [s.size, p.inputVectorSize]),
        _blocks(c, [f"{one}RecursionMatrix" for one in gates], [s.size, s.size]),
        _blocks(c, [f"{one}BiasVector" for one in gates], [s.size]) if p.hasBiasVectors else np.zeros(3 * s.size),
        np.zeros(3 * s.size),
    ]
    made = op.nn.gru(s.x, [c.constant(one, "float32") for one in arrays], [s.state(1)],
                     direction="reverse" if p.reverseInput else "forward", bias=True, linear_before_reset=False,
                     activations=_activations(p.activations, "sigmoid, tanh"))  # fmt: skip
    return [s.output(made), s.last(TupleGetItem(made, 1))]


def _lstm_weights(c: Layer, s: _Sequence, found) -> list[Expr]:
    """Returns the weights of one direction, gates in the order i o f c."""
    p, gates = c.message("params"), ("inputGate", "outputGate", "forgetGate", "blockInput")
    inputs = c.p.inputVectorSize
    bias = np.zeros(4 * s.size, np.float32)
    if p.hasBiasVectors:
        bias = _blocks(c, [f"{one}BiasVector" for one in gates], [s.size], found)
    if p.forgetBias:  # 1 is added to that of the gate that forgets
        bias = bias.copy()
        bias[2 * s.size : 3 * s.size] += 1
    arrays = [_blocks(c, [f"{one}WeightMatrix" for one in gates], [s.size, inputs], found),
              _blocks(c, [f"{one}RecursionMatrix" for one in gates], [s.size, s.size], found),
              bias, np.zeros(4 * s.size)]  # fmt: skip
    if p.hasPeepholeVectors:
        arrays.append(_blocks(c, [f"{one}PeepholeVector" for one in gates[:3]], [s.size], found))
    return [c.constant(one, "float32") for one in arrays]


def _lstm(c: Layer, s: _Sequence, weights: list, states: list, direction: str, activations: str):
    p = c.message("params")
    return clipped.lstm(s.x, weights, states, p.cellClipThreshold, direction, p.hasPeepholeVectors,
                        p.coupledInputAndForgetGate, activations)  # fmt: skip


def lstm(c: Layer):
    s = _Sequence(c)
    weights = _lstm_weights(c, s, c.message("weightParams"))
    activations = _activations(c.p.activations, "sigmoid, tanh, tanh")
    direction = "reverse" if c.p.reverseInput else "forward"
    made = _lstm(c, s, weights, [s.state(1), s.state(2)], direction, activations)
    is_sequence = c.message("params").sequenceOutput
    return [s.output(made, 1, is_sequence), *(s.last(TupleGetItem(made, place)) for place in (1, 2))]


def bidirectional_lstm(c: Layer):
    s = _Sequence(c)
    if len(c.p.weightParams) != 2:
        raise Refused(f"it has the weights of {len(c.p.weightParams)} directions, not two")
    weights = [one for found in c.p.weightParams for one in _lstm_weights(c, s, found)]
    both = [_activations(one, "sigmoid, tanh, tanh") for one in (c.p.activationsForwardLSTM,
                                                                 c.p.activationsBackwardLSTM)]  # fmt: skip
    if len(c.inputs) > 1:  # hidden and cell, then those of the reverse direction
        if len(c.inputs) != 5:
            raise Refused(f"it has {len(c.inputs)} inputs, not 1 or 5")
        parts = [s.state(place) for place in (1, 2, 3, 4)]
        states = [op.concatenate([parts[0], parts[2]], axis=0), op.concatenate([parts[1], parts[3]], axis=0)]
    else:
        states = [s.state(9, 2), s.state(9, 2)]
    made = _lstm(c, s, weights, states, "bidirectional", ", ".join(both))
    hidden, cell = TupleGetItem(made, 1), TupleGetItem(made, 2)
    is_sequence = c.message("params").sequenceOutput
    return [s.output(made, 2, is_sequence), s.one(hidden, 0), s.one(cell, 0), s.one(hidden, 1), s.one(cell, 1)]


def repeat(c: Layer):
    """Repeats the first axis."""
    count = bounded(c.p.nRepetitions, 1 << 20, "`nRepetitions`")
    if count < 1:
        raise Refused("`nRepetitions` is 0")
    return op.tile(c.x, reps=[count, *[1] * (c.rank - 1)])
