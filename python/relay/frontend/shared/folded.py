"""Elements of expressions that are known at import, computed by the evaluator."""

from __future__ import annotations

import math

import numpy as np

from ..._core import (
    Call,
    Constant,
    Dim,
    Expr,
    IRModule,
    Op,
    Tuple,
    TupleGetItem,
    evaluate,
    free_vars,
    infer_expr,
    post_order_visit,
)
from ..._core import Function as RelayFunction
from ...data.values import from_value

MOST_FOLDED = 4096  # elements that a converter reads as numbers


def folded(value: Expr, memo: dict) -> np.ndarray | None:
    """Returns the elements of an expression that depends on no input, computed by the evaluator; None for others."""
    key = id(value)
    if key not in memo:
        memo[key] = (value, _computed(value))  # keeps the expression, whose id is the key
    return memo[key][1]


def _computed(value: Expr) -> np.ndarray | None:
    about = infer_expr(value).checked_type
    if any(isinstance(one, Dim) for one in about.shape) or np.prod(about.shape, dtype=object) > MOST_FOLDED:
        return None
    if free_vars(value) or not _is_small(value):
        return None
    module = IRModule({"main": RelayFunction([], value)})
    return np.asarray(from_value(evaluate(module, [], "native")))


_MOST_EVALUATED = 1 << 22  # elements of all steps


def _is_small(value: Expr) -> bool:
    """Returns true if an expression has no loops, branches or large tensors, so that it is soon evaluated."""
    total, is_plain = 0, True

    def note(one):
        nonlocal total, is_plain
        is_plain &= isinstance(one, (Call, Constant, Op, Tuple, TupleGetItem)) and total < _MOST_EVALUATED
        about = one.checked_type if isinstance(one, (Call, Constant)) else None
        shape = getattr(about, "shape", None)
        if shape is not None:
            is_plain &= not any(isinstance(size, Dim) for size in shape)
            total += math.prod(shape) if is_plain else 0

    post_order_visit(value, note)
    return is_plain and total < _MOST_EVALUATED
