"""The ways in which a call can be computed on parts of its inputs.

Nearly all rules are derived from the operator's tensor expressions (src/relay/te/split.h): a derived rule is proved for
the call's sizes. Written by hand are only those in this file: operators through which a partial sum passes (LINEAR),
the collectives, and forms of operators that can be divided where the operator itself cannot (FORMS).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from .. import _core, op
from .._core import Call, Expr, IRModule, Op, TensorType, TupleType, Var
from ..ir.expr import const
from ..ir.pass_infra import run_passes
from .collectives import is_collective
from .mesh import PARTIAL, WHOLE, State


@dataclasses.dataclass(frozen=True)
class Way:
    """Needed states of the input tensors, tuples flattened, and the states of the results that they yield."""

    inputs: tuple[State, ...]
    results: tuple[State, ...]
    attributes: dict[str, Any] | None = None  # of the call on parts; None: unchanged


def tensors_of(type_: Any) -> list[TensorType]:
    """Returns the tensors of a type in order."""
    if isinstance(type_, TupleType):
        return [one for field in type_.fields for one in tensors_of(field)]
    return [type_]


# Operators through which a partial sum passes: with the inputs that may be partial sums, at the same time. All others
# must be whole.
LINEAR: dict[str, tuple[int, ...]] = {
    "negative": (0,), "reshape": (0,), "transpose": (0,), "squeeze": (0,), "expand_dims": (0,), "sum": (0,),
    "broadcast_to": (0,), "copy": (0,),
    "add": (0, 1), "subtract": (0, 1), "divide": (0,), "comm.all_reduce": (0,), "comm.all_gather": (0,),
    "comm.reduce_scatter": (0,), "comm.all_to_all": (0,), "comm.part": (0,), "annotation.checkpoint": (0,),
}  # fmt: skip
_PRODUCTS = ("multiply",)  # one of the two


def linear_ways(call: Call) -> list[Way]:
    """Returns the ways in which partial sums pass through a call."""
    name = call.op.name
    types = [one for argument in call.args for one in tensors_of(argument.checked_type)]
    if not isinstance(call.checked_type, TensorType) or not str(call.checked_type.dtype).startswith(
        ("float", "bfloat")
    ):
        return []
    if is_collective(call) and call.attrs.get_str("combiner" if "reduce" in name else "axis") in ("max", "min"):
        return []
    if name in _PRODUCTS:
        return [Way((PARTIAL, WHOLE), (PARTIAL,)), Way((WHOLE, PARTIAL), (PARTIAL,))]
    if name == "cast" and _is_widening(types[0], call.checked_type):  # gradients of bfloat16 are added in float32
        return [Way((PARTIAL,), (PARTIAL,))]
    if name not in LINEAR:
        return []
    return [Way(tuple(PARTIAL if i in LINEAR[name] else WHOLE for i in range(len(types))), (PARTIAL,))]


def _is_widening(source: TensorType, result: TensorType) -> bool:
    """True for a cast of floats to a type that has all values of the first."""
    bits = [
        int(str(one.dtype).lstrip("bfloat")) if str(one.dtype) in ("bfloat16", "float16", "float32", "float64") else 0
        for one in (source, result)
    ]
    return bits[0] > 0 and (bits[0] < bits[1] or source.dtype == result.dtype)


def collective_ways(call: Call, ways: int) -> list[Way]:
    """Returns the ways to divide a collective of another axis: along each dimension that it leaves as it is."""
    attrs, name = dict(call.attrs), call.op.name
    taken = {attrs.get(key) for key in ("dim", "split", "join")} if name != "comm.all_reduce" else set()
    shape = call.args[0].checked_type.shape
    return [Way((d,), (d,)) for d, extent in enumerate(shape) if d not in taken and int(extent) % ways == 0]


def derived_ways(call: Call, ways: int) -> list[Way]:
    """Returns the proved ways to divide a typed call, in the order of the dimensions of its results."""
    out = []
    for inputs, results, combiner, attributes in _core.operator_splits(call, ways):
        states = tuple(combiner if one == -2 else one for one in results)
        changed = {k: v for k, v in attributes.items() if call.attrs is None or dict(call.attrs)[k] != v}
        out.append(Way(tuple(inputs), states, attributes if changed else None))
    return out


def ways_of(call: Call, ways: int) -> list[Way]:
    """Returns all ways to compute a call on parts."""
    if is_collective(call):
        return collective_ways(call, ways) + linear_ways(call)
    return derived_ways(call, ways) + linear_ways(call)


# --- other forms ------------------------------------------------------------------------------------------------------
def _mean(x: Expr, call: Call) -> Expr:
    """The sum divided by the number of terms, which a part does not know."""
    attrs, of = dict(call.attrs), call.args[0].checked_type
    count = math.prod(map(int, of.shape)) // max(1, math.prod(map(int, call.checked_type.shape)))
    total = op.sum(x, axis=attrs["axis"], keepdims=attrs["keepdims"], exclude=attrs["exclude"])
    return total / const(np.asarray(count).astype(_numpy_dtype(of)), str(of.dtype))


def _numpy_dtype(type_: TensorType) -> str:
    return str(type_.dtype) if str(type_.dtype) != "bfloat16" else "float32"


FORMS = {"mean": _mean}


def _collapsed(x: Expr, call: Call) -> Expr:
    """Sums over the axes that the result lacks, or has with size 1."""
    given, wanted = call.args[0].checked_type.shape, call.checked_type.shape
    lead = list(range(len(given) - len(wanted)))
    ones = [i for i, size in enumerate(wanted) if int(size) == 1 and int(given[i + len(lead)]) > 1]
    x = op.sum(x, axis=lead) if lead else x
    return op.sum(x, axis=ones, keepdims=True) if ones else x


def _shape(call: Call) -> list[int]:
    return [int(extent) for extent in call.checked_type.shape]


# Operators with an input of which only the shape is read, with a form that has the shape as an attribute.
STATIC = {
    "collapse_sum_like": lambda call: ([0], lambda x: _collapsed(x, call)),
    "broadcast_to_like": lambda call: ([0], lambda x: op.broadcast_to(x, shape=_shape(call))),
    "reshape_like": lambda call: ([0], lambda x: op.reshape(x, newshape=_shape(call))),
    "zeros_like": lambda call: ([], lambda: op.zeros(shape=_shape(call), dtype=str(call.checked_type.dtype))),
    "ones_like": lambda call: ([], lambda: op.ones(shape=_shape(call), dtype=str(call.checked_type.dtype))),
}


def static_form(call: Call) -> tuple[list[int], IRModule] | None:
    """Returns the inputs that are read, and a typed module of them that computes a call, if it is in STATIC."""
    if call.op.name not in STATIC or not isinstance(call.checked_type, TensorType):
        return None
    read, body = STATIC[call.op.name](call)
    params = [Var(f"input{i}", call.args[i].checked_type) for i in read]
    return read, run_passes(IRModule.from_expr(_core.Function(params, body(*params))), ["infer_type"])


def form_of(call: Call) -> IRModule | None:
    """Returns a typed module that computes a call by other operators, which may be divisible, or None."""
    params = [Var(f"input{i}", argument.checked_type) for i, argument in enumerate(call.args)]
    if call.op.name in FORMS:
        body = FORMS[call.op.name](*params, call)
    else:
        typed = _typed(call.op.name, params, dict(call.attrs) if call.attrs else {})
        body = _core.operator_definition(typed)
    if body is None:
        return None
    module = run_passes(IRModule.from_expr(_core.Function(params, body)), ["infer_type"])
    return None if _is_same(module["main"].body, call) else module


def _typed(name: str, params: list[Var], attributes: dict) -> Call:
    function = _core.Function(params, _core.call(name, params, attributes))
    return run_passes(IRModule.from_expr(function), ["infer_type"])["main"].body


def _is_same(body: Expr, call: Call) -> bool:
    return isinstance(body, Call) and isinstance(body.op, Op) and body.op.name == call.op.name
