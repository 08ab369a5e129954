"""Branches and loops over values of any form; shared/loops.py has those over expressions."""

from __future__ import annotations

import numpy as np

from ..._core import Expr
from ...ir.expr import var
from ..shared import loops as shared
from ..shared.expressions import dtype_of, shape_of
from ..shared.known import Known
from ..shared.problems import Refused
from . import lists
from .values import FAILED, Absent, Complex, Function, List, Variable


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
    return shared.condition_of(made)


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
    parts = shared.chosen(condition_of(condition), first_parts, second_parts) if first_parts else []
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


class Outside(shared.Outside):
    """Values of any form from outside of a loop, which are computed once, before its first step."""

    def hold(self, value):
        """Returns the value as the loop may use it."""
        if isinstance(value, Known) or value is FAILED or isinstance(value, (Variable, Function, Absent)):
            return value
        if isinstance(value, List) and value.stack is None:
            return value
        if isinstance(value, List) and isinstance(value.count, Expr):
            value = lists.counted(value)
        return rebuilt(value, [self.held(one) for one in parts_of(value, "a value of the loop")])[0]


def repeat(initial: list, step, outside: Outside) -> list:
    """Returns the state after the last step. step(state) returns (condition, next state)."""
    if any(one is FAILED for one in initial):
        step(initial)  # finds further problems
        return [FAILED] * len(initial)
    types = None
    for _ in range(shared.MOST_TRIES):
        if types is None:
            types = [
                None if _is_unset(one) else [shared.tensor_type(x) for x in parts_of(one, "a state")] for one in initial
            ]
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


def _types(value) -> list:
    return [shared.tensor_type(one) for one in parts_of(value, "a state")]


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
        both = shared.widened(own, parts, f"the value {place} of the loop")
        is_changed |= both != own
        wider.append(both)
    return wider if is_changed else None


def _loop(initial: list, types: list, params: list, condition, following: list, outside: Outside) -> list:
    flat = [one for part in params for one in part]
    fields = [one for part in types if part is not None for one in part]
    if not flat:
        raise Refused("the loop has no state")
    after = [part for one, own in zip(following, types, strict=True) if own is not None for part in parts_of(one, "it")]
    first = [part for one, own in zip(initial, types, strict=True) if own is not None for part in parts_of(one, "it")]
    parts, results = shared.loop(first, fields, flat, condition_of(condition), after, outside), []
    for one, own in zip(initial, types, strict=True):
        if own is None:
            results.append(one)
            continue
        value, parts = rebuilt(one, parts)
        results.append(value)
    return results
