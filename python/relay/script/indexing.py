"""Sizes, indices and slices."""

from __future__ import annotations

import ast

from .. import op
from .._core import GlobalVar, TensorType, TupleType
from ..ir.expr import const
from .base import Base
from .datatypes import is_list
from .problems import an
from .values import PENDING, POISON, Env, Sym, is_unknown


class Indexing(Base):
    """Translates x[...] and sizes of arrays."""

    def size(self, value: Sym, axis: int, node: ast.AST):
        """Returns the extent of an axis: an int if it is known, else an int32."""
        extent = value.type.shape[axis]
        if isinstance(extent, int):
            return extent
        return self.bound(
            "size", self.emit(lambda: op.take(op.shape_of(value.expr, dtype="int32"), const(axis), axis=0), node)
        )

    def elements(self, value: Sym, count: int, node: ast.AST):
        """Returns the elements of a tuple, or the rows of an array of known length, for an assignment to `count`
        variables."""
        if isinstance(value.type, TupleType):
            return self.fields(value)
        if value.is_tensor and len(value.type.shape) and isinstance(value.type.shape[0], int):
            if value.type.shape[0] != count:
                return tuple([None] * value.type.shape[0])
            return tuple(self.emit(lambda at=at: op.take(value.expr, const(at), axis=0), node) for at in range(count))
        return self.fail(
            "P0207",
            f"{an(value.type)} cannot be assigned to {count} variables",
            node,
            "take its elements one by one, or use match",
        )

    def _subscript(self, node: ast.Subscript, env: Env):
        value = self.expression(node.value, env)
        index = self._index(node.slice, env)
        if is_unknown(value) or is_unknown(*(index if isinstance(index, tuple) else (index,))):
            return PENDING if value is PENDING else POISON
        if not isinstance(value, Sym):
            if isinstance(value, (tuple, list)) and isinstance(index, Sym):
                value = self.sym(value if isinstance(value, list) else list(value), node)
                if is_unknown(value):
                    return value
            elif isinstance(index, Sym) or (isinstance(index, tuple) and any(isinstance(one, Sym) for one in index)):
                value = self.sym(value, node)
                if is_unknown(value):
                    return value
            else:
                return self.in_python(lambda: value[index], (), node)
        if isinstance(value.type, TupleType):
            if isinstance(index, int) and -len(value.type.fields) <= index < len(value.type.fields):
                return self.fields(value)[index]
            if isinstance(index, slice):
                return self.fields(value)[index]
            return self.fail(
                "P0207",
                f"the index of a tuple of {len(value.type.fields)} must be a known int in its range",
                node.slice,
                "write a number",
            )
        if is_list(value.type):
            return self._of_list(value, index, node)
        if value.is_tensor:
            return self._of_array(value, index if isinstance(index, tuple) else (index,), node)
        return self.fail("P0207", f"{an(value.type)} has no elements", node, "use match to take it apart")

    def _index(self, node: ast.expr, env: Env):
        if isinstance(node, ast.Tuple):
            return tuple(self._index(one, env) for one in node.elts)
        if isinstance(node, ast.Slice):
            parts = [None if one is None else self.expression(one, env) for one in (node.lower, node.upper, node.step)]
            if is_unknown(*parts):
                return POISON
            return slice(*parts)
        return self.expression(node, env)

    def _of_list(self, value: Sym, index, node: ast.AST):
        if isinstance(index, slice):
            if index.start == 1 and index.stop is None and index.step is None:
                return self.computed(GlobalVar("tl")(value.expr), value.type, "tail")
            return self.fail("P0207", "the only slice of a list is xs[1:]", node, "use a loop or a comprehension")
        if isinstance(index, int) and index < 0:
            return self.fail(
                "P0207",
                "a list has no elements from its end",
                node,
                "count with len(xs), or keep the last one in a variable",
            )
        at = self.sym(index, node, "int32")
        if is_unknown(at):
            return at
        if not at.is_scalar or not at.dtype.startswith("int"):
            return self.fail("P0207", f"the index of a list must be an int, but is {an(at.type)}", node, "use an int")
        at = self.cast(at, "int32", node)
        return self.computed(GlobalVar("nth")(value.expr, at.expr), value.type.args[0], "element")

    def _of_array(self, value: Sym, index: tuple, node: ast.AST):
        """Applies the parts of an index one after another, `axis` of the result so far."""
        count = sum(one is not None and one is not Ellipsis for one in index)
        if count > len(value.type.shape):
            return self.fail(
                "P0207", f"{count} indices for {an(value.type)}", node, f"give at most {len(value.type.shape)}"
            )
        if Ellipsis not in [one for one in index if not isinstance(one, Sym)]:
            index = (*index, Ellipsis)
        axis = 0
        for one in index:
            if one is Ellipsis:
                axis += (
                    len(self_type(value).shape)
                    - axis
                    - sum(part is not None and part is not Ellipsis for part in index[_at(index, Ellipsis) + 1 :])
                )
                continue
            if one is None:
                value = self.emit(lambda v=value, a=axis: op.expand_dims(v.expr, axis=a), node)
                axis += 1
            elif isinstance(one, slice):
                value = self._sliced(value, axis, one, node)
                axis += 1
            else:
                value, kept = self._taken(value, axis, one, node)
                axis += kept
            if is_unknown(value):
                return value
        return value

    def _taken(self, value: Sym, axis: int, index, node: ast.AST):
        """Returns the elements at an index, and the number of axes that stand for it."""
        extent = value.type.shape[axis]
        if isinstance(index, int) and isinstance(extent, int):
            if not -extent <= index < extent:
                return self.fail(
                    "P0207",
                    f"index {index} is out of range for an axis of {extent}",
                    node,
                    f"use an index from {-extent} to {extent - 1}",
                ), 0
            return self.emit(lambda: op.take(value.expr, const(index % extent), axis=axis), node), 0
        at = self.sym(index, node, "int32")
        if is_unknown(at):
            return at, 0
        if not at.is_tensor or not at.dtype.startswith(("int", "uint")):
            return self.fail(
                "P0207",
                f"an index must be an int, but is {an(at.type)}",
                node,
                "use ints; choose elements by a mask with np.where",
            ), 0
        end = self.sym(self.size(value, axis, node), node, at.dtype)
        if is_unknown(end):
            return end, 0
        end = self.cast(end, at.dtype, node)
        zero = const(0, at.dtype)
        return self.emit(
            lambda: op.take(
                value.expr,
                op.where(op.less(at.expr, zero), op.add(at.expr, end.expr), at.expr),
                axis=axis,
                mode="checked",
            ),
            node,
        ), len(at.type.shape)

    def _sliced(self, value: Sym, axis: int, part: slice, node: ast.AST):
        known = all(one is None or isinstance(one, int) for one in (part.start, part.stop, part.step))
        extent = value.type.shape[axis]
        if not known:
            return self.fail(
                "P0207", "the bounds of a slice must be known", node, "use a loop, or relay.take with indices"
            )
        if part == slice(None):
            return value
        step = 1 if part.step is None else part.step
        if isinstance(extent, int):
            begin, end, step = part.indices(extent)
            if step < 0:
                if (begin, end, step) != (extent - 1, -1, -1):
                    return self.fail(
                        "P0207", "the only slice with a negative step is x[::-1]", node, "reverse the array first"
                    )
                return self.emit(lambda: op.reverse(value.expr, axis=axis), node)
            end = max(begin, end)
        else:
            begin, end = part.start or 0, part.stop if part.stop is not None else 2**31 - 1
        return self.emit(
            lambda: op.strided_slice(value.expr, begin=[begin], end=[end], strides=[step], axes=[axis]), node
        )


def self_type(value: Sym) -> TensorType:
    return value.type


def _at(index: tuple, wanted) -> int:
    return next(at for at, one in enumerate(index) if one is wanted)
