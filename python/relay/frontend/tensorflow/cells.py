"""Cells of recurrent networks that TensorFlow has as one operator."""

from __future__ import annotations

from ... import op
from ..._core import Expr
from ..shared.problems import Refused
from ..shared.values import number
from .conversion import Conversion


def _lstm(c: Conversion, x: Expr, cs: Expr, h: Expr, w: Expr, peepholes: list, b: Expr, order: str) -> list:
    """Returns (i, cs, f, o, ci, co, h) of a step. order: of the gates in the weights, "icfo" or "ifco"."""
    gates = op.nn.bias_add(op.nn.matmul(op.concatenate([x, h], axis=1), w), b, axis=-1)
    parts = dict(zip(order, op.split(gates, indices_or_sections=4, axis=1), strict=True))
    wi, wf, wo = peepholes
    uses = bool(c("use_peephole", False))

    def gate(value: Expr, state: Expr, weight: Expr, bias: float = 0.0) -> Expr:
        value = op.add(value, op.multiply(state, weight)) if uses else value
        return op.sigmoid(op.add(value, number(bias, "float32")) if bias else value)

    bias = c("forget_bias", 1.0) if order == "icfo" else c("forget_bias", 0.0)
    i, f, ci = gate(parts["i"], cs, wi), gate(parts["f"], cs, wf, bias), op.tanh(parts["c"])
    after = op.add(op.multiply(ci, i), op.multiply(cs, f))
    clip = c("cell_clip", 3.0 if order == "icfo" else 0.0)
    after = op.clip(after, -clip, clip) if clip > 0 else after
    o = gate(parts["o"], after, wo)
    co = op.tanh(after)
    return [i, after, f, o, ci, co, op.multiply(co, o)]


def lstm_block_cell(c: Conversion):
    """LSTMBlockCell(x, cs, h, weights, 3 peepholes, bias)."""
    if c.dtype(0) != "float32":
        raise Refused(f"its data are {c.dtype(0)}", "use float32")
    x, cs, h, w, *peepholes, b = c.exprs(0, 8)
    return _lstm(c, x, cs, h, w, peepholes, b, "icfo")


MOST_STEPS = 512  # each of which is imported


def block_lstm(c: Conversion):
    """BlockLSTM(length, x (steps, batch, inputs), cs, h, weights, 3 peepholes, bias): all steps, each imported."""
    steps = c.size(0, 1)
    order = "ifco" if c.node.op == "BlockLSTMV2" else "icfo"
    length = c.int(0, "its length")
    if not 0 < steps <= MOST_STEPS or length < steps:
        raise Refused(f"it has {steps} steps, of which {length} count", f"use up to {MOST_STEPS} steps of full length")
    x, cs, h, w, *peepholes, b = c.exprs(1, 9)
    made = []
    for step in range(steps):
        row = op.take(x, number(step, "int32"), axis=0, mode="clip")
        made.append(_lstm(c, row, cs, h, w, peepholes, b, order))
        cs, h = made[-1][1], made[-1][6]
    return [op.stack([one[place] for one in made], axis=0) for place in range(7)]


def gru_block_cell(c: Conversion):
    """GRUBlockCell(x, h, weights of r and u, weights of c, their biases)."""
    x, h, w_ru, w_c, b_ru, b_c = c.exprs(0, 6)
    both = op.nn.bias_add(op.nn.matmul(op.concatenate([x, h], axis=1), w_ru), b_ru, axis=-1)
    parts = op.split(op.sigmoid(both), indices_or_sections=2, axis=1)
    r, u = parts[0], parts[1]
    inner = op.concatenate([x, op.multiply(h, r)], axis=1)
    new = op.tanh(op.nn.bias_add(op.nn.matmul(inner, w_c), b_c, axis=-1))
    one = number(1, c.dtype(0))
    return [r, u, new, op.add(op.multiply(op.subtract(one, u), new), op.multiply(u, h))]
