"""Recurrent operations of ML programs, and what those of neural networks share with them."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr, TupleGetItem
from ..shared.expressions import cast, shape_of
from ..shared.problems import Refused
from . import clipped
from .conversion import Operation

# Activations by their names in Core ML, as Relay's recurrent operators call them.
ACTIVATIONS = {
    "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu", "linear": "affine(1.0, 0.0)", "softsign": "softsign",
    "hard_sigmoid": "hard_sigmoid(0.2, 0.5)", "sigmoid_hard": "hard_sigmoid(0.2, 0.5)",
    "softplus": "softplus", "elu": "elu(1.0)", "leaky_relu": "leaky_relu(0.01)",
    "scaled_tanh": "scaled_tanh(1.0, 1.0)", "thresholded_relu": "thresholded_relu(1.0)",
}  # fmt: skip
# The blocks of Core ML's weights, i f o z and r o z, in the order in which Relay's operators take them (ONNX's).
ORDERS = {"lstm": (0, 2, 1, 3), "gru": (2, 0, 1), "rnn": (0,)}


def ordered(kind: str, array: np.ndarray, size: int) -> np.ndarray:
    """Returns the blocks of a weight in Relay's order."""
    blocks = len(ORDERS[kind])
    if array.shape[0] != blocks * size:
        raise Refused(
            f"a weight has {array.shape[0]} rows for {blocks} gates of {size}", "take the weights of this model"
        )
    return np.concatenate([array[gate * size : (gate + 1) * size] for gate in ORDERS[kind]])


def _activation(c: Operation, name: str, otherwise: str) -> str:
    found = c.text(name, otherwise)
    if found not in ACTIVATIONS:
        raise Refused(f"the activation {found!r} is not imported", f"use one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[found]


def _states(c: Operation, name: str, ways: int, size: int) -> Expr:
    """Returns the states (N, ways * H) as (ways, N, H)."""
    found = c.expr(name)
    batch = shape_of(found)[0]
    if len(shape_of(found)) != 2 or shape_of(found)[1] != ways * size:
        raise Refused(f"`{name}` has the shape {shape_of(found)} for {ways} directions of {size}")
    return op.transpose(op.reshape(found, [batch, ways, size]), axes=[1, 0, 2])


def _flat(state: Expr) -> Expr:
    """Returns (ways, N, H) as (N, ways * H)."""
    ways, batch, size = shape_of(state)
    return op.reshape(op.transpose(state, axes=[1, 0, 2]), [batch, ways * size])


def _outputs(c: Operation, made: Expr, directions: str) -> Expr:
    """Returns the results of all steps, (T, N, ways * H), or of the last one. Those of the direction "reverse" are in
    the order of the computation, the last step of the input first."""
    steps = TupleGetItem(made, 0)
    if not c.flag("output_sequence"):
        return op.expand_dims(_flat(TupleGetItem(made, 1)), axis=0)
    count, ways, batch, size = shape_of(steps)
    steps = op.reverse(steps, axis=0) if directions == "reverse" else steps
    return op.reshape(op.transpose(steps, axes=[0, 2, 1, 3]), [count, batch, ways * size])


def lstm(c: Operation):
    directions = c.text("direction", "forward", ("forward", "reverse", "bidirectional"))
    ways, size = 2 if directions == "bidirectional" else 1, c.shape_of("weight_hh")[1]
    weights, peephole = [], c.has("peephole")
    for end in ("", "_back")[:ways]:
        matrices = [ordered("lstm", c.array_of(f"weight_{one}{end}"), size) for one in ("ih", "hh")]
        bias = c.array_of(f"bias{end}")
        bias = np.zeros(4 * size) if bias is None else bias
        if bias.ndim == 2:  # of the input and of the recurrence, in older programs
            bias = bias.sum(axis=0)
        weights += [c.constant(one, c.dtype) for one in (*matrices, ordered("lstm", bias, size), np.zeros(4 * size))]
        if peephole:
            i, f, o = np.split(c.array_of(f"peephole{end}"), 3)
            weights.append(c.constant(np.concatenate([i, o, f]), c.dtype))
    if ways == 1:
        c.ignore("weight_ih_back", "weight_hh_back", "bias_back", "peephole_back")
    names = [_activation(c, *one) for one in (("recurrent_activation", "sigmoid"), ("cell_activation", "tanh"),
                                              ("activation", "tanh"))]  # fmt: skip
    states = [_states(c, f"initial_{one}", ways, size) for one in "hc"]
    states = [cast(one, c.dtype) for one in states]
    made = clipped.lstm(c.x, weights, states, c.real("clip", 0.0), directions, peephole,
                        activations=", ".join(names * ways))  # fmt: skip
    return [_outputs(c, made, directions), *(_flat(TupleGetItem(made, place)) for place in (1, 2))]


def gru(c: Operation):
    directions = c.text("direction", "forward", ("forward", "reverse"))
    size = c.shape_of("weight_hh")[1]
    matrices = [ordered("gru", c.array_of(f"weight_{one}"), size) for one in ("ih", "hh")]
    biases = []
    for name in ("input_bias", "bias"):
        found = c.array_of(name)
        biases.append(np.zeros(3 * size) if found is None else ordered("gru", found, size))
    names = [_activation(c, *one) for one in (("recurrent_activation", "sigmoid"), ("activation", "tanh"))]
    is_after = c.flag("reset_after")
    weights = [c.constant(one, c.dtype) for one in (*matrices, *biases)]
    made = op.nn.gru(c.x, weights, [_states(c, "initial_h", 1, size)], direction=directions, bias=True,
                     linear_before_reset=is_after, activations=", ".join(names))  # fmt: skip
    return [_outputs(c, made, directions), _flat(TupleGetItem(made, 1))]


def rnn(c: Operation):
    directions = c.text("direction", "forward", ("forward", "reverse"))
    size = c.shape_of("weight_hh")[1]
    bias = c.array_of("bias")
    arrays = [c.array_of("weight_ih"), c.array_of("weight_hh"), np.zeros(size) if bias is None else bias,
              np.zeros(size)]  # fmt: skip
    weights = [c.constant(one, c.dtype) for one in arrays]
    made = op.nn.rnn(c.x, weights, [_states(c, "initial_h", 1, size)], direction=directions, bias=True,
                     activations=_activation(c, "activation", "tanh"))  # fmt: skip
    return [_outputs(c, made, directions), _flat(TupleGetItem(made, 1))]
