"""Recurrent layers: LSTM, GRU, SimpleRNN, RNN of cells, Bidirectional, TimeDistributed.

A cell runs over a whole sequence at once (nn.lstm, nn.gru, nn.rnn), or step by step if its activations are not among
those of these operators. Keras's order of gates is i, f, c, o and z, r, h; that of the operators is i, o, f, c and
z, r, h.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from ... import op
from ..._core import TupleGetItem
from ..shared.problems import Refused
from .activations import activate, name_of
from .conversion import MOST_COPIES, Conversion, Value, bounded, known, new_shape, number, shape_of, tensors

_NAMES = {
    "tanh": "tanh", "sigmoid": "sigmoid", "relu": "relu", "softsign": "softsign", "softplus": "softplus",
    "linear": "affine(1.0, 0.0)", "elu": "elu(1.0)", "leaky_relu": "leaky_relu(0.2)",
    "hard_sigmoid": "hard_sigmoid(0.16666666666666666, 0.5)",
}  # fmt: skip


@dataclasses.dataclass
class Cell:
    """states: the sizes of each state without the batch. step(x, states): the output and the new states. whole(x,
    states, lengths): all outputs (T, N, H) of a sequence (T, N, I), and the states after it; None if the cell has no
    such form."""

    states: list[list]
    step: Callable
    whole: Callable | None = None


def _activation_names(c: Conversion, keys: tuple[str, ...], otherwise: dict) -> str | None:
    """Returns the activations for an operator, or None if it lacks one."""
    found = []
    for key in keys:
        name = name_of(c.layer.config.get(key, otherwise[key]))
        if name == "hard_sigmoid" and c.is_keras_2:
            found.append("hard_sigmoid(0.2, 0.5)")
        elif name in _NAMES:
            found.append(_NAMES[name])
        else:
            return None
    return ", ".join(found)


def _parts(x, count: int) -> list:
    parts = op.split(x, indices_or_sections=count, axis=-1)
    return [TupleGetItem(parts, place) for place in range(count)]


def _added(a, b):
    return a if b is None else op.add(a, b)


def _product(x, kernel: np.ndarray, constant):
    return op.nn.dense(x, constant(kernel.T), units=kernel.shape[1])


def _cudnn_kernel(kernel: np.ndarray, gates: int) -> np.ndarray:
    """Returns a kernel of CuDNNLSTM or CuDNNGRU in the order of the others: each gate is stored transposed."""
    parts = np.split(kernel, gates, axis=1)
    return np.concatenate([one.T.reshape(one.shape, order="F") for one in parts], axis=1)


def _weights(c: Conversion, features, gates: int, biases: int) -> tuple:
    """Returns the kernel, the recurrent kernel, and the bias of `biases` rows, or None without one."""
    units = c.int_of("units")
    kernel = c.array("kernel", [features, gates * units])
    recurrent = c.array("recurrent_kernel", [units, gates * units])
    bias = None
    if c("use_bias", True):
        bias = c.array("bias", [gates * units] if biases == 1 else [biases, gates * units])
    return kernel, recurrent, bias


def _rows(array: np.ndarray, order: list[int]) -> np.ndarray:
    """Returns the gates of the last axis as rows, in this order."""
    parts = np.split(array, len(order), axis=-1)
    return np.concatenate([parts[place] for place in order], axis=-1).T


def _whole(c: Conversion, operator, order: list[int], kernel, recurrent, biases: list, activations, **how):
    """Returns the form of a cell that runs over a whole sequence."""
    if activations is None:
        return None
    weights = [_rows(one, order) for one in (kernel, recurrent, *biases)]

    def whole(x, states, lengths):
        given = [op.expand_dims(one, axis=0) for one in states] + ([] if lengths is None else [lengths])
        constants = [c.constant(one) for one in weights]
        made = operator(
            x, constants, given, bias=bool(biases), lengths=lengths is not None, activations=activations, **how
        )
        finals = [op.squeeze(TupleGetItem(made, 1 + place), axis=[0]) for place in range(len(states))]
        return op.squeeze(TupleGetItem(made, 0), axis=[1]), finals

    return whole


def lstm_cell(c: Conversion, features, is_cudnn: bool = False) -> Cell:
    units = c.int_of("units")
    if is_cudnn:
        kernel, recurrent = c.array("kernel", [features, 4 * units]), c.array("recurrent_kernel", [units, 4 * units])
        kernel, recurrent = (_cudnn_kernel(one, 4) for one in (kernel, recurrent))
        bias = c.array("bias", [8 * units]).reshape(2, -1).sum(axis=0)
    else:
        kernel, recurrent, bias = _weights(c, features, 4, 1)
    otherwise = {"activation": "tanh", "recurrent_activation": "sigmoid"}
    names = _activation_names(c, ("recurrent_activation", "activation", "activation"), otherwise)
    biases = [] if bias is None else [bias, np.zeros_like(bias)]
    inner, gate = (c.layer.config.get(key, otherwise[key]) for key in ("activation", "recurrent_activation"))

    def step(x, states):
        h, carry = states
        z = op.add(_product(x, kernel, c.constant), _product(h, recurrent, c.constant))
        i, f, g, o = _parts(z if bias is None else op.add(z, c.constant(bias)), 4)
        kept = op.multiply(activate(c, gate, f), carry)
        carry = op.add(kept, op.multiply(activate(c, gate, i), activate(c, inner, g)))
        h = op.multiply(activate(c, gate, o), activate(c, inner, carry))
        return h, [h, carry]

    whole = _whole(c, op.nn.lstm, [0, 3, 1, 2], kernel, recurrent, biases, names)
    return Cell([[units], [units]], step, whole)


def gru_cell(c: Conversion, features, is_cudnn: bool = False) -> Cell:
    units = c.int_of("units")
    after = is_cudnn or bool(c("reset_after", not c.is_keras_2))
    if is_cudnn:
        kernel, recurrent = c.array("kernel", [features, 3 * units]), c.array("recurrent_kernel", [units, 3 * units])
        kernel, recurrent = (_cudnn_kernel(one, 3) for one in (kernel, recurrent))
        bias = c.array("bias", [6 * units]).reshape(2, -1)
    else:
        kernel, recurrent, bias = _weights(c, features, 3, 2 if after else 1)
    otherwise = {"activation": "tanh", "recurrent_activation": "sigmoid"}
    names = _activation_names(c, ("recurrent_activation", "activation"), otherwise)
    if bias is None:
        biases = []
    else:
        biases = list(bias) if after else [bias, np.zeros_like(bias)]
    inner, gate = (c.layer.config.get(key, otherwise[key]) for key in ("activation", "recurrent_activation"))

    def step(x, states):
        (h,) = states
        x_all = _product(x, kernel, c.constant)
        x_all = op.add(x_all, c.constant(biases[0])) if biases else x_all
        x_z, x_r, x_h = _parts(x_all, 3)
        if after:
            all_ = _product(h, recurrent, c.constant)
            all_ = op.add(all_, c.constant(biases[1])) if biases else all_
            h_z, h_r, h_h = _parts(all_, 3)
            z, r = activate(c, gate, op.add(x_z, h_z)), activate(c, gate, op.add(x_r, h_r))
            candidate = activate(c, inner, op.add(x_h, op.multiply(r, h_h)))
        else:
            h_z, h_r = _parts(_product(h, recurrent[:, : 2 * units], c.constant), 2)
            z, r = activate(c, gate, op.add(x_z, h_z)), activate(c, gate, op.add(x_r, h_r))
            h_h = _product(op.multiply(r, h), recurrent[:, 2 * units :], c.constant)
            candidate = activate(c, inner, op.add(x_h, h_h))
        one = number(1, c.compute)
        h = op.add(op.multiply(z, h), op.multiply(op.subtract(one, z), candidate))
        return h, [h]

    whole = _whole(c, op.nn.gru, [0, 1, 2], kernel, recurrent, biases, names, linear_before_reset=after)
    return Cell([[units]], step, whole)


def simple_cell(c: Conversion, features) -> Cell:
    units = c.int_of("units")
    kernel, recurrent, bias = _weights(c, features, 1, 1)
    names = _activation_names(c, ("activation",), {"activation": "tanh"})
    inner = c.layer.config.get("activation", "tanh")

    def step(x, states):
        z = op.add(_product(x, kernel, c.constant), _product(states[0], recurrent, c.constant))
        h = activate(c, inner, _added(z, None if bias is None else c.constant(bias)))
        return h, [h]

    biases = [] if bias is None else [bias, np.zeros_like(bias)]
    return Cell([[units]], step, _whole(c, op.nn.rnn, [0], kernel, recurrent, biases, names))


_CELLS = {"LSTMCell": lstm_cell, "GRUCell": gru_cell, "SimpleRNNCell": simple_cell}


def _cells_of(c: Conversion, config, features) -> list[Cell]:
    """Returns the cells of RNN: one, or those of StackedRNNCells."""
    layer = c.inner_layer(config)
    if layer.kind == "StackedRNNCells":
        return _stack(c.part("cell").part("cells"), layer, features)
    return [_cell_of(c, layer, "cell", features)]


def _stack(within: Conversion, layer, features) -> list[Cell]:
    """Returns the cells of StackedRNNCells, each of which reads the outputs of the one before."""
    cells, counts = [], {}
    for one in layer.config.get("cells") or []:
        made = within.inner_layer(one)
        name = {"LSTMCell": "lstm_cell", "GRUCell": "gru_cell", "SimpleRNNCell": "simple_rnn_cell"}.get(made.kind)
        counts[name] = counts.get(name, -1) + 1
        cells.append(_cell_of(within, made, f"{name}_{counts[name]}" if counts[name] else str(name), features))
        features = cells[-1].states[0][0]
    return cells


def _cell_of(c: Conversion, layer, part: str, features) -> Cell:
    if layer.kind not in _CELLS:
        raise Refused(f"the cell {layer.kind}", "use LSTMCell, GRUCell or SimpleRNNCell")
    return _CELLS[layer.kind](c.of(layer, c.args, c.kwargs, part), features)


# --- sequences --------------------------------------------------------------------------------------------------------
def _by_steps(cell: Cell, x, states: list, mask):
    """Returns the outputs (N, T, ..) and states of a cell, with a copy of it for each step."""
    steps = known(shape_of(x)[1], "the number of steps of a cell that is not LSTM, GRU or SimpleRNN with their usual "
                  "activations")  # fmt: skip
    bounded(steps, MOST_COPIES, "the number of steps that are imported one by one")
    outputs = []
    for t in range(steps):
        here = op.squeeze(op.strided_slice(x, begin=[t], end=[t + 1], axes=[1]), axis=[1])
        output, new = cell.step(here, states)
        if mask is not None:
            is_kept = op.strided_slice(mask, begin=[t], end=[t + 1], axes=[1])
            around = op.reshape(is_kept, newshape=new_shape([shape_of(mask)[0], *[1] * (len(shape_of(output)) - 1)]))
            before = outputs[-1] if outputs else op.zeros_like(output)
            output = op.where(around, output, before)
            new = [op.where(around, one, old) for one, old in zip(new, states, strict=True)]
        outputs.append(output)
        states = new
    return op.stack(outputs, axis=1), states


def _whole_masked(cell: Cell, x, states: list, mask):
    """Returns the outputs and states of a cell. Steps that the mask keeps are moved to the front, so that their number
    is the length of the sequence; an output at a masked step is that of the last step before it."""
    time_major = [1, 0, 2]
    if mask is None:
        outputs, states = cell.whole(op.transpose(x, axes=time_major), states, None)
        return op.transpose(outputs, axes=time_major), states
    kept = op.cast(mask, "int32")
    counts = op.cumsum(kept, axis=1)
    places = op.cumsum(op.ones_like(kept), axis=1)  # 1, 2, ..; masked steps go behind all others
    last = number(1 << 30, "int32")
    order = op.argsort(op.where(mask, places, op.add(places, last)), axis=1, dtype="int32")
    packed = op.take(x, order, axis=1, batch_dims=1, mode="checked")
    lengths = op.sum(kept, axis=[1])
    outputs, states = cell.whole(op.transpose(packed, axes=time_major), states, lengths)
    outputs = op.transpose(outputs, axes=time_major)
    one = number(1, "int32")
    before = op.maximum(op.subtract(counts, one), number(0, "int32"))
    outputs = op.take(outputs, before, axis=1, batch_dims=1, mode="checked")
    has_output = op.expand_dims(op.greater_equal(counts, one), axis=2)
    return op.where(has_output, outputs, op.zeros_like(outputs)), states


def _initial_states(c: Conversion, cells: list[Cell], sizes: list) -> list:
    """Returns the states before the first step: given with the call, kept from the last run, or zeros."""
    given = [one.expr for one in tensors(c.kwargs.get("initial_state"))] or [one.expr for one in c.inputs[1:]]
    given = given or [one.expr for one in tensors(c.args[1:2])]
    shapes = [[sizes[0], *one] for cell in cells for one in cell.states]
    if given:
        if len(given) != len(shapes):
            raise Refused(f"it is called with {len(given)} states, not {len(shapes)}")
        return given
    if c("stateful"):
        return [c.importer.state(f"{c.place}.state{place}", shape, c.compute) for place, shape in enumerate(shapes)]
    return [op.zeros(shape=shape, dtype=c.compute) for shape in shapes]


def sequence(c: Conversion, cells: list[Cell]):
    """Returns the results of a recurrent layer with these cells."""
    if c("time_major"):
        raise Refused("its data are in the order (steps, batch, features)", "use time_major=False")
    x, mask = c.x, c.mask
    if c("go_backwards"):
        x, mask = op.reverse(x, axis=1), None if mask is None else op.reverse(mask, axis=1)
    mask = None if mask is None else op.cast(mask, "bool")
    initial = _initial_states(c, cells, shape_of(x))
    finals, rest = [], list(initial)
    for cell in cells:
        states, rest = rest[: len(cell.states)], rest[len(cell.states) :]
        run = _by_steps if cell.whole is None else _whole_masked
        x, new = run(cell, x, states, mask)
        finals += new
    if c("stateful") and not tensors(c.kwargs.get("initial_state")):
        for state, new in zip(initial, finals, strict=True):
            c.importer.set_state(state, new)
    if mask is not None and c("zero_output_for_mask"):
        rank = len(shape_of(x)) - 2
        x = op.where(op.expand_dims(mask, axis=2, num_newaxis=rank), x, op.zeros_like(x))
    if not c("return_sequences"):
        x = op.squeeze(op.strided_slice(x, begin=[-1], end=[2**31 - 1], axes=[1]), axis=[1])
    result = Value(x, c.mask if c("return_sequences") else None)
    return [result, *map(Value, finals)] if c("return_state") else result


def layer_of_cell(cell, **how):
    """Returns the converter of LSTM, GRU or SimpleRNN."""

    def convert(c: Conversion):
        if c.rank != 3:
            raise Refused(f"its input has {c.rank} axes, not (batch, steps, features)")
        features = c.size(-1, "the kernel of a recurrent layer")
        own = c.part("cell")
        return sequence(c, [cell(own, features, **how)])

    return convert


def rnn(c: Conversion):
    if c.rank != 3:
        raise Refused(f"its input has {c.rank} axes, not (batch, steps, features)")
    return sequence(c, _cells_of(c, c("cell"), c.size(-1, "the kernel of a recurrent layer")))


# --- single steps -----------------------------------------------------------------------------------------------------
def _step(c: Conversion, cells: list[Cell]):
    """Returns the output of cells that a model calls itself for one step, and their states after it."""
    states = [one.expr for one in tensors(c.argument("states", 1))]
    if len(states) != sum(len(one.states) for one in cells):
        raise Refused(f"it is called with {len(states)} states, not {sum(len(one.states) for one in cells)}")
    x, after = c.x, []
    for cell in cells:
        own, states = states[: len(cell.states)], states[len(cell.states) :]
        x, new = cell.step(x, own)
        after += new
    return [Value(x), *map(Value, after)]


def cell_alone(kind: str):
    """Returns the converter of a cell that is called as a layer."""
    return lambda c: _step(c, [_CELLS[kind](c, c.size(-1, "the kernel of a recurrent cell"))])


def stacked_cells(c: Conversion):
    return _step(c, _stack(c.part("cells"), c.layer, c.size(-1, "the kernel of a recurrent cell")))


# --- wrappers ---------------------------------------------------------------------------------------------------------
_MERGES = {
    "concat": lambda a, b: op.concatenate([a, b], axis=-1),
    "sum": op.add,
    "ave": lambda a, b: op.divide(op.add(a, b), number(2, str(a.checked_type.dtype))),
    "mul": op.multiply,
}


def bidirectional(c: Conversion):
    """A layer forwards and one backwards, merged at each step."""
    forward = c("layer")
    if not isinstance(forward, dict) or not isinstance(forward.get("config"), dict):
        raise Refused("it has no layer")
    backward = c("backward_layer")
    if backward is None:
        turned = not forward["config"].get("go_backwards", False)
        backward = {**forward, "config": {**forward["config"], "go_backwards": turned}}
    own = forward["config"]
    states = tensors(c.kwargs.get("initial_state")) or c.inputs[1:]
    half = len(states) // 2
    kwargs = {"mask": Value(c.mask)} if c.mask is not None else {}
    sides = []
    for config, part, given in ((forward, "forward_layer", states[:half]), (backward, "backward_layer", states[half:])):
        sides.append(tensors(c.inner(config, (part,), [c.value], {**kwargs, "initial_state": given})))
    (a, *finals_a), (b, *finals_b) = sides
    if own.get("return_sequences"):
        b = Value(op.reverse(b.expr, axis=1), b.mask)
    mode = c.layer.config.get("merge_mode", "concat")
    if mode is None:
        merged = [a, b]
    elif mode in _MERGES:
        shape_of(a.expr)
        merged = [Value(_MERGES[mode](a.expr, b.expr), a.mask)]
    else:
        raise Refused(f"`merge_mode` is {mode!r}")
    results = [*merged, *finals_a, *finals_b] if own.get("return_state") else merged
    return results if len(results) > 1 else results[0]


def time_distributed(c: Conversion):
    """Applies a layer to each step, all of which become one batch."""
    sizes = c.shape
    steps = known(sizes[1], "the number of steps")
    together = op.reshape(c.x, newshape=[-1, *new_shape(sizes[2:])])
    made = c.inner(c("layer"), ("layer",), [Value(together)])
    results = [
        Value(op.reshape(one.expr, newshape=[-1, steps, *new_shape(shape_of(one.expr)[1:])]), c.mask)
        for one in tensors(made)
    ]
    return results if len(results) > 1 else results[0]
