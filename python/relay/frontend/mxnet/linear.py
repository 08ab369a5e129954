"""Operators of MXNet that multiply: convolutions, products, tables, recurrent layers."""

from __future__ import annotations

import math

import numpy as np

from ... import op
from ..._core import Constant, Expr
from ..shared.expressions import dtype_of, known, shape_of
from ..shared.node import MOST_WINDOW
from ..shared.problems import Refused
from ..shared.recurrent import GATES, layers_of, ordered
from ..shared.windows import CONVOLUTIONS, TRANSPOSED, layout, to_first, to_last
from .conversion import Operator

_TUNING = ("workspace", "cudnn_tune", "cudnn_off")


def channels_last(c: Operator, rank: int) -> bool:
    """Returns true if the channels of images with this many axes of space are the last axis."""
    if rank not in CONVOLUTIONS or c.rank != rank + 2:
        raise Refused(f"its input has {c.rank} axes for windows of {rank}")
    first, last = layout(rank, True), layout(rank, False)
    return c.text("layout", first, (first, last)) == last


def with_bias(c: Operator, made: Expr, position: int, count: int, no_bias: bool, axis: int = 1) -> Expr:
    if no_bias:
        return made
    return op.nn.bias_add(made, c.shaped(position, [count], "the bias"), axis=axis)


def convolution(c: Operator):
    c.ignore(*_TUNING)
    window = c.ints("kernel")
    rank, filters, groups = len(window), c.count("num_filter"), c.count("num_group", 1)
    is_last = channels_last(c, rank)
    x = to_first(c.x) if is_last else c.x
    kernel = to_first(c.input(1)) if is_last else c.input(1)
    channels = known(shape_of(x)[1], "the kernel")
    wanted = [filters, channels // groups, *window]
    if channels % groups or filters % groups or shape_of(kernel) != wanted:
        raise Refused(f"the kernel has the shape {shape_of(kernel)}, not {wanted}", "take the weights of this network")
    made = CONVOLUTIONS[rank](
        x, kernel, strides=_each(c, "stride", rank, 1), padding=_each(c, "pad", rank, 0) * 2,
        dilation=_each(c, "dilate", rank, 1), groups=groups, channels=filters, kernel_size=window,
    )  # fmt: skip
    made = with_bias(c, made, 2, filters, c.flag("no_bias"))
    return to_last(made) if is_last else made


def _each(c: Operator, name: str, rank: int, otherwise: int) -> list[int]:
    """Returns a number for each axis of space; the default if the attribute is an empty list."""
    found = c.ints(name, []) or [otherwise] * rank
    found = found * rank if len(found) == 1 else found
    if len(found) != rank or any(not min(otherwise, 1) <= one <= MOST_WINDOW for one in found):
        raise Refused(f"`{name}` is {tuple(found)}, not {rank} numbers from {otherwise} to {MOST_WINDOW}")
    return found


def deconvolution(c: Operator):
    c.ignore(*_TUNING)
    window = c.ints("kernel")
    rank, filters, groups = len(window), c.count("num_filter"), c.count("num_group", 1)
    is_last = channels_last(c, rank)
    x = to_first(c.x) if is_last else c.x
    kernel = to_first(c.input(1)) if is_last else c.input(1)
    channels = known(shape_of(x)[1], "the kernel")
    wanted = [channels, filters // groups, *window]
    if shape_of(kernel) != wanted:
        raise Refused(f"the kernel has the shape {shape_of(kernel)}, not {wanted}", "take the weights of this network")
    strides, padding, more = _each(c, "stride", rank, 1), _each(c, "pad", rank, 0), _each(c, "adj", rank, 0)
    dilation, target = _each(c, "dilate", rank, 1), c.ints("target_shape", [])
    if target and any(target):
        sizes = [known(one, "`target_shape`") for one in shape_of(x)[2:]]
        whole = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(sizes, strides, window, dilation, strict=True)]
        if len(target) != rank or any(one > all_ for one, all_ in zip(target, whole, strict=True)):
            raise Refused(f"`target_shape` is {target}, beyond {whole}")
        left = [all_ - one for one, all_ in zip(target, whole, strict=True)]
        padding, more = [(one + 1) // 2 for one in left], [one % 2 for one in left]
    made = TRANSPOSED[rank](
        x, kernel, strides=strides, padding=padding * 2, output_padding=more, dilation=dilation, groups=groups,
        channels=filters, kernel_size=window,
    )  # fmt: skip
    made = with_bias(c, made, 2, filters, c.flag("no_bias", True))
    return to_last(made) if is_last else made


def fully_connected(c: Operator):
    units, no_bias = c.count("num_hidden"), c.flag("no_bias")
    flat, outer = c.x, None
    if c.flag("flatten", True):
        flat = op.nn.batch_flatten(c.x) if c.rank != 2 else c.x
    elif c.rank != 2:
        outer = c.shape[:-1]
        flat = op.reshape(c.x, [-1, c.size(-1, "a product")])
    inputs = known(shape_of(flat)[1], "a product")
    made = op.nn.dense(flat, c.shaped(1, [units, inputs], "the matrix"), units=units)
    made = with_bias(c, made, 2, units, no_bias)
    return made if outer is None else op.reshape(made, [*outer, units])


def embedding(c: Operator):
    c.ignore("dtype", "sparse_grad")
    table = c.shaped(1, [c.count("input_dim"), c.count("output_dim")], "the table")
    return op.take(table, op.cast(c.x, "int32"), axis=0, mode="clip")


def dot(c: Operator):
    """The sum over the last axis of the first tensor and the first axis of the second."""
    c.ignore("forward_stype")
    a, b = c.counted(2)
    left, right = shape_of(a), shape_of(b)
    if c.flag("transpose_a"):
        a, left = op.transpose(a, axes=[*range(1, len(left)), 0]), [*left[1:], left[0]]
    if c.flag("transpose_b"):
        b, right = op.transpose(b, axes=[len(right) - 1, *range(len(right) - 1)]), [right[-1], *right[:-1]]
    inner = known(left[-1], "a product")
    rows = math.prod(known(one, "a product") for one in left[:-1])
    columns = math.prod(known(one, "a product") for one in right[1:])
    made = op.nn.matmul(op.reshape(a, [rows, inner]), op.reshape(b, [inner, columns]))
    return op.reshape(made, [*left[:-1], *right[1:]])


def batch_dot(c: Operator):
    c.ignore("forward_stype")
    a, b = c.counted(2)
    sizes = shape_of(a)
    outer = [known(one, "a product") for one in sizes[:-2]]
    flat = [op.reshape(one, [math.prod(outer), *shape_of(one)[-2:]]) if len(outer) != 1 else one for one in (a, b)]
    made = op.nn.batch_matmul(*flat, transpose_a=c.flag("transpose_a"), transpose_b=c.flag("transpose_b"))
    return op.reshape(made, [*outer, *shape_of(made)[-2:]]) if len(outer) != 1 else made


# --- attention --------------------------------------------------------------------------------------------------------
def _heads(c: Operator, x: Expr, count: int, parts: int) -> list[Expr]:
    """Returns the interleaved projections (L, N, heads * parts * size) as parts (N * heads, L, size)."""
    steps, batch, width = (known(one, "attention") for one in shape_of(x))
    if width % (count * parts):
        raise Refused(f"{width} features are not {parts} parts of {count} heads")
    size = width // (count * parts)
    apart = op.reshape(x, [steps, batch, count, parts, size])
    taken = (op.squeeze(one, axis=[3]) for one in op.split(apart, parts, axis=3))
    return [op.reshape(op.transpose(one, axes=[1, 2, 0, 3]), [batch * count, steps, size]) for one in taken]


def self_attention_scores(c: Operator):
    query, key, _ = _heads(c, c.x, c.count("heads"), 3)
    query = op.divide(query, c.number(math.sqrt(shape_of(query)[2])))
    return op.nn.batch_matmul(query, key, transpose_b=True)


def self_attention_values(c: Operator):
    heads = c.count("heads")
    _, _, value = _heads(c, c.x, heads, 3)
    return _merged(op.nn.batch_matmul(c.input(1), value, transpose_b=False), heads)


def cross_attention_scores(c: Operator):
    heads = c.count("heads")
    [query], [key, _] = _heads(c, c.x, heads, 1), _heads(c, c.input(1), heads, 2)
    query = op.divide(query, c.number(math.sqrt(shape_of(query)[2])))
    return op.nn.batch_matmul(query, key, transpose_b=True)


def cross_attention_values(c: Operator):
    heads = c.count("heads")
    _, value = _heads(c, c.x, heads, 2)
    return _merged(op.nn.batch_matmul(c.input(1), value, transpose_b=False), heads)


def _merged(x: Expr, heads: int) -> Expr:
    """Returns (N * heads, L, size) as (L, N, heads * size)."""
    groups, steps, size = shape_of(x)
    apart = op.reshape(x, [groups // heads, heads, steps, size])
    return op.reshape(op.transpose(apart, axes=[2, 0, 1, 3]), [steps, groups // heads, heads * size])


# --- recurrent layers -------------------------------------------------------------------------------------------------
def rnn(c: Operator):
    """All layers of a recurrent network. The parameters are one vector: all matrices, then all biases."""
    c.ignore("p")
    mode, layers, size = c.text("mode", among=tuple(GATES)), c.count("num_layers", most=100), c.count("state_size")
    ways, gates = 2 if c.flag("bidirectional") else 1, len(GATES[mode])
    if c.has("projection_size") or c.flag("use_sequence_length") or c.flag("lstm_state_clip_nan") or c.has(
        "lstm_state_clip_min") or c.has("lstm_state_clip_max"):  # fmt: skip
        raise Refused("projections, lengths of sequences and clipped states are not imported", "use plain layers")
    vector = c.array(1, "the vector of all weights").reshape(-1)
    inputs, at, matrices, biases = c.size(2, "the weights"), 0, [], []

    def take(rows: int, columns: int | None) -> np.ndarray:
        nonlocal at
        count = rows * (columns or 1)
        if at + count > vector.size:
            raise Refused(f"it has {vector.size} weights, and more are needed", "take the weights of this network")
        at += count
        found = vector[at - count : at]
        return ordered(found.reshape(rows, columns) if columns else found, mode, size)

    for layer in range(layers):
        for _ in range(ways):
            width = inputs if layer == 0 else size * ways
            matrices.append((take(gates * size, width), take(gates * size, size)))
    for _ in range(layers * ways):
        biases.append((take(gates * size, None), take(gates * size, None)))
    if at != vector.size:
        raise Refused(f"it has {vector.size} weights, and takes {at}", "take the weights of this network")
    weights = [c.constant(one) for pair, bias in zip(matrices, biases, strict=True) for one in (*pair, *bias)]
    states = [c.input(2), c.input(3)] if mode == "lstm" else [c.input(2)]
    batch = shape_of(c.x)[1]
    states = [_spread(one, layers * ways, batch, size) for one in states]
    output, *made = layers_of(c.x, mode, weights, states, layers, ways)
    return [output, *made] if c.flag("state_outputs") or len(c.node.outputs) > 1 else [output]


def _spread(state: Expr, count: int, batch, size: int) -> Expr:
    """Returns a state for all sequences; MXNet repeats one of a single sequence, and zeros of an open number."""
    found = shape_of(state)
    if found[1] == 0:
        return op.zeros([count, batch, size], dtype_of(state))
    if found[1] == batch:
        return state
    return op.broadcast_to(state, [count, batch, size])


def joined_parameters(c: Operator):
    """Vectors one after another; known at import, because RNN needs them then."""
    c.ignore("num_args", "dim")
    if not all(isinstance(one, Constant) for one in c.inputs):
        raise Refused("the weights of a recurrent layer are computed at run time", "make them constants")
    return c.constant(np.concatenate([c.array(place, "weights").reshape(-1) for place in range(len(c.inputs))]))
