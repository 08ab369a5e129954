"""Operations of keras.ops that are nodes of a functional graph, and TensorFlow's functions in Keras 2 (TFOpLambda)."""

from __future__ import annotations

import functools
import math
import string

import numpy as np

from ... import op
from ..._core import Expr
from ...ir.expr import const
from ..common.problems import Refused
from . import activations
from .conversion import (
    MOST_COPIES,
    Conversion,
    Value,
    axes_of,
    axis_of,
    bounded,
    cast,
    dtype_of,
    is_float,
    known,
    number,
    shape_of,
    tensors,
)
from .linear import l2_normalized
from .linear import matmul as product
from .shape import reshaped

_MISSING = object()


def option(c: Conversion, key: str, position: int = -1, otherwise=_MISSING):
    """Returns an argument of an operation: of the call, by name or position, or of its configuration."""
    found = c.kwargs.get(key, c.layer.config.get(key))
    if found is None and 0 <= position < len(c.args):
        found = c.args[position]
    if found is None:
        if otherwise is _MISSING:
            raise Refused(f"its argument `{key}` is missing")
        return otherwise
    return found


def _as_expr(value, dtype: str) -> Expr:
    """Returns an operand: a tensor, a number or an array, which takes this type unless it is wider."""
    if isinstance(value, Value):
        return value.expr
    if isinstance(value, bool):
        return number(value, "bool")
    if isinstance(value, (int, float)):
        return number(value, "float32" if isinstance(value, float) and not is_float(dtype) else dtype)
    try:
        made = np.asarray(value)
        if made.dtype.kind not in "fiub":
            raise ValueError(made.dtype)
    except (ValueError, TypeError) as error:
        raise Refused(f"an argument is {value!r}, not a tensor or a number") from error
    if made.dtype.kind == "f":
        made = made.astype(dtype if is_float(dtype) and dtype != "bfloat16" else "float32")
    return const(made)


def _promoted(*values) -> list:
    """Returns operands with a common type: floats before integers before bool, wide before narrow."""
    types = [dtype_of(one) for one in values]
    floats = [one for one in types if is_float(one)]
    if floats:
        wanted = "float32" if {"float16", "bfloat16"} <= set(floats) else max(floats, key=lambda one: int(one[-2:]))
    else:
        wanted = functools.reduce(lambda a, b: np.promote_types(a, b).name, types)
    return [cast(one, wanted) for one in values]


def operands(c: Conversion, *names: str) -> list:
    """Returns the tensors of an operation with several, with a common type."""
    given = [option(c, name, place) for place, name in enumerate(names)]
    first = next((one.expr for one in given if isinstance(one, Value)), None)
    dtype = "float32" if first is None else dtype_of(first)
    return _promoted(*(_as_expr(one, dtype) for one in given))


def binary(function, *names: str):
    return lambda c: function(*operands(c, *(names or ("x1", "x2"))))


def _x(c: Conversion) -> Expr:
    """Returns the first operand, a tensor."""
    found = tensors(c.args) or tensors(c.kwargs)
    if not found:
        raise Refused("none of its arguments is a tensor")
    return found[0].expr


def _floating(x: Expr) -> Expr:
    return x if is_float(dtype_of(x)) else op.cast(x, "float32")


def unary(function):
    return lambda c: function(_x(c))


def unary_float(function):
    """Returns the converter of a function whose result is a float, also of integers."""
    return lambda c: function(_floating(_x(c)))


def divide(c: Conversion):
    return op.divide(*map(_floating, operands(c, "x1", "x2")))


def _axes(c: Conversion, x: Expr, key: str = "axis", position: int = 1):
    return axes_of(option(c, key, position, None), len(shape_of(x)))


def reduction(function, in_floats: bool = False):
    def convert(c: Conversion):
        x = _floating(_x(c)) if in_floats else _x(c)
        keepdims = bool(option(c, "keepdims", 2, c.layer.config.get("keep_dims", False)))
        axes = _axes(c, x)
        return function(x, axis=axes, keepdims=keepdims) if axes else x

    return convert


def _logical(function):
    return lambda x, axis, keepdims: function(op.cast(x, "bool"), axis=axis, keepdims=keepdims)


def _deviation(x, axis, keepdims):
    return op.sqrt(op.variance(x, axis=axis, keepdims=keepdims))


def _norm(x, axis, keepdims):
    return op.sqrt(op.sum(op.multiply(x, x), axis=axis, keepdims=keepdims))


def norm(c: Conversion):
    order = option(c, "ord", 1, None)
    if order not in (None, "euclidean", "fro", 2):
        raise Refused(f"the norm of the order {order!r}")
    x = _floating(_x(c))
    return _norm(x, axes_of(option(c, "axis", 2, None), len(shape_of(x))), bool(option(c, "keepdims", 3, False)))


def arg_reduction(function):
    def convert(c: Conversion):
        x = _x(c)
        axis = option(c, "axis", 1, None)
        keepdims = bool(option(c, "keepdims", 2, False))
        if axis is None:
            x, axis = op.reshape(x, newshape=[-1]), 0
        return op.cast(function(x, axis=[axis_of(axis, len(shape_of(x)))], keepdims=keepdims), "int32")

    return convert


def sort(c: Conversion):
    x = _x(c)
    return op.sort(x, axis=axis_of(option(c, "axis", 1, -1), len(shape_of(x))))


def argsort(c: Conversion):
    x = _x(c)
    return op.argsort(x, axis=axis_of(option(c, "axis", 1, -1), len(shape_of(x))), dtype="int32")


def top_k(c: Conversion):
    k = option(c, "k", 1)
    made = op.topk(_x(c), k=k, axis=-1, dtype="int32")
    return [made[0], made[1]]


def cumulative(function):
    def convert(c: Conversion):
        x = _x(c)
        axis = option(c, "axis", 1, None)
        if axis is None:
            x, axis = op.reshape(x, newshape=[-1]), 0
        return function(x, axis=axis_of(axis, len(shape_of(x))))

    return convert


# --- shapes -----------------------------------------------------------------------------------------------------------
def _ints(value, what: str) -> list[int]:
    value = [value] if type(value) is int else value
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list) or not all(one is None or type(one) is int for one in value):
        raise Refused(f"{what} is {value!r}, not whole numbers that are known at import")
    return [-1 if one is None else one for one in value]


def reshape(c: Conversion):
    x, sizes = _x(c), _ints(option(c, "newshape", -1, None) or option(c, "shape", 1), "the shape")
    held = shape_of(x)
    if sizes and sizes[0] == -1 and not isinstance(held[0], int) and sizes.count(-1) <= 2:
        sizes = [held[0], *sizes[1:]] if sizes.count(-1) == 2 or _keeps_batch(held, sizes) else sizes
    return reshaped(x, sizes)


def _keeps_batch(held: list, sizes: list) -> bool:
    rest = held[1:]
    return all(isinstance(one, int) for one in rest) and math.prod(rest) == math.prod(sizes[1:])


def transpose(c: Conversion):
    x = _x(c)
    axes = option(c, "axes", 1, option(c, "perm", 1, None))
    return op.transpose(x, axes=_ints(axes, "the order of axes") if axes is not None else None)


def permuted(move):
    """Returns the converter of an operation that exchanges axes. move(axes, first, second): the new order."""

    def convert(c: Conversion):
        x = _x(c)
        rank = len(shape_of(x))
        names = ("axis1", "axis2") if move is _swapped else ("source", "destination")
        given = [option(c, name, place) for place, name in enumerate(names, 1)]
        pairs = [[one] if type(one) is int else one for one in given]
        return op.transpose(x, axes=move(rank, *([axis_of(one, rank) for one in pair] for pair in pairs)))

    return convert


def _swapped(rank: int, first: list, second: list) -> list[int]:
    order = list(range(rank))
    order[first[0]], order[second[0]] = second[0], first[0]
    return order


def _moved(rank: int, sources: list, targets: list) -> list[int]:
    order = [one for one in range(rank) if one not in sources]
    for target, source in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source)
    return order


def expand_dims(c: Conversion):
    made = _x(c)
    axes = option(c, "axis", 1)
    axes = [axes] if type(axes) is int else axes
    rank = len(shape_of(made)) + len(axes)
    for axis in sorted(axis_of(one, rank) for one in axes):
        made = op.expand_dims(made, axis=axis)
    return made


def squeeze(c: Conversion):
    x = _x(c)
    axes = option(c, "axis", 1, None)
    axes = [one for one, size in enumerate(shape_of(x)) if size == 1] if axes is None else _axes(c, x)
    return op.squeeze(x, axis=axes)


def concatenate(c: Conversion):
    found = _promoted(*(one.expr for one in c.inputs)) if len(c.inputs) > 1 else [c.x]
    axis = axis_of(option(c, "axis", 1, 0), len(shape_of(found[0])))
    return op.concatenate(found, axis=axis)


def stack(c: Conversion):
    found = _promoted(*(one.expr for one in c.inputs))
    return op.stack(found, axis=axis_of(option(c, "axis", 1, 0), len(shape_of(found[0])) + 1))


def split(c: Conversion):
    x = _x(c)
    parts = option(c, "indices_or_sections", 1, option(c, "num_or_size_splits", 1, None))
    axis = axis_of(option(c, "axis", 2, 0), len(shape_of(x)))
    if "num_or_size_splits" in c.kwargs and isinstance(parts, list):
        parts = np.cumsum(parts[:-1]).tolist()
    bounded(parts if type(parts) is int else len(parts), MOST_COPIES, "the number of parts")
    made = op.split(x, indices_or_sections=parts, axis=axis)
    return [made[place] for place in range(parts if type(parts) is int else len(parts) + 1)]


def unstack(c: Conversion):
    x = _x(c)
    axis = axis_of(option(c, "axis", 2, 0), len(shape_of(x)))
    count = known(shape_of(x)[axis], "the number of parts")
    bounded(count, MOST_COPIES, "the number of parts")
    made = op.split(x, indices_or_sections=count, axis=axis)
    return [op.squeeze(made[place], axis=[axis]) for place in range(count)]


def tile(c: Conversion):
    x = _x(c)
    return op.tile(x, reps=_ints(option(c, "repeats", 1, option(c, "multiples", 1, None)), "the repetitions"))


def repeat(c: Conversion):
    x, count, axis = _x(c), option(c, "repeats", 1), option(c, "axis", 2, None)
    if type(count) is not int:
        raise Refused(f"`repeats` is {count!r}, not a whole number")
    if axis is None:
        x, axis = op.reshape(x, newshape=[-1]), 0
    return op.repeat(x, repeats=count, axis=axis_of(axis, len(shape_of(x))))


def flip(c: Conversion):
    made = _x(c)
    for axis in _axes(c, made):
        made = op.reverse(made, axis=axis)
    return made


def roll(c: Conversion):
    x, shift, axis = _x(c), option(c, "shift", 1), option(c, "axis", 2, None)
    if type(shift) is not int or type(axis) is not int:
        raise Refused("it rolls along several axes or none")
    axis = axis_of(axis, len(shape_of(x)))
    size = known(shape_of(x)[axis], "the rolled axis")
    shift %= size
    if shift == 0:
        return x
    parts = op.split(x, indices_or_sections=[size - shift], axis=axis)
    return op.concatenate([parts[1], parts[0]], axis=axis)


def pad(c: Conversion):
    x = _x(c)
    rank = len(shape_of(x))
    width = option(c, "pad_width", 1, option(c, "paddings", 1, None))
    width = width.tolist() if isinstance(width, np.ndarray) else width
    if type(width) is int:
        width = [[width, width]] * rank
    elif isinstance(width, list) and width and type(width[0]) is int:
        width = [width] * rank
    elif isinstance(width, list) and len(width) == 1:
        width = width * rank
    mode = str(option(c, "mode", 2, "constant")).lower()
    value = option(c, "constant_values", 3, 0)
    pairs = [tuple(_ints(one, "the padding")) for one in width]
    if mode == "constant":
        return op.nn.pad(x, pad_width=pairs, pad_value=float(value or 0))
    if mode in ("reflect", "symmetric"):
        return op.nn.mirror_pad(x, pad_width=pairs, mode=mode.upper())
    raise Refused(f"the padding {mode!r}", "use constant, reflect or symmetric")


def broadcast_to(c: Conversion):
    return op.broadcast_to(_x(c), shape=_ints(option(c, "shape", 1), "the shape"))


def get_item(c: Conversion):
    """x[..., 1:3, None, 0]."""
    key = option(c, "slice_spec", 1, option(c, "key", 1, None))
    keys = key if isinstance(key, list) else [key]
    x = _x(c)
    rank = len(shape_of(x))
    if any(isinstance(one, Value) for one in tensors(keys)):
        raise Refused("an index is a tensor", "use keras.ops.take")
    used = sum(one is not None and one is not Ellipsis for one in keys)
    if Ellipsis in [one for one in keys if one is Ellipsis]:
        place = next(place for place, one in enumerate(keys) if one is Ellipsis)
        keys = [*keys[:place], *[slice(None)] * (rank - used), *keys[place + 1 :]]
    axis, squeezed, made = 0, [], x
    for one in keys:
        if one is None:
            made = op.expand_dims(made, axis=axis)
        elif type(one) is int:
            end = one + 1 if one != -1 else 2**31 - 1
            made = op.strided_slice(made, begin=[one], end=[end], axes=[axis])
            squeezed.append(axis)
        elif isinstance(one, slice):
            made = _sliced(made, one, axis)
        else:
            raise Refused(f"an index is {one!r}")
        axis += 1
    return op.squeeze(made, axis=squeezed) if squeezed else made


def _sliced(x, part: slice, axis: int):
    begin, end, step = part.start, part.stop, 1 if part.step is None else part.step
    if any(one is not None and type(one) is not int for one in (begin, end, step)) or step == 0:
        raise Refused(f"a slice is {part}, not of whole numbers that are known at import")
    if (begin, end, step) == (None, None, 1):
        return x
    if step < 0:
        begin = 2**31 - 1 if begin is None else begin
        end = -(2**31) if end is None else end
    return op.strided_slice(x, begin=[begin or 0], end=[2**31 - 1 if end is None else end], strides=[step], axes=[axis])


# --- choice, conversion -----------------------------------------------------------------------------------------------
def take(c: Conversion):
    x = option(c, "x", 0, option(c, "params", 0, None))
    x = _as_expr(x, "float32")
    indices = option(c, "indices", 1)
    indices = _as_expr(indices, "int32")
    axis = option(c, "axis", 2, None)
    if axis is None:
        if "params" in c.kwargs or c.layer.kind == "TFOpLambda":
            axis = 0
        else:
            x, axis = op.reshape(x, newshape=[-1]), 0
    axis = axis_of(axis, len(shape_of(x)))
    return op.take(x, _from_the_front(indices, shape_of(x)[axis]), axis=axis, mode="clip")


def _from_the_front(indices, size):
    """Returns indices without those that count from the back."""
    indices = op.cast(indices, "int32") if dtype_of(indices) not in ("int32", "int64") else indices
    if not isinstance(size, int):
        return indices
    kind = dtype_of(indices)
    return op.where(op.less(indices, number(0, kind)), op.add(indices, number(size, kind)), indices)


def take_along_axis(c: Conversion):
    x, indices = _as_expr(option(c, "x", 0), "float32"), _as_expr(option(c, "indices", 1), "int32")
    axis = axis_of(option(c, "axis", 2, -1), len(shape_of(x)))
    return op.gather(x, axis=axis, indices=_from_the_front(indices, shape_of(x)[axis]))


def where(c: Conversion):
    condition = _as_expr(option(c, "condition", 0), "bool")
    x, y = (option(c, name, place) for place, name in enumerate(("x1", "x2"), 1))
    like = next((one.expr for one in (x, y) if isinstance(one, Value)), None)
    dtype = "float32" if like is None else dtype_of(like)
    return op.where(op.cast(condition, "bool"), *_promoted(_as_expr(x, dtype), _as_expr(y, dtype)))


def clip(c: Conversion):
    x = _x(c)
    least = option(c, "x_min", 1, option(c, "clip_value_min", 1, None))
    most = option(c, "x_max", 2, option(c, "clip_value_max", 2, None))
    return op.minimum(*_promoted(op.maximum(*_promoted(x, _as_expr(least, dtype_of(x)))), _as_expr(most, dtype_of(x))))


def to_type(c: Conversion):
    dtype = option(c, "dtype", 1)
    dtype = dtype.rpartition(".")[2] if isinstance(dtype, str) else dtype
    x = _x(c)
    if is_float(dtype_of(x)) and dtype == "bool":
        return op.not_equal(x, number(0, dtype_of(x)))
    return op.cast(x, dtype)


def full_like(value):
    def convert(c: Conversion):
        x = _x(c)
        dtype = option(c, "dtype", 9, None) or dtype_of(x)
        filled = option(c, "fill_value", 1, 0) if value is None else value
        return op.full(number(filled, dtype), shape=shape_of(x), dtype=dtype)

    return convert


def one_hot(c: Conversion):
    classes = option(c, "num_classes", 1, option(c, "depth", 1, None))
    dtype = option(c, "dtype", 3, None) or "float32"
    x = op.cast(_x(c), "int32")
    return op.one_hot(x, number(1, dtype), number(0, dtype), depth=classes, axis=option(c, "axis", 2, -1), dtype=dtype)


# --- products ---------------------------------------------------------------------------------------------------------
def matmul(c: Conversion):
    names = ("a", "b") if "b" in c.kwargs else ("x1", "x2")
    a, b = operands(c, *names)
    a = _turned(a) if option(c, "transpose_a", 9, False) else a
    b = _turned(b) if option(c, "transpose_b", 9, False) else b
    return product(a, b)


def _turned(x):
    rank = len(shape_of(x))
    return op.transpose(x, axes=[*range(rank - 2), rank - 1, rank - 2])


def dot(c: Conversion):
    a, b = operands(c, "x1", "x2")
    ranks = len(shape_of(a)), len(shape_of(b))
    if 0 in ranks:
        return op.multiply(a, b)
    if ranks[1] <= 2:
        return product(a, b)
    letters = string.ascii_lowercase
    left, right = letters[: ranks[0]], letters[ranks[0] : ranks[0] + ranks[1]]
    right = right[:-2] + left[-1] + right[-1]
    return op.einsum([a, b], equation=f"{left},{right}->{left[:-1]}{right[:-2]}{right[-1]}")


def tensordot(c: Conversion):
    a, b = operands(c, "x1", "x2")
    axes = option(c, "axes", 2, 2)
    ranks = len(shape_of(a)), len(shape_of(b))
    if type(axes) is int:
        axes = [list(range(ranks[0] - axes, ranks[0])), list(range(axes))]
    axes = [[one] if type(one) is int else one for one in axes]
    first, second = ([axis_of(one, rank) for one in part] for part, rank in zip(axes, ranks, strict=True))
    left = list(string.ascii_lowercase[: ranks[0]])
    right = list(string.ascii_uppercase[: ranks[1]])
    for one, other in zip(first, second, strict=True):
        right[other] = left[one]
    result = [one for i, one in enumerate(left) if i not in first]
    result += [one for i, one in enumerate(right) if i not in second]
    return op.einsum([a, b], equation=f"{''.join(left)},{''.join(right)}->{''.join(result)}")


def einsum(c: Conversion):
    subscripts = option(c, "subscripts", 0, option(c, "equation", 0, None))
    if not isinstance(subscripts, str) or "..." in subscripts:
        raise Refused(f"the equation {subscripts!r}", "write it without ...")
    found = _promoted(*(one.expr for one in tensors(c.args)))
    return op.einsum(found, equation=subscripts.replace(" ", ""))


def normalize(c: Conversion):
    x = _x(c)
    if option(c, "order", 2, 2) not in (2, None):
        raise Refused(f"the norm of the order {option(c, 'order', 2)!r}")
    axes = axes_of(option(c, "axis", 1, -1), len(shape_of(x)))
    return l2_normalized(x, axes, option(c, "epsilon", 3, None) or 1e-7)


def l2_normalize(c: Conversion):
    """tf.math.l2_normalize, K.l2_normalize."""
    x = _x(c)
    return l2_normalized(x, _axes(c, x), math.sqrt(option(c, "epsilon", 2, 1e-12)))


def activation(name: str, *arguments: str):
    """Returns the converter of an activation, with arguments of its configuration."""

    def convert(c: Conversion):
        given = {key: option(c, key, place, None) for place, key in enumerate(arguments, 1)}
        x = _floating(_x(c)) if name != "relu" else _x(c)
        made = {key: one for key, one in given.items() if one is not None}
        if name == "hard_sigmoid" and c.is_keras_2:
            return activations.hard_sigmoid_2(x)
        if name == "relu":
            return activations.relu(x, made.get("negative_slope", 0.0), made.get("max_value"), made.get("threshold", 0))
        return activations.FUNCTIONS[name](x, **made)

    return convert
