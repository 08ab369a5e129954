"""Branches and loops over values of any form: an `if`, and a function that calls itself.

A loop is `let %loop = fn (state..) { if (condition) { %loop(next..) } else { (state..) } }; %loop(initial..)`. Values
from outside that it uses are computed before it, each once. A state whose sizes change from step to step has `?` there:
the step is then imported again.
"""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import (
    Any,
    Call,
    Constant,
    Dim,
    Expr,
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
from ..._core import Function as RelayFunction
from ...ir.expr import var
from ..shared.expressions import cast, dtype_of, shape_of
from ..shared.known import Known
from ..shared.problems import Refused
from . import lists
from .values import FAILED, Absent, Complex, Function, List, Variable

_MOST_TRIES = 8


def parts_of(value, what: str) -> list[Expr]:
    """Returns the expressions that a value consists of."""
    if isinstance(value, Known):
        value = value.expr() if value.dtype != "string" else None
    if isinstance(value, Expr):
        return [value]
    if isinstance(value, Complex):
        return [value.parts]
    if isinstance(value, List):
        if value.stack is None:
            raise Refused(f"{what} is a list of tensors whose sizes are not known", "declare the shape of its elements")
        return [value.stack]
    if isinstance(value, (Variable, Function, Absent)):
        return []
    raise Refused(f"{what} is a text or another value that cannot change in a loop or branch")


def rebuilt(value, parts: list[Expr]):
    """Returns a value like this one of other expressions, and the ones that are left."""
    if isinstance(value, (Variable, Function, Absent)):
        return value, parts
    if isinstance(value, List):
        return value.with_stack(parts[0]), parts[1:]
    if isinstance(value, Complex):
        return Complex(parts[0], value.dtype), parts[1:]
    return parts[0], parts[1:]


def condition_of(value) -> Expr:
    """Returns a condition as a bool without axes."""
    made = value.expr() if isinstance(value, Known) else value
    if not isinstance(made, Expr):
        raise Refused("its condition is not a tensor")
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


def _apart(value: Expr, count: int) -> list[Expr]:
    return [TupleGetItem(value, place) for place in range(count)]


def choose(condition, first: list, second: list) -> list:
    """Returns the values of one of two branches, by the condition."""
    if any(one is FAILED for one in [*first, *second]):
        return [FAILED] * len(first)
    if len(first) != len(second):
        raise Refused(f"its branches have {len(first)} and {len(second)} results")
    pairs = [lists.as_alike(a, b) for a, b in zip(first, second, strict=True)]
    first_parts, second_parts, models = [], [], []
    for place, (a, b) in enumerate(pairs):
        if _is_one(a, b):
            models.append(None)
            continue
        x, y = parts_of(a, f"result {place}"), parts_of(b, f"result {place}")
        if len(x) != len(y):
            raise Refused(f"result {place} is of different kinds in its branches")
        models.append(a)
        first_parts += x
        second_parts += y
    parts = _chosen(condition_of(condition), first_parts, second_parts) if first_parts else []
    made = []
    for (a, _), model in zip(pairs, models, strict=True):
        if model is None:
            made.append(a)
            continue
        value, parts = rebuilt(model, parts)
        made.append(value)
    return made


def _is_one(a, b) -> bool:
    if a is b and not isinstance(a, Expr):
        return True
    if isinstance(a, Known) and isinstance(b, Known):
        return a.dtype == b.dtype and a.array.shape == b.array.shape and bool(np.all(a.array == b.array))
    return False


def _chosen(condition: Expr, first: list[Expr], second: list[Expr]) -> list[Expr]:
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
        return _apart(If(condition, Tuple(first), Tuple(second)), len(first))
    # Both sides pass through one function, whose parameter has their common type.
    type_ = TupleType(types)
    value = var("any_size", type_annotation=type_)
    join = var("join", type_annotation=FuncType([type_], type_))
    branches = [Call(join, [Tuple(side)]) for side in (first, second)]
    return _apart(Let(join, RelayFunction([value], value, type_), If(condition, *branches)), len(first))


class Outside:
    """Values from outside of a loop, which are computed once, before its first step."""

    def __init__(self):
        self._held = []

    def hold(self, value):
        """Returns the value as the loop may use it."""
        if isinstance(value, Known) or value is FAILED or isinstance(value, (Variable, Function, Absent)):
            return value
        if isinstance(value, List) and value.stack is None:
            return value
        if isinstance(value, List) and isinstance(value.count, Expr):
            value = lists.counted(value)
        return rebuilt(value, [self._expr(one) for one in parts_of(value, "a value of the loop")])[0]

    def _expr(self, value: Expr) -> Expr:
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


def repeat(initial: list, step, outside: Outside) -> list:
    """Returns the state after the last step. step(state) returns (condition, next state)."""
    if any(one is FAILED for one in initial):
        step(initial)  # finds further problems
        return [FAILED] * len(initial)
    types = None
    for _ in range(_MOST_TRIES):
        if types is None:
            types = [None if _is_unset(one) else [tensor_type(x) for x in parts_of(one, "a state")] for one in initial]
        params = [[] if one is None else [var("state", type_annotation=x) for x in one] for one in types]
        state = [one if types[i] is None else rebuilt(one, params[i])[0] for i, one in enumerate(initial)]
        condition, following = step(state)
        if condition is FAILED or any(one is FAILED for one in following):
            return [FAILED] * len(initial)
        begun = _begun(initial, following)
        if begun is not None:  # an element of a list was written, whose shape is now known
            initial, types = begun, None
            continue
        wider = _wider(types, following)
        if wider is None:
            return _loop(initial, types, params, condition, following, outside)
        types = wider
    raise Refused("the sizes of its state do not settle", "give the loop fixed sizes, or shape_invariants")


def _is_unset(value) -> bool:
    return isinstance(value, List) and value.stack is None


def _begun(initial: list, following: list) -> list | None:
    """Returns the initial state with lists of zeros in place of lists whose elements have no shape yet, or None."""
    made, is_changed = list(initial), False
    for place, (before, after) in enumerate(zip(initial, following, strict=True)):
        if _is_unset(before) and isinstance(after, List) and after.stack is not None:
            made[place], is_changed = lists.zeros(before, shape_of(after.stack)[1:], dtype_of(after.stack)), True
    return made if is_changed else None


def _wider(types: list, following: list) -> list | None:
    """Returns types that hold the state before and after a step, or None if `types` do."""
    wider, is_changed = [], False
    for place, (own, value) in enumerate(zip(types, following, strict=True)):
        if own is None:
            wider.append(None)
            continue
        parts = parts_of(value, f"the value {place} of the loop")
        if len(parts) != len(own):
            raise Refused(f"the value {place} of the loop changes its kind")
        both = [
            common_type(a, tensor_type(b), f"the value {place} of the loop") for a, b in zip(own, parts, strict=True)
        ]
        is_changed |= both != own
        wider.append(both)
    return wider if is_changed else None


def _loop(initial: list, types: list, params: list, condition, following: list, outside: Outside) -> list:
    flat = [one for part in params for one in part]
    fields = [one for part in types if part is not None for one in part]
    if not flat:
        raise Refused("the loop has no state")
    result = TupleType(fields)
    loop = var("loop", type_annotation=FuncType(fields, result))
    after = [part for one, own in zip(following, types, strict=True) if own is not None for part in parts_of(one, "it")]
    body = If(condition_of(condition), Call(loop, after), Tuple(flat))
    first = [part for one, own in zip(initial, types, strict=True) if own is not None for part in parts_of(one, "it")]
    made = outside.around(Let(loop, RelayFunction(flat, body, result), Call(loop, first)))
    parts, results = _apart(made, len(flat)), []
    for one, own in zip(initial, types, strict=True):
        if own is None:
            results.append(one)
            continue
        value, parts = rebuilt(one, parts)
        results.append(value)
    return results
