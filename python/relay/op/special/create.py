"""Creation of tensors: numbers, ranges, one-hot and dense forms."""

from __future__ import annotations

from ...ir.expr import TupleWrapper, const
from .call import dtype_of, is_computed, number, op_call, values_of


def _arange(start, stop=None, step=None, dtype="float32"):
    """arange(5), arange(1, 5) or arange(0, 1, 0.25), with numbers or expressions."""
    if stop is None:
        start, stop = 0, start
    bounds = {"start": start, "stop": stop, "step": 1 if step is None else step}
    known = {name: float(value) for name, value in bounds.items() if isinstance(value, (int, float))}
    return op_call("arange", [number(value, dtype) for value in bounds.values()], dtype=dtype, **known)


def _full(fill_value, shape=(), dtype=None):
    """shape is a list, or an expression, which gives dyn.full."""
    if isinstance(fill_value, (int, float)):
        fill_value = const(fill_value, dtype or None)
    if is_computed(shape):
        return op_call("dyn.full", [fill_value, shape], dtype=dtype)
    return op_call("full", [fill_value], shape=values_of(shape), dtype=dtype)


def _filled(name: str):
    def filled(shape, dtype=None):
        if is_computed(shape):
            return op_call(f"dyn.{name}", [shape], dtype=dtype)
        return op_call(name, [], shape=values_of(shape), dtype=dtype)

    filled.__doc__ = f"shape is a list, or an expression, which is passed to dyn.{name}."
    return filled


def _one_hot(indices, on_value, off_value, depth, axis=-1, dtype=None):
    """depth is a number, or an expression, which gives dyn.one_hot."""
    operands = [indices, on_value, off_value]
    if is_computed(depth):
        return op_call("dyn.one_hot", [*operands, depth], axis=axis, dtype=dtype)
    return op_call("one_hot", operands, depth=values_of(depth), axis=axis, dtype=dtype)


def _sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0):
    """output_shape is a list, or an expression, which gives dyn.sparse_to_dense."""
    default = number(default_value, dtype_of(sparse_values, "float32"))
    operands = [sparse_indices, sparse_values, default]
    if is_computed(output_shape):
        return op_call("dyn.sparse_to_dense", [*operands, output_shape])
    return op_call("sparse_to_dense", operands, output_shape=values_of(output_shape))


def _sparse_reshape(sparse_indices, prev_shape, new_shape):
    """Returns (new indices, new shape)."""
    return TupleWrapper(op_call("sparse_reshape", [sparse_indices, prev_shape, new_shape]), 2)


FUNCTIONS = {
    "arange": _arange,
    "full": _full,
    "one_hot": _one_hot,
    "ones": _filled("ones"),
    "sparse_reshape": _sparse_reshape,
    "sparse_to_dense": _sparse_to_dense,
    "zeros": _filled("zeros"),
}
