"""Recurrent layers of PaddlePaddle, and operators on sequences (LoD): a tensor of rows is one sequence."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr, TupleGetItem
from ..shared.expressions import cast, known, number, shape_of
from ..shared.loops import Outside, repeat
from ..shared.problems import Refused
from ..shared.recurrent import GATES, constant_rows, layers_of, ordered
from ..shared.values import size_number
from .conversion import Operator

_ACTIVATIONS = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu", "identity": "affine"}


def same(c: Operator):
    c.ignore("target_lod", "append")
    return c.held("X")


def rnn(c: Operator):
    """All layers of a recurrent network, (T, N, I). The weights are matrices of all layers, then biases of all."""
    c.ignore("dropout_prob", "seed", "is_test", "input_size")
    mode, layers, size = c.text("mode", "LSTM").lower(), c.count("num_layers", 1, most=100), c.count("hidden_size")
    if mode not in GATES:
        raise Refused(f"`mode` is {mode!r}, not one of {', '.join(GATES)}")
    ways = 2 if c.flag("is_bidirec", False) else 1
    found, pairs = c.every("WeightList"), layers * ways
    if len(found) != 4 * pairs:
        raise Refused(f"it has {len(found)} weights for {layers} layers in {ways} directions, not {4 * pairs}")
    rows = [ordered(constant_rows(one), mode, size) for one in found]
    rows = [one if isinstance(one, Expr) else c.constant(one) for one in rows]
    matrices, biases = rows[: 2 * pairs], rows[2 * pairs :]
    weights = [one for at in range(pairs) for one in (*matrices[2 * at : 2 * at + 2], *biases[2 * at : 2 * at + 2])]
    lengths = cast(c["SequenceLength"], "int32") if c.gives("SequenceLength") else None
    states = c.every("PreState")
    if len(states) != (2 if mode == "lstm" else 1):
        raise Refused(f"it has {len(states)} states")
    output, *after = layers_of(c["Input"], mode, weights, states, layers, ways, lengths)
    return {"Out": output, "State": after}


def _identity(c: Operator, order: list[int], size: int) -> Expr:
    """Returns the matrix that takes projected data apart: gates in this order, `size` columns each."""
    count = len(order)
    made = np.zeros((count * size, count * size), np.float32)
    for row, gate in enumerate(order):
        made[row * size : (row + 1) * size, gate * size : (gate + 1) * size] = np.eye(size)
    return c.constant(made)


def _state(c: Operator, slot: str, size: int) -> Expr:
    if not c.gives(slot):
        return c.constant(np.zeros((1, 1, size)), "float32")
    return op.reshape(c[slot], newshape=[1, 1, size])


def _activation(c: Operator, name: str, otherwise: str) -> str:
    found = c.value(name, otherwise)
    found = ("identity", "sigmoid", "tanh", "relu")[found] if isinstance(found, int) and 0 <= found < 4 else found
    if found not in _ACTIVATIONS or found == "identity":
        raise Refused(f"`{name}` is {found!r}, not sigmoid, tanh or relu")
    return found


def gru(c: Operator):
    """Runs over a sequence of projected rows (T, 3 H): update, reset, candidate."""
    rows = c.with_rank(2, "Input")
    size = known(shape_of(rows)[1], "a state") // 3
    weight = constant_rows(c["Weight"])
    if not isinstance(weight, np.ndarray) or weight.shape != (size, 3 * size):
        raise Refused(f"its weights have the shape {shape_of(c['Weight'])}, not {[size, 3 * size]}")
    # The matrix of the update and reset gates comes first in memory, then that of the candidate.
    flat = weight.reshape(-1)
    gates = flat[: 2 * size * size].reshape(size, 2 * size)
    recurrence = np.concatenate([gates, flat[2 * size * size :].reshape(size, size)], axis=1).T
    bias = np.zeros(3 * size, np.float32)
    if c.gives("Bias"):
        found = constant_rows(c["Bias"])
        bias = found.reshape(-1) if isinstance(found, np.ndarray) else bias
    if bias.shape != (3 * size,):
        raise Refused(f"its bias has {bias.size} elements, not {3 * size}")
    of_gate, of_state = _activation(c, "gate_activation", "sigmoid"), _activation(c, "activation", "tanh")
    data = _identity(c, [0, 1, 2], size)
    if not c.flag("origin_mode", False):  # the update gate takes the new state: 1 - sigmoid(x) = sigmoid(-x)
        if of_gate != "sigmoid":
            raise Refused(f"`gate_activation` is {of_gate!r} with this order of the update")
        sign = np.repeat([-1.0, 1.0, 1.0], size).astype(np.float32)
        recurrence, bias = recurrence * sign[:, None], bias * sign
        data = op.multiply(data, c.constant(sign[:, None]))
    weights = [data, c.constant(recurrence), c.constant(bias), c.constant(np.zeros(3 * size, np.float32))]
    direction = "reverse" if c.flag("is_reverse", False) else "forward"
    made = op.nn.gru(
        op.expand_dims(rows, axis=1), weights, [_state(c, "H0", size)], direction=direction, bias=True,
        activations=f"{of_gate},{of_state}",
    )  # fmt: skip
    return {"Hidden": op.reshape(TupleGetItem(made, 0), newshape=[shape_of(rows)[0], size])}


def gru_unit(c: Operator):
    """Does a step of gru, for rows of a batch."""
    rows, before = c.with_rank(2, "Input"), c.with_rank(2, "HiddenPrev")
    size = known(shape_of(before)[1], "a state")
    weight = op.reshape(c["Weight"], newshape=[-1])
    gates, rest = op.split(weight, [2 * size * size], axis=0)
    rows = op.add(rows, c["Bias"]) if c.gives("Bias") else rows
    inner, candidate = op.split(rows, [2 * size], axis=1)
    kinds = {"sigmoid": op.sigmoid, "tanh": op.tanh, "relu": op.nn.relu}
    of_gate, of_state = (
        kinds[_activation(c, *one)] for one in (("gate_activation", "sigmoid"), ("activation", "tanh"))
    )
    inner = of_gate(op.add(inner, op.nn.matmul(before, op.reshape(gates, newshape=[size, 2 * size]))))
    update, reset = op.split(inner, 2, axis=1)
    scaled = op.multiply(reset, before)
    fresh = of_state(op.add(candidate, op.nn.matmul(scaled, op.reshape(rest, newshape=[size, size]))))
    old, new = (update, fresh) if c.flag("origin_mode", False) else (fresh, update)
    if c.flag("origin_mode", False):
        made = op.add(op.multiply(old, before), op.multiply(op.subtract(number(1.0, "float32"), old), new))
    else:
        made = op.add(op.multiply(op.subtract(number(1.0, "float32"), new), before), op.multiply(new, old))
    return {"Hidden": made, "ResetHiddenPrev": scaled, "Gate": op.concatenate([update, reset, fresh], axis=1)}


def lstm(c: Operator):
    """Runs over a sequence of projected rows (T, 4 H): candidate, input, forget, output."""
    rows = c.with_rank(2, "Input")
    size = known(shape_of(rows)[1], "a state") // 4
    bias, weight = constant_rows(c["Bias"]), constant_rows(c["Weight"])
    if not isinstance(bias, np.ndarray) or not isinstance(weight, np.ndarray) or weight.shape != (size, 4 * size):
        raise Refused(f"its weights have the shape {shape_of(c['Weight'])}, not {[size, 4 * size]}")
    peephole, bias = c.flag("use_peepholes", True), bias.reshape(-1)
    if bias.size != (7 if peephole else 4) * size:
        raise Refused(f"its bias has {bias.size} elements, not {(7 if peephole else 4) * size}")
    order = [1, 3, 2, 0]  # input, output, forget, candidate
    parts = [bias[gate * size : (gate + 1) * size] for gate in range(bias.size // size)]
    recurrence = np.concatenate([weight[:, gate * size : (gate + 1) * size] for gate in order], axis=1).T
    weights = [_identity(c, order, size), c.constant(recurrence),
               c.constant(np.concatenate([parts[gate] for gate in order])),
               c.constant(np.zeros(4 * size, np.float32))]  # fmt: skip
    if peephole:
        weights.append(c.constant(np.concatenate([parts[4], parts[6], parts[5]])))
    names = [_activation(c, name, kind) for name, kind in (
        ("gate_activation", "sigmoid"), ("candidate_activation", "tanh"), ("cell_activation", "tanh"))]  # fmt: skip
    states = [_state(c, "H0", size), _state(c, "C0", size)]
    if "Cell" in c.operation.outputs and any(one in c.importer.used for one in c.operation.outputs["Cell"]):
        raise Refused("its cells at all steps are not imported", "use the hidden states")
    direction = "reverse" if c.flag("is_reverse", False) else "forward"
    made = op.nn.lstm(
        op.expand_dims(rows, axis=1), weights, states, direction=direction, bias=True, peephole=peephole,
        activations=",".join(names),
    )  # fmt: skip
    return {"Hidden": op.reshape(TupleGetItem(made, 0), newshape=[shape_of(rows)[0], size])}


# --- conditional random fields ----------------------------------------------------------------------------------------
def crf_decoding(c: Operator):
    """The best path through one sequence (T, tags). Transitions: those from the start, to the end, between tags."""
    if c.gives("Label") or c.gives("Length"):
        raise Refused("labels or lengths of sequences are not imported", "give one sequence")
    rows = c.with_rank(2, "Emission")
    steps, tags = shape_of(rows)
    tags = known(tags, "the number of tags")
    start, stop, between = op.split(c["Transition"], [1, 2], axis=0)
    outside = Outside()
    rows_, between_ = outside.hold(rows), outside.hold(between)
    zero, one = number(0, "int64"), number(1, "int64")
    count = outside.hold(size_number(steps))

    def forward(state: list):
        at, best, track = state
        goes_on = op.less(at, count)
        sums = op.add(op.reshape(best, newshape=[tags, 1]), between_)  # from, to
        came = cast(op.argmax(sums, axis=[0]), "int64")
        emission = op.take(rows_, at, axis=0, mode="clip")
        track_ = op.scatter_nd(track, op.reshape(at, newshape=[1, 1]), op.expand_dims(came, axis=0), mode="update")
        return goes_on, [op.add(at, one), op.add(op.max(sums, axis=[0]), emission), track_]

    first = op.add(op.reshape(start, newshape=[tags]), op.take(rows, zero, axis=0))
    track = op.zeros([steps, tags], dtype="int64")
    _, best, track = repeat([one, first, track], forward, outside)
    last = cast(op.argmax(op.add(best, op.reshape(stop, newshape=[tags])), axis=[0]), "int64")
    again = Outside()
    held = again.hold(track)

    def backward(state: list):
        at, tag, path = state
        goes_on = op.greater_equal(at, zero)
        path_ = op.scatter_nd(path, op.reshape(at, newshape=[1, 1]), op.reshape(tag, newshape=[1]), mode="update")
        came = op.take(op.take(held, at, axis=0, mode="clip"), tag, axis=0, mode="clip")
        return goes_on, [op.subtract(at, one), came, path_]

    path = op.zeros([steps], dtype="int64")
    made = repeat([op.subtract(size_number(steps), one), last, path], backward, again)[2]
    return {"ViterbiPath": op.reshape(made, newshape=[steps, 1])}


# --- one sequence -----------------------------------------------------------------------------------------------------
def softmax(c: Operator):
    return op.nn.softmax(c.x, axis=0)


def reverse(c: Operator):
    return {"Y": op.reverse(c.x, axis=0)}


def pool(c: Operator):
    kind = c.text("pooltype", "AVERAGE").upper()
    c.ignore("pad_value")
    x = c.x
    if kind in ("FIRST", "LAST"):
        begin, end = (0, 1) if kind == "FIRST" else (-1, np.iinfo(np.int64).max)
        return {"Out": op.strided_slice(x, begin=[begin], end=[int(end)], axes=[0])}
    functions = {"SUM": op.sum, "AVERAGE": op.mean, "MAX": op.max, "SQRT": op.sum}
    if kind not in functions:
        raise Refused(f"`pooltype` is {kind!r}")
    made = functions[kind](x, axis=[0], keepdims=True)
    if kind == "SQRT":
        made = op.divide(made, op.sqrt(cast(size_number(shape_of(x)[0]), c.dtype)))
    return {"Out": made}


def convolution(c: Operator):
    """Rows around each row, as one, times a matrix."""
    c.without_value("paddingTrainable", False)
    c.without_value("contextStride", 1)
    length, start = c.count("contextLength"), c.int("contextStart", 0)
    x, width = c.x, c.size(1, "it")
    before, after = max(0, -start), max(0, start + length - 1)
    padded = op.nn.pad(x, pad_width=[[before, after], [0, 0]])
    first = start + before
    windows = op.nn.im2col(
        op.expand_dims(op.expand_dims(padded, axis=0), axis=0), block_shape=[length, width], strides=[1, width]
    )
    rows = op.transpose(op.squeeze(windows, axis=[0]), axes=[1, 0])
    if first:
        rows = op.strided_slice(rows, begin=[first], end=[int(np.iinfo(np.int64).max)], axes=[0])
    return op.nn.matmul(rows, c["Filter"])
