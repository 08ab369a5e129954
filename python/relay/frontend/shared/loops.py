"""Branches and loops over expressions: an `if`, and a function that calls itself.

A loop is `let %loop = fn (state..) { if (condition) { %loop(next..) } else { (state..) } }; %loop(initial..)`. Values
from outside that it uses are computed before it, each once. A state whose sizes change from step to step has `?` there:
the step is then imported again.
"""

from __future__ import annotations

from ... import op
from ..._core import (
    Any,
    Call,
    Constant,
    Dim,
    Expr,
    Function,
    FuncType,
    If,
    Let,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Var,
    infer_expr,
)
from ...ir.expr import var
from .expressions import cast, shape_of
from .problems import Refused

MOST_TRIES = 8


def condition_of(made: Expr) -> Expr:
    """Returns a condition as a bool without axes."""
    made = cast(made, "bool")
    return made if not shape_of(made) else op.reshape(made, newshape=[])


def tensor_type(value: Expr):
    return infer_expr(value).checked_type


def common_type(a, b, what: str):
    """Returns the type of two tensors, with `?` where their sizes may differ."""
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        raise Refused(f"{what} is {a} or {b}; the number of axes and the element type must not change")
    same = [
        isinstance(x, int) == isinstance(y, int) and x == y and not _any(x)
        for x, y in zip(a.shape, b.shape, strict=True)
    ]
    return TensorType([x if is_same else Any() for x, is_same in zip(a.shape, same, strict=True)], a.dtype)


def _any(size) -> bool:
    return isinstance(size, Dim) and size.is_any


def apart(value: Expr, count: int) -> list[Expr]:
    return [TupleGetItem(value, place) for place in range(count)]


def chosen(condition: Expr, first: list[Expr], second: list[Expr]) -> list[Expr]:
    """Returns the expressions of one of two branches, by the condition."""
    types = [
        common_type(tensor_type(a), tensor_type(b), f"result {place}")
        for place, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    is_wide = any(
        tensor_type(a) != one or tensor_type(b) != one for a, b, one in zip(first, second, types, strict=True)
    )
    if not is_wide:
        if len(first) == 1:
            return [If(condition, first[0], second[0])]
        return apart(If(condition, Tuple(first), Tuple(second)), len(first))
    # Both sides pass through one function, whose parameter has their common type.
    type_ = TupleType(types)
    value = var("any_size", type_annotation=type_)
    join = var("join", type_annotation=FuncType([type_], type_))
    branches = [Call(join, [Tuple(side)]) for side in (first, second)]
    return apart(Let(join, Function([value], value, type_), If(condition, *branches)), len(first))


class Outside:
    """Values from outside of a loop, which are computed once, before its first step."""

    def __init__(self):
        self._held = []

    def held(self, value: Expr) -> Expr:
        """Returns the value as the loop may use it."""
        if isinstance(value, (Constant, Var)):
            return value
        for held, variable in self._held:
            if held is value:
                return variable
        self._held.append((value, var("outside", type_annotation=tensor_type(value))))
        return self._held[-1][1]

    def around(self, made: Expr) -> Expr:
        for value, variable in reversed(self._held):
            made = Let(variable, value, made)
        return made


def widened(types: list, parts: list[Expr], what: str) -> list:
    """Returns types that hold the state before and after a step, with `?` for sizes that change."""
    return [common_type(a, tensor_type(b), what) for a, b in zip(types, parts, strict=True)]


def loop(initial: list[Expr], types: list, params: list, condition: Expr, after: list[Expr], outside: Outside) -> list:
    """Returns the state after the last step. types, params: of the state in a step. condition, after: whether a step
    follows this state, and the state after it."""
    result = TupleType(types)
    again = var("loop", type_annotation=FuncType(types, result))
    body = If(condition, Call(again, after), Tuple(params))
    made = outside.around(Let(again, Function(params, body, result), Call(again, initial)))
    return apart(made, len(params))


def repeat(initial: list[Expr], step, outside: Outside) -> list[Expr]:
    """Returns the state after the last step. step(state) returns (condition, next state)."""
    types = [tensor_type(one) for one in initial]
    for _ in range(MOST_TRIES):
        params = [var("state", type_annotation=one) for one in types]
        condition, following = step(list(params))
        if len(following) != len(params):
            raise Refused(f"a step takes {len(params)} values, and returns {len(following)}")
        wider = widened(types, following, "a value of the loop")
        if wider == types:
            return loop(initial, types, params, condition_of(condition), following, outside)
        types = wider
    raise Refused("the sizes of its state do not settle", "give the loop fixed sizes")
