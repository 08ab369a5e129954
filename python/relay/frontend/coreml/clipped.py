"""LSTMs whose cell is limited. Relay's operator limits what enters the activations only, so that these run step by
step."""

from __future__ import annotations

import re

from ... import op
from ..._core import Expr, Tuple, TupleGetItem
from ..shared.expressions import shape_of
from ..shared.problems import Refused
from . import functions as f

MOST_STEPS = 1000
# Activations as Relay's recurrent operators call them.
_FUNCTIONS = {
    "sigmoid": op.sigmoid, "tanh": op.tanh, "relu": op.nn.relu, "softplus": op.nn.softplus, "softsign": f.softsign,
    "affine": f.affine, "hard_sigmoid": f.hard_sigmoid, "elu": f.elu, "scaled_tanh": f.scaled_tanh,
    "thresholded_relu": f.thresholded_relu, "leaky_relu": lambda x, alpha: op.nn.leaky_relu(x, alpha=alpha),
}  # fmt: skip


def lstm(
    x: Expr,
    weights: list[Expr],
    states: list[Expr],
    limit: float,
    direction: str = "forward",
    peephole: bool = False,
    input_forget: bool = False,
    activations: str = "",
) -> Expr:
    """Returns what nn.lstm(bias=True) does with these arguments, with cells between -limit and limit. 0: no limit."""
    steps = shape_of(x)[0]
    how = {"direction": direction, "peephole": peephole, "input_forget": input_forget, "activations": activations}
    if limit < 0:
        raise Refused(f"the limit of its cell is {limit}", "save the model again with coremltools")
    if not limit or (isinstance(steps, int) and limit > steps):  # a cell grows by 1 at most in a step
        return op.nn.lstm(x, weights, states, bias=True, **how)
    if not isinstance(steps, int) or steps > MOST_STEPS:
        raise Refused(
            f"it limits the cell to {limit}, which {steps} steps can reach", f"give {MOST_STEPS} or fewer steps"
        )
    ways = 2 if direction == "bidirectional" else 1
    count, names = len(weights) // ways, re.findall(r"\w+(?:\([^)]*\))?", activations)
    made = []
    for way in range(ways):
        places = range(steps) if direction == "forward" or (ways == 2 and way == 0) else reversed(range(steps))
        own = [_activation(one) for one in names[3 * way : 3 * way + 3]]
        begin = [op.take(one, f.constants(way, "int32"), axis=0) for one in states]
        made.append(_run(x, list(places), weights[count * way : count * (way + 1)], begin, own, limit, input_forget))
    outputs = op.stack([outputs for outputs, _, _ in made], axis=1)
    return Tuple([outputs, *(op.stack([one[place] for one in made], axis=0) for place in (1, 2))])


def _activation(text: str):
    name, *numbers = re.findall(r"[a-z_]+|-?\d[\w.+-]*", text)
    return lambda x: _FUNCTIONS[name](x, *map(float, numbers))


def _run(x: Expr, places: list[int], weights: list[Expr], begin: list[Expr], activations, limit, input_forget):
    """Returns the outputs of one direction, (T, N, H), in the order of the sequence, and the states after it."""
    matrix, recurrence, *biases = weights[:4]
    peep = op.split(weights[4], indices_or_sections=3, axis=0) if len(weights) > 4 else None
    enter, form, leave = activations
    h, cell = begin
    entered = op.add(op.nn.dense(op.reshape(x, newshape=[-1, shape_of(x)[2]]), matrix), op.add(*biases))
    entered = op.reshape(entered, newshape=[*shape_of(x)[:2], shape_of(matrix)[0]])

    def seen(gate: Expr, place: int, cell: Expr) -> Expr:
        """Returns what enters a gate, which a peephole adds the cell to."""
        return gate if peep is None else op.add(gate, op.multiply(cell, TupleGetItem(peep, place)))

    outputs = {}
    for place in places:
        gates = op.add(op.take(entered, f.constants(place, "int32"), axis=0), op.nn.dense(h, recurrence))
        parts = op.split(gates, indices_or_sections=4, axis=1)
        i, o, forget, z = (TupleGetItem(parts, part) for part in range(4))
        i = enter(seen(i, 0, cell))
        kept = f.affine(i, -1.0, 1.0) if input_forget else enter(seen(forget, 2, cell))
        cell = op.clip(op.add(op.multiply(kept, cell), op.multiply(i, form(z))), -limit, limit)
        h = op.multiply(enter(seen(o, 1, cell)), leave(cell))
        outputs[place] = h
    return op.stack([outputs[place] for place in sorted(outputs)], axis=0), h, cell
