"""TensorLists and TensorArrays: their elements are the first axis of one expression.

The handle and the flow of a TensorArray are the same value here. An element is written by a scatter, so that a loop
keeps one expression as its state.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ... import op
from ..._core import Any, Dim, Expr
from ..shared.expressions import cast, dtype_of, shape_of
from ..shared.known import Known, is_any, size_number
from ..shared.problems import Refused
from .conversion import Conversion
from .values import Absent, List, number

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


def _whole(shape) -> list | None:
    """Returns the shape of an element if all of its sizes are known."""
    if shape is None or any(not isinstance(one, Dim) and one < 0 for one in shape):
        return None
    return list(shape)


def _new(dtype: str, shape, count, grows: bool) -> List:
    made = List(dtype, shape, count, None, grows)
    whole = _whole(shape)
    return made if whole is None else zeros(made, whole, dtype)


def _list(c: Conversion, place: int = 0) -> List:
    found = c.value(place)
    if not isinstance(found, List):
        raise Refused(f"its input {place} is not a list of tensors")
    return found


def _element_shape(c: Conversion, place: int) -> list | None:
    """Returns the shape of elements that an input declares, with -1 for open sizes; None for none at all."""
    found = c.known(place)
    if found is None or found.ndim == 0:
        return None
    return [one if isinstance(one, Dim) else int(one) for one in found]


def _count(c: Conversion, place: int):
    found = c.value(place)
    return found if isinstance(found, Known) else op.reshape(c.expr(place), newshape=[])


def _written(value: List, index: Expr, element: Expr) -> List:
    """Returns the list with another element at this index."""
    if value.stack is None:
        value = zeros(value, shape_of(element), dtype_of(element))
    index = cast(index, "int64")
    if value.grows:
        value = _grown(value, index)
    place = op.reshape(index, newshape=[1, 1])
    return value.with_stack(op.scatter_nd(value.stack, place, op.expand_dims(element, axis=0), mode="update"))


def _grown(value: List, index: Expr) -> List:
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


def _element(value: List, index: Expr, shape=None) -> Expr:
    if value.stack is None:
        whole = _whole(shape) if value.shape is None else _whole(value.shape)
        if whole is None:
            raise Refused("it reads an element that is not written before")
        value = zeros(value, whole, value.dtype)
    return op.take(value.stack, op.reshape(index, newshape=[]), axis=0, mode="checked")


def _stack(value: List, shape=None) -> Expr:
    if value.stack is None:
        whole = _whole(value.shape) or _whole(shape)
        if whole is None:
            raise Refused("the shape of its elements is not known", "declare the shape of its elements")
        return zeros(value, whole, value.dtype).stack
    return value.stack


# --- TensorList -------------------------------------------------------------------------------------------------------
def reserve(c: Conversion):
    return _new(c("element_dtype"), _element_shape(c, 0), _count(c, 1), False)


def empty(c: Conversion):
    made = List(c("element_dtype"), _element_shape(c, 0), Known(np.asarray(0, np.int32)))
    whole = _whole(made.shape)
    return made if whole is None else zeros(made, whole, made.dtype)


def from_tensor(c: Conversion):
    made = List(c.dtype(0), shape_of(c.x)[1:], Known(np.asarray(0, np.int32)), c.x)
    return counted(made)


def get_item(c: Conversion):
    return _element(_list(c), c.expr(1), _element_shape(c, 2) if c.has(2) else None)


def set_item(c: Conversion):
    value = dataclasses.replace(_list(c), grows=bool(c("resize_if_index_out_of_bounds", False)))
    return dataclasses.replace(_written(value, op.reshape(c.expr(1), newshape=[]), c.expr(2)), grows=False)


def push_back(c: Conversion):
    value, element = _list(c), op.expand_dims(c.expr(1), axis=0)
    if value.stack is None:
        value = zeros(value, shape_of(c.expr(1)), c.dtype(1))
    return counted(value.with_stack(op.concatenate([value.stack, element], axis=0)))


def pop_back(c: Conversion):
    value = _list(c)
    if value.stack is None:
        raise Refused("it takes an element from an empty list")
    rank = len(shape_of(value.stack))
    last = op.strided_slice(value.stack, begin=[-1], end=[np.iinfo(np.int64).max], strides=[1], axes=[0])
    rest = op.strided_slice(value.stack, begin=[0], end=[-1], strides=[1], axes=[0])
    element = op.reshape(last, newshape=shape_of(value.stack)[1:]) if rank else last
    return [counted(value.with_stack(rest)), element]


def list_stack(c: Conversion):
    return _stack(_list(c), _element_shape(c, 1) if c.has(1) else None)


def list_length(c: Conversion):
    return length(_list(c))


def list_gather(c: Conversion):
    return op.take(_stack(_list(c)), c.expr(1), axis=0, mode="checked")


def list_scatter(c: Conversion):
    """TensorListScatterV2(tensor, indices, element_shape, num_elements)."""
    count = _count(c, 3) if c.has(3) else Known(np.asarray(-1, np.int32))
    if isinstance(count, Known) and not count.is_symbolic and int(count.array.reshape(-1)[0]) < 0:
        highest = op.add(op.max(c.expr(1)), number(1, c.dtype(1)))
        known = c.known(1)
        count = highest if known is None else Known(np.asarray(int(known.max()) + 1 if known.size else 0, np.int32))
    value = zeros(List(c.dtype(0), None, count), shape_of(c.x)[1:], c.dtype(0))
    return _scattered(value, c.expr(1), c.x)


def _scattered(value: List, indices: Expr, elements: Expr) -> List:
    places = op.expand_dims(cast(indices, "int64"), axis=0)
    return value.with_stack(op.scatter_nd(value.stack, places, elements, mode="update"))


def list_concat(c: Conversion):
    value = _list(c)
    stack = _stack(value)
    shape = shape_of(stack)
    if len(shape) < 2:
        raise Refused("its elements have no axis to be joined along")
    made = op.reshape(stack, newshape=[-1, *shape[2:]])
    count = length(value)
    count = count.expr() if isinstance(count, Known) else count
    lengths = op.dyn.full(size_number(shape[1]), op.expand_dims(cast(count, "int64"), axis=0), dtype="int64")
    return [made, lengths]


def list_concat_lists(c: Conversion):
    a, b = as_alike(_list(c, 0), _list(c, 1))
    if a.stack is None:
        return a
    return counted(a.with_stack(op.concatenate([a.stack, b.stack], axis=0)))


def list_split(c: Conversion):
    """TensorListSplit(tensor, element_shape, lengths): all lengths must be equal."""
    lengths = c.ints(2, "the lengths of its elements")
    if not lengths or len(set(lengths)) != 1:
        raise Refused("its elements have different lengths")
    return counted(List(c.dtype(0), None, Known(np.asarray(len(lengths), np.int32)),
                        op.reshape(c.x, newshape=[len(lengths), lengths[0], *shape_of(c.x)[1:]])))  # fmt: skip


def list_resize(c: Conversion):
    value, count = _list(c), c.int(1, "its size")
    if value.stack is None:
        return dataclasses.replace(value, count=Known(np.asarray(count, np.int32)))
    shape = shape_of(value.stack)
    if isinstance(shape[0], Dim):
        raise Refused("the size before it is known only at run time")
    if count <= shape[0]:
        return counted(value.with_stack(op.strided_slice(value.stack, begin=[0], end=[count], strides=[1], axes=[0])))
    more = op.zeros([count - shape[0], *shape[1:]], dtype=dtype_of(value.stack))
    return counted(value.with_stack(op.concatenate([value.stack, more], axis=0)))


def list_element_shape(c: Conversion):
    value = _list(c)
    shape = shape_of(value.stack)[1:] if value.stack is not None else _whole(value.shape)
    if shape is None or any(isinstance(one, Dim) for one in shape):
        raise Refused("the shape of its elements is not known")
    return Known(np.asarray(shape, np.dtype(c("shape_type", "int32"))))


# --- TensorArray ------------------------------------------------------------------------------------------------------
def array(c: Conversion):
    made = _new(c("dtype"), c("element_shape", None), _count(c, 0), bool(c("dynamic_size", False)))
    return [made, made]


def _flow(c: Conversion, place: int) -> List:
    found = c.value(place)
    return found if isinstance(found, List) else _list(c)


def array_write(c: Conversion):
    return _written(_flow(c, 3), op.reshape(c.expr(1), newshape=[]), c.expr(2))


def array_read(c: Conversion):
    return _element(_flow(c, 2), c.expr(1))


def array_gather(c: Conversion):
    value = _flow(c, 2)
    stack = _stack(value, c("element_shape", None))
    if _is_all(c.known(1), shape_of(stack)[0]):
        return stack
    return op.take(stack, c.expr(1), axis=0, mode="checked")


def _is_all(indices, size) -> bool:
    """Returns true for the indices 0, 1, .. of all elements."""
    return indices is not None and isinstance(size, int) and np.array_equal(indices, np.arange(size))


def array_scatter(c: Conversion):
    value, elements = _flow(c, 3), c.expr(2)
    if value.stack is None:
        known = value.count.array.reshape(-1)[0] if isinstance(value.count, Known) else None
        if _is_all(c.known(1), known) or value.grows:
            return counted(value.with_stack(elements))
        value = zeros(value, shape_of(elements)[1:], dtype_of(elements))
    elif value.grows:
        value = _grown(value, op.max(cast(c.expr(1), "int64")))
    return _scattered(value, c.expr(1), elements)


def array_size(c: Conversion):
    return length(_flow(c, 1))


def array_concat(c: Conversion):
    stack = _stack(_flow(c, 1))
    shape = shape_of(stack)
    if len(shape) < 2:
        raise Refused("its elements have no axis to be joined along")
    made = op.reshape(stack, newshape=[-1, *shape[2:]])
    count, own = shape[0], shape[1]
    if isinstance(count, Dim) or isinstance(own, Dim):
        return [made, Absent("the lengths of elements that are not known")]
    return [made, Known(np.full(count, own, np.int64))]


def array_split(c: Conversion):
    """TensorArraySplitV3(handle, value, lengths, flow): all lengths must be equal."""
    lengths, value, elements = c.ints(2, "the lengths of its elements"), _flow(c, 3), c.expr(1)
    if not lengths or len(set(lengths)) != 1:
        raise Refused("its elements have different lengths")
    shape = [len(lengths), lengths[0], *shape_of(elements)[1:]]
    return counted(value.with_stack(op.reshape(elements, newshape=shape)))
