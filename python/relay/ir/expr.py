"""Expressions: the classes of the language, and shorthands for building them.

    x = relay.var("x", shape=(1, "n"))
    w = relay.const(weights)
    f = relay.Function([x], relay.nn.relu(x * w) + x)
    mod = relay.IRModule({"main": f})

Expressions are immutable and compare by identity: an expression that is used twice is computed once.
"""

from __future__ import annotations

import numpy as np

from .. import _core
from .._core import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Span,
    Tuple,
    TupleGetItem,
    Var,
)
from ..data.arrays import as_numpy, converted, own_array
from ..errors import bad_literal

__all__ = [
    "Call",
    "Constant",
    "Expr",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "Op",
    "RefCreate",
    "RefRead",
    "RefWrite",
    "Span",
    "Tuple",
    "TupleGetItem",
    "TupleWrapper",
    "Var",
    "bind",
    "const",
    "get",
    "module",
    "tuple_",
    "var",
    "with_fields",
]


def var(name_hint: str, type_annotation=None, shape=None, dtype: str = "float32", span: Span | None = None) -> Var:
    """Returns a variable: var("x", shape=(1, "n")), var("x", (1, "n")), var("x", "int32") for a scalar, or var("f",
    FuncType(...)).

    A size may be a number, a name or a Dim. Without a type, the type is inferred from the uses.
    """
    if type_annotation is not None and shape is not None:
        raise ValueError("either a type or a shape, not both")
    if isinstance(type_annotation, (tuple, list)):
        shape, type_annotation = type_annotation, None
    if shape is not None:
        type_annotation = _core.TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = _core.TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(value, dtype: str | None = None, span: Span | None = None) -> Constant:
    """Returns a constant. `value` is a number (int32 or float32), a bool, a list, or an array of any framework. `dtype`
    converts it. An array is copied, unless nothing can write to it.
    """
    if isinstance(dtype, _core.TensorType):
        dtype = dtype.dtype
    if dtype is None and isinstance(value, (int, float, list, tuple)):
        dtype = _default_dtype(value)
    if dtype is not None and isinstance(value, (int, float, list, tuple, np.ndarray, np.generic)):
        value = converted(as_numpy(value), dtype, bad_literal)
    return Constant.sharing(own_array(value, dtype), span)


def _default_dtype(value) -> str | None:
    """Returns the element type of Python numbers: int32, float32 or bool."""
    while isinstance(value, (list, tuple)):
        if any(isinstance(one, float) for one in value):
            return "float32"
        value = value[0] if value else 0.0
    return "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"


def tuple_(*elements: Expr) -> Tuple:
    """Returns the tuple (a, b, ...)."""
    return Tuple(list(elements))


def get(value: Expr, index: int) -> TupleGetItem:
    """Returns value.index, a field of a tuple."""
    return TupleGetItem(value, index)


def module(body: Expr, params: list[Var] | None = None) -> _core.IRModule:
    """Returns a module whose @main has this body. Without `params`, the parameters are the free variables in the order
    of their use."""
    return _core.IRModule({"main": Function(_core.free_vars(body) if params is None else params, body)})


def bind(expr: Expr, binds: dict[Var, Expr]) -> Expr:
    """Returns the expression with free variables replaced by values. Parameters of a function can be replaced too: they
    are dropped, and free variables of the values become parameters.

    bind(Function([x, y], x + y), {y: const(1.0)}) is fn (%x) { add(%x, 1f) }

    A value fixes the named sizes of its parameter, so the type of the result is then left to inference.
    """
    if not isinstance(expr, Function):
        return _core.substitute(expr, binds)
    params = [param for param in expr.params if param not in binds]
    body = _core.substitute(expr.body, binds)
    outside = set(_core.free_vars(expr))
    params += [v for v in _core.free_vars(body) if v not in params and v not in outside]
    fixes_sizes = any(_names_sizes(p.type_annotation) for p in expr.params if p in binds)
    return Function(params, body, None if fixes_sizes else expr.ret_type, expr.type_params, expr.attrs)


def _names_sizes(type_: object) -> bool:
    if isinstance(type_, _core.TupleType):
        return any(map(_names_sizes, type_.fields))
    return isinstance(type_, _core.TensorType) and any(isinstance(d, _core.Dim) for d in type_.shape)


# The arguments of each kind's constructor, by field name.
FIELDS = {
    Constant: ("data",),
    Tuple: ("fields",),
    Var: ("name_hint", "type_annotation"),
    Function: ("params", "body", "ret_type", "type_params", "attrs"),
    Call: ("op", "args", "attrs", "type_args"),
    Let: ("var", "value", "body"),
    If: ("cond", "true_branch", "false_branch"),
    TupleGetItem: ("tuple_value", "index"),
    RefCreate: ("value",),
    RefRead: ("ref",),
    RefWrite: ("ref", "value"),
}


def with_fields(node: Expr, **changes) -> Expr:
    """Returns the node with some fields changed: with_fields(call, args=[x, y]). Returns the same node if nothing
    changes.

    An inferred type is dropped together with the field that it was inferred from.
    """
    fields = FIELDS.get(type(node))
    if fields is None:
        raise TypeError(f"a {type(node).__name__} has no fields to change")
    wrong = [name for name in changes if name not in fields]
    if wrong:
        raise TypeError(f"a {type(node).__name__} has no field {wrong[0]}; it has: {', '.join(fields)}")
    old = [getattr(node, name) for name in fields]
    new = [value if changes.get(name) is None else changes[name] for name, value in zip(fields, old, strict=True)]
    return node if all(_is_same(a, b) for a, b in zip(old, new, strict=True)) else type(node)(*new)


def _is_same(a, b) -> bool:
    if isinstance(a, list) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
    return a is b or (isinstance(a, (str, int, dict)) and a == b)


class TupleWrapper:
    """An expression that is a tuple of known length, such as the result of split(): a, b = relay.split(x, 2)."""

    def __init__(self, tuple_value: Expr, size: int):
        self.tuple_value = tuple_value
        self.size = size

    def __relay_expr__(self) -> Expr:  # stands for the tuple wherever an expression is expected
        return self.tuple_value

    def astuple(self) -> Expr:
        """Returns the tuple."""
        return self.tuple_value

    def astext(self, *args, **named) -> str:
        """Returns the text of the tuple."""
        return self.tuple_value.astext(*args, **named)

    def __getitem__(self, index: int) -> TupleGetItem:
        if not 0 <= index < self.size:
            raise IndexError(f"field {index} of a tuple of {self.size}")
        return TupleGetItem(self.tuple_value, index)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"
