"""Lists of tensors: their elements are the first axis of one expression. An element is written by a scatter, so that a
loop keeps one expression as its state."""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import op
from ..._core import Any, Dim, Expr
from .expressions import cast, dtype_of, shape_of
from .problems import Refused
from .values import Known, List, is_any, number, size_number

MOST_ELEMENTS = 1 << 28


def counted(value: List) -> List:
    """Returns a list whose number of elements is read from its elements."""
    if value.stack is None:
        return value
    return dataclasses.replace(value, count=length(value))


def length(value: List) -> Known | Expr:
    """Returns the number of elements, as an int32."""
    if value.stack is None:
        return value.count
    size = shape_of(value.stack)[0]
    if not is_any(size):
        return Known(np.asarray(size, object if isinstance(size, Dim) else np.int32), "int32")
    sizes = op.shape_of(value.stack, dtype="int32")
    return op.take(sizes, number(0, "int32"), axis=0, mode="clip")


def zeros(value: List, shape: list, dtype: str) -> List:
    """Returns a list with elements of zeros of this shape, in place of one whose elements have no shape yet."""
    if any(is_any(one) for one in shape):
        raise Refused("the sizes of its elements change from step to step", "declare the shape of its elements")
    count = value.count
    if isinstance(count, Known):
        first = count.array.reshape(-1)[0]
        if not isinstance(first, Dim) and first * int(np.prod([one for one in shape if isinstance(one, int)])) > (
            MOST_ELEMENTS
        ):
            raise Refused(f"it has {first} elements of the shape {tuple(shape)}")
        stack = op.zeros([first if isinstance(first, Dim) else int(first), *shape], dtype=dtype)
    else:
        sizes = op.stack([cast(op.reshape(count, newshape=[]), "int64"), *(size_number(one) for one in shape)], axis=0)
        stack = op.dyn.zeros(sizes, dtype=dtype)
    return List(dtype, list(shape), count, stack, value.grows)


def as_alike(a, b) -> tuple:
    """Returns two lists, one of which may have no elements yet, in one form."""
    if isinstance(a, List) and isinstance(b, List) and (a.stack is None) != (b.stack is None):
        full = a if a.stack is not None else b
        filled = zeros(a if a.stack is None else b, shape_of(full.stack)[1:], dtype_of(full.stack))
        return (filled, b) if a.stack is None else (a, filled)
    return a, b


def whole_shape(shape) -> list | None:
    """Returns the shape of an element if all of its sizes are known."""
    if shape is None or any(not isinstance(one, Dim) and one < 0 for one in shape):
        return None
    return list(shape)


def new_list(dtype: str, shape, count, grows: bool) -> List:
    made = List(dtype, shape, count, None, grows)
    whole = whole_shape(shape)
    return made if whole is None else zeros(made, whole, dtype)


def written(value: List, index: Expr, element: Expr) -> List:
    """Returns the list with another element at this index."""
    if value.stack is None:
        value = zeros(value, shape_of(element), dtype_of(element))
    index = cast(index, "int64")
    if value.grows:
        value = grown(value, index)
    place = op.reshape(index, newshape=[1, 1])
    return value.with_stack(op.scatter_nd(value.stack, place, op.expand_dims(element, axis=0), mode="update"))


def grown(value: List, index: Expr) -> List:
    """Returns the list with zeros after its end, so that the index is inside of it."""
    sizes = op.shape_of(value.stack, dtype="int64")
    own = op.take(sizes, number(0, "int64"), axis=0, mode="clip")
    more = op.maximum(op.subtract(op.add(index, number(1, "int64")), own), number(0, "int64"))
    rest = op.strided_slice(sizes, begin=[1], end=[len(shape_of(value.stack))])
    extra = op.dyn.zeros(op.concatenate([op.expand_dims(more, axis=0), rest], axis=0), dtype=dtype_of(value.stack))
    extra = _with_sizes(extra, [Any(), *shape_of(value.stack)[1:]])
    return value.with_stack(op.concatenate([value.stack, extra], axis=0))


def _with_sizes(value: Expr, sizes: list) -> Expr:
    """Returns a tensor whose sizes, computed at run time, are stated."""
    if any(isinstance(one, Dim) for one in sizes[1:]):
        return value
    return op.reshape(value, newshape=[-1, *sizes[1:]]) if 0 not in sizes[1:] else value


def element_of(value: List, index: Expr, shape=None) -> Expr:
    if value.stack is None:
        whole = whole_shape(shape) if value.shape is None else whole_shape(value.shape)
        if whole is None:
            raise Refused("it reads an element that is not written before")
        value = zeros(value, whole, value.dtype)
    return op.take(value.stack, op.reshape(index, newshape=[]), axis=0, mode="checked")


def stack_of(value: List, shape=None) -> Expr:
    if value.stack is None:
        whole = whole_shape(value.shape) or whole_shape(shape)
        if whole is None:
            raise Refused("the shape of its elements is not known", "declare the shape of its elements")
        return zeros(value, whole, value.dtype).stack
    return value.stack


def scattered(value: List, indices: Expr, elements: Expr) -> List:
    places = op.expand_dims(cast(indices, "int64"), axis=0)
    return value.with_stack(op.scatter_nd(value.stack, places, elements, mode="update"))
