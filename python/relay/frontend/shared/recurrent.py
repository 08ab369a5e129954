"""Recurrent layers of frameworks whose gates are in PyTorch's order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import op
from ..._core import Constant, Expr, TupleGetItem
from .expressions import shape_of

# The gates, in the order in which Relay's operators take them.
GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}


def ordered(rows: Expr | np.ndarray, mode: str, size: int):
    """Returns weights with the gates in Relay's order."""
    if isinstance(rows, np.ndarray):
        return np.concatenate([rows[gate * size : (gate + 1) * size] for gate in GATES[mode]])
    if len(GATES[mode]) == 1:
        return rows
    parts = op.split(rows, len(GATES[mode]), axis=0)
    return op.concatenate([parts[gate] for gate in GATES[mode]], axis=0)


def layers_of(
    x: Expr,
    mode: str,
    weights: Sequence[Expr],
    states: Sequence[Expr],
    layers: int,
    ways: int,
    lengths: Expr | None = None,
) -> list[Expr]:
    """Returns the outputs of all steps, (T, N, ways * H), and the states after the last.

    x: (T, N, I). weights: two matrices and two biases for each layer and direction, in Relay's order of gates.
    states: (layers * ways, N, H) each."""
    how = {"direction": "bidirectional" if ways == 2 else "forward", "bias": True, "layers": layers}
    begin = list(states)
    if lengths is not None:
        how["lengths"] = True
        begin.append(lengths)
    if mode == "lstm":
        made = op.nn.lstm(x, weights, begin, **how)
    elif mode == "gru":
        made = op.nn.gru(x, weights, begin, linear_before_reset=True, **how)
    else:
        made = op.nn.rnn(x, weights, begin, activations=mode.removeprefix("rnn_"), **how)
    results = [TupleGetItem(made, place) for place in range(3 if mode == "lstm" else 2)]
    steps, batch = shape_of(x)[:2]
    size = shape_of(states[0])[-1]
    output = op.reshape(op.transpose(results[0], axes=[0, 2, 1, 3]), [steps, batch, ways * size])
    return [output, *results[1:]]


def constant_rows(value: Expr) -> np.ndarray | Expr:
    """Returns the elements of a constant, and another expression as it is."""
    return np.asarray(value.data.numpy()) if isinstance(value, Constant) else value
