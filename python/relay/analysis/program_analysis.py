"""Analyses of whole programs: quantised regions, basic blocks, data at the borders of external functions."""

from __future__ import annotations

import numpy as np

from .._core import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    Match,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    children,
    post_order_visit,
)
from ..errors import expect_module
from ..run.compiled import evaluate

__all__ = [
    "analyze_operations_distribution",
    "check_basic_block_normal_form",
    "extract_intermediate_expr",
    "get_calibration_data",
    "list_fake_quantized_op_freqs",
]


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Returns true if no value is shared by two scopes (branches, clauses, bodies of functions) without a `let`."""
    shared = (Var, GlobalVar, Constant, Op, Constructor)
    scope_of: dict[Expr, int] = {}
    scopes = 0
    work = [(expr, 0)]
    while work:
        e, scope = work.pop()
        if isinstance(e, shared):
            continue
        if e in scope_of:
            if scope_of[e] != scope:
                return False
            continue
        scope_of[e] = scope
        for index, child in enumerate(children(e)):
            inside = scope
            if isinstance(e, Function) or (isinstance(e, If | Match) and index > 0):
                scopes += 1
                inside = scopes
            work.append((child, inside))
    return True


def _is_call_of(e, name: str) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == name


def _fake_quantized(quantize: Call) -> list[Call]:
    """Returns the calls of operators between qnn.dequantize and this qnn.quantize, or an empty list if the region
    contains anything else."""
    found, seen, work, quantised = [], set(), [quantize.args[0]], False
    while work:
        e = work.pop()
        if e in seen or isinstance(e, Constant):
            continue
        seen.add(e)
        if _is_call_of(e, "qnn.dequantize"):
            quantised = True
        elif isinstance(e, Call) and isinstance(e.op, Op):
            found.append(e)
            work += e.args
        elif isinstance(e, Tuple | TupleGetItem):
            work += children(e)
        else:
            return []
    return found if quantised else []


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """Returns the number of calls of each operator between qnn.dequantize and qnn.quantize, which
    FakeQuantizationToInteger may rewrite."""
    expect_module(mod)
    inside: set[Call] = set()
    for function in mod.functions.values():
        post_order_visit(
            function, lambda e: inside.update(_fake_quantized(e)) if _is_call_of(e, "qnn.quantize") else None
        )
    counts: dict[str, int] = {}
    for call in inside:
        counts[call.op.name] = counts.get(call.op.name, 0) + 1
    return counts


def extract_intermediate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """Returns a module whose @main computes the value of call number `expr_id` of @main, counted from 0 in the order of
    evaluation."""
    expect_module(mod)
    calls: list[Call] = []
    post_order_visit(mod["main"], lambda e: calls.append(e) if isinstance(e, Call) else None)
    if not 0 <= expr_id < len(calls):
        raise ValueError(f"@main has {len(calls)} calls: expr_id cannot be {expr_id}")
    out = mod.clone()
    out["main"] = Function(mod["main"].params, calls[expr_id])
    return out


def get_calibration_data(mod: IRModule, data) -> dict[GlobalVar, dict[str, list[np.ndarray]]]:
    """Returns the inputs and outputs of the functions for other compilers when @main runs on `data` (inputs by name, or
    in order): {function: {"inputs": [...], "outputs": [...]}}. @main itself must call each of them once."""
    expect_module(mod)
    main, calls = mod["main"], []

    def note(e):
        if isinstance(e, Call) and isinstance(e.op, GlobalVar) and mod[e.op].attrs.get("Compiler"):
            calls.append(e)

    post_order_visit(main, note)
    out = mod.clone()
    out["main"] = Function(main.params, Tuple([Tuple([Tuple(call.args), call]) for call in calls]))
    for call in calls:  # runs the definitions instead of external code
        f = mod[call.op]
        out[call.op] = Function(f.params, f.body, f.ret_type, f.type_params)
    values = evaluate(out, data)
    flat = lambda v: [np.asarray(one) for one in (v if isinstance(v, tuple) else (v,))]  # noqa: E731
    return {
        call.op: {"inputs": flat(inputs), "outputs": flat(result)}
        for call, (inputs, result) in zip(calls, values, strict=True)
    }


def analyze_operations_distribution(mod: IRModule) -> dict[str, dict[str, int]]:
    """Returns the number of calls of each operator in the functions for each compiler; "default" is all other code."""
    expect_module(mod)
    counts: dict[str, dict[str, int]] = {}
    for function in mod.functions.values():
        of = counts.setdefault(str(function.attrs.get("Compiler") or "default"), {})

        def note(e, of=of):
            if isinstance(e, Call) and isinstance(e.op, Op):
                of[e.op.name] = of.get(e.op.name, 0) + 1

        post_order_visit(function, note)
    return counts
