"""Recurrent layers of DarkNet. Their states are kept from run to run, as DarkNet keeps them when it predicts.

The matrices w.. belong to the state, u.. to the input. A batch holds the steps one after another, each with all of its
rows: (steps * rows, inputs).
"""

from __future__ import annotations

from collections.abc import Callable

from ... import op
from ..._core import Expr
from ..shared.expressions import bounded, shape_of
from ..shared.problems import Refused
from .activations import activate
from .conversion import Layer
from .layers import convolution, dense

MOST_STEPS = 1000  # each of which is imported


def _steps(c: Layer, x: Expr) -> list[Expr]:
    """Returns the rows of each step."""
    count = bounded(c.importer.steps, MOST_STEPS, "time_steps")
    rows = shape_of(x)[0]
    if not isinstance(rows, int) or rows % count:
        raise Refused(
            f"a batch of {rows} is not {count} time steps", "give --shape data with time_steps rows or a multiple"
        )
    return [x] if count == 1 else list(op.split(x, count, axis=0))


class _Frozen:
    """A part with weights that are read once and used at each step."""

    def __init__(self, c: Layer, make: Callable[[Layer, Expr], Expr]):
        self._c, self._make, self._taken, self._at = c, make, [], 0
        self._first = True

    def __call__(self, x: Expr) -> Expr:
        c = _Replay(self._c, self._taken, self._first)
        self._first = False
        return self._make(c, x)


class _Replay(Layer):
    """The view of a layer whose weights come from the file at the first step, and are the same ones afterwards."""

    def __init__(self, c: Layer, taken: list, is_first: bool):
        super().__init__(c.importer, c.node, c.inputs)
        self.read, self._taken, self._is_first, self._place = c.read, taken, is_first, 0

    def weight(self, shape, what):
        if self._is_first:
            self._taken.append(super().weight(shape, what))
        self._place += 1
        return self._taken[self._place - 1]


def _with_weights(parts: dict[str, _Frozen], order: str, inputs: dict[str, Expr]) -> None:
    """Calls parts once in the order of the file, so that they read their weights."""
    for name in order.split():
        parts[name](inputs[name])


def _state(c: Layer, name: str, sizes: list[int]) -> Expr:
    return c.importer.state(f"{c.node.kind}_{c.node.outputs[0]}_{name}", sizes)


def _plain(c: Layer, x: Expr, state: Expr, parts: list[_Frozen]):
    """Returns the results of all steps of a plain recurrence; sets the state."""
    inner, own, outer = parts
    c.ignore("hidden", "hidden_filters", "logistic")
    steps, shortcut = _steps(c, x), c.flag("shortcut")
    _with_weights({"i": inner, "s": own, "o": outer}, "i s o", {"i": steps[0], "s": state, "o": state})
    held, made = state, []
    for step in steps:
        new = op.add(inner(step), own(held))
        held = op.add(held, new) if shortcut else new
        made.append(outer(held))
    c.importer.set_state(state, held)
    return made[0] if len(made) == 1 else op.concatenate(made, axis=0)


def rnn(c: Layer):
    x, outputs, act = c.flat(), c.count("output", 1), c.text("activation", "logistic")
    parts = [_Frozen(c, lambda view, value: dense(view, value, outputs, act)) for _ in range(3)]
    return _plain(c, x, _state(c, "state", [_rows(c, x), outputs]), parts)


def crnn(c: Layer):
    """A recurrence of convolutions. DarkNet exchanges height and width of the image, without moving its pixels."""
    (channels, height, width), act = c.image_sizes(), c.text("activation", "logistic")
    x = op.reshape(c.image(), [shape_of(c.x)[0], channels, width, height])
    filters, hidden = c.count("output_filters", 1), c.count("hidden_filters", 1)

    def part(count: int) -> _Frozen:
        return _Frozen(c, lambda view, value: convolution(view, value, count, 3, [1, 1], 1, act))

    state = _state(c, "state", [_rows(c, x), hidden, width, height])
    return _plain(c, x, state, [part(hidden), part(hidden), part(filters)])


def _rows(c: Layer, x: Expr) -> int:
    return shape_of(_steps(c, x)[0])[0]


def _linear_parts(c: Layer, names: str, outputs: int) -> dict[str, _Frozen]:
    return {name: _Frozen(c, lambda view, value: dense(view, value, outputs, "linear")) for name in names.split()}


def gru(c: Layer):
    x, outputs = c.flat(), c.count("output", 1)
    state, steps = _state(c, "state", [_rows(c, x), outputs]), _steps(c, x)
    order = "wz wr wh uz ur uh"
    part = _linear_parts(c, order, outputs)
    _with_weights(part, order, {name: state if name[0] == "w" else steps[0] for name in part})
    candidate = "tanh" if c.flag("tanh") else "logistic"
    held, made = state, []
    for step in steps:
        z = op.sigmoid(op.add(part["uz"](step), part["wz"](held)))
        r = op.sigmoid(op.add(part["ur"](step), part["wr"](held)))
        h = activate(candidate, op.add(part["uh"](step), part["wh"](op.multiply(held, r))))
        held = op.add(op.multiply(z, held), op.multiply(op.subtract(c.number(1.0), z), h))
        made.append(held)
    c.importer.set_state(state, held)
    return made[0] if len(made) == 1 else op.concatenate(made, axis=0)


def lstm(c: Layer):
    x, outputs = c.flat(), c.count("output", 1)
    rows, steps = _rows(c, x), _steps(c, x)
    hidden, cell = _state(c, "state", [rows, outputs]), _state(c, "cell", [rows, outputs])
    order = "wi wf wo wg ui uf uo ug"
    part = _linear_parts(c, order, outputs)
    _with_weights(part, order, {name: hidden if name[0] == "w" else steps[0] for name in part})
    h, s, made = hidden, cell, []
    for step in steps:
        i, f, o = (op.sigmoid(op.add(part[f"w{one}"](h), part[f"u{one}"](step))) for one in "ifo")
        g = op.tanh(op.add(part["wg"](h), part["ug"](step)))
        s = op.add(op.multiply(f, s), op.multiply(i, g))
        h = op.multiply(op.tanh(s), o)
        made.append(h)
    c.importer.set_state(hidden, h)
    c.importer.set_state(cell, s)
    return made[0] if len(made) == 1 else op.concatenate(made, axis=0)
