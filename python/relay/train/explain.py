"""The first value of a loss that is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Call, Expr, Function, Let, Op, TensorType, Tuple, TupleGetItem, Type, Var
from ..data.arrays import array
from ..data.arrays import numpy as as_numpy
from ..ir.pass_infra import run_passes
from ..run.compiled import compile
from .formulas import is_float
from .losses import Loss


def _place(values: np.ndarray) -> str | None:
    """Returns the value and index of the first element that is not finite, or None if there is none."""
    wide = values.astype(np.float64)
    bad = np.argwhere(~np.isfinite(wide))
    if not len(bad):
        return None
    where = tuple(int(i) for i in bad[0])
    return f"{wide[where]} at {list(where)}" + (f" and at {len(bad) - 1} more places" if len(bad) > 1 else "")


def _type(value: Expr) -> Type:
    """The type of an argument. Parameters are nodes of the caller's module, which passes leave without a type."""
    declared = value.type_annotation if isinstance(value, Var) else None
    return value.checked_type if declared is None else declared


def _described(value: Expr) -> str:
    if isinstance(value, Call) and isinstance(value.op, Op):
        types = ", ".join(str(_type(one)) for one in value.args)
        return f"{value.op.name}({types})"
    return type(value).__name__


def first_not_finite(loss: Loss, inputs: dict[str, Any]) -> str:
    """Returns a sentence about the first value that is not finite: an input, or the result of an operator.

    The operators of a loss without control flow are compiled one by one, and all of their results are examined.
    """
    for name, value in inputs.items():
        values = value if isinstance(value, np.ndarray) else as_numpy(array(value))
        place = _place(values) if values.dtype.kind not in "iub" else None
        if place:
            return f"`{name}` is not finite: {place}"
    module = run_passes(loss.module, ["to_a_normal_form", "infer_type"])
    main, bound = module["main"], []
    body = main.body
    while isinstance(body, Let):
        bound.append((body.var, body.value))
        body = body.body
    kept = [
        (variable, value)
        for variable, value in bound
        if isinstance(value, (Call, TupleGetItem))
        and isinstance(value.checked_type, TensorType)
        and is_float(value.checked_type)
    ]
    if not kept:
        return "the first value that is not finite is inside a function of the loss"
    body = Tuple([variable for variable, _ in kept])
    for variable, value in reversed(bound):
        body = Let(variable, value, body)
    out = module.clone()
    out["main"] = Function(main.params, body)
    results = compile(out, opt_level=0, threads=1)(*[inputs[param.name_hint] for param in main.params])
    results = results if isinstance(results, tuple) else (results,)
    for (_, value), result in zip(kept, results, strict=True):
        place = _place(np.asarray(result))
        if place:
            return f"the first value that is not finite is of {_described(value)}: {place}"
    return "all values of the loss are finite: a gradient is not"
