"""Other forms of functions: continuation-passing style and back, closures as data, constants with names.

cps = relay.transform.to_cps(f, mod)              # takes a continuation as its last parameter
f = relay.transform.un_cps(cps)                   # returns its result again
f = relay.transform.Defunctionalization(f, mod)   # calls of closures become calls of a function over data
"""

from __future__ import annotations

from .._core import Call, Constant, Function, FuncType, IRModule, Let, Var, post_order_visit
from ..errors import expect_function, expect_module
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import CorePass, Pass, PassInfo, UserPass, run_passes

__all__ = ["Defunctionalization", "LiftConstants", "to_cps", "un_cps"]


def _with_main(func: Function, mod: IRModule | None) -> IRModule:
    expect_function(func)
    if mod is not None:
        expect_module(mod)
    inside = IRModule() if mod is None else mod.clone()
    inside["main"] = func
    return inside


def _take_over(mod: IRModule | None, made: IRModule, but: str) -> None:
    """Adds the functions of `made` that `mod` lacks."""
    if mod is None:
        if len(made.functions) > 2 or any(but != v.name_hint != "main" for v in made.functions):
            raise ValueError("the function needs others in their new form: pass the module to add them to")
        return
    for name, definition in made.type_definitions.items():
        mod[name] = definition
    for var, function in made.functions.items():
        if var.name_hint not in ("main", but) and var not in mod:
            mod[var] = function


def to_cps(func: Function, mod: IRModule | None = None) -> Function:
    """Returns the function in continuation-passing style: its last parameter is a continuation that gets the result.
    The functions that it calls are added to `mod` in the same form, with the suffix `_cps`."""
    inside = _with_main(func, mod)
    made = run_passes(inside, ["remove_unused_functions", "to_cps"])
    called = made["main"].body.op.name_hint
    _take_over(mod, made, called)
    converted = made[called]
    if _names(converted, called):  # the function calls itself
        if mod is None:
            raise ValueError("the function calls itself: pass the module to add its new form to")
        mod[called] = converted
    return converted


def _names(function: Function, name: str) -> bool:
    found = []
    post_order_visit(function, lambda e: found.append(e) if getattr(e, "name_hint", None) == name else None)
    return any(type(e).__name__ == "GlobalVar" for e in found)


def un_cps(func: Function) -> Function:
    """Returns the function without its continuation, the last parameter. The new function returns the value that the
    continuation got. Functions without a continuation are refused."""
    expect_function(func)
    taken = func.params[-1]._checked_type_ or func.params[-1].type_annotation if func.params else None
    answer = func.ret_type or (func._checked_type_.ret_type if func._checked_type_ is not None else None)
    if not isinstance(taken, FuncType) or len(taken.arg_types) != 1 or taken.ret_type != answer:
        raise ValueError(
            "the last parameter is not a continuation, which is a function of one value that returns the result"
        )
    value = taken.arg_types[0]
    if list(func.type_params) not in ([], [answer]) or (not func.type_params and value != answer):
        raise ValueError(f"the continuation returns {answer}, not the {value} that it receives")
    params = [Var(param.name_hint, param._checked_type_ or param.type_annotation) for param in func.params[:-1]]
    v = Var("v", value)
    return Function(params, Call(func, [*params, Function([v], v, value)]), value)


def Defunctionalization(func: Function | None = None, mod: IRModule | None = None) -> Function | Pass:
    """Returns the function with functional values replaced by data. The definitions that it needs are added to `mod`.
    Without a function, returns the pass on a whole module."""
    if func is None:
        return CorePass(PassInfo(0, "Defunctionalization"), "defunctionalization")
    made = run_passes(_with_main(func, mod), ["defunctionalization"])
    if mod is not None:
        for name, definition in made.type_definitions.items():
            mod[name] = definition
        for var, function in made.functions.items():
            if var.name_hint != "main":
                mod[var] = function
    elif len(made.functions) > 1:
        raise ValueError("the function needs others in their new form: pass the module to add them to")
    return made["main"]


class _Lift(ExprMutator):
    def __init__(self):
        super().__init__()
        self.lifted: list[tuple[Var, Constant]] = []

    def visit_constant(self, constant):
        if not constant.data.shape:
            return constant
        var = Var(f"const_{len(self.lifted)}")
        self.lifted.append((var, constant))
        return var

    def visit_function(self, fn):
        return fn if fn.attrs.get("Primitive") else super().visit_function(fn)


def LiftConstants() -> Pass:
    """Binds the constants that are not scalars to names at the beginning of each function: let %const_0 = ...; ..."""

    def run(mod, ctx):
        out = mod.clone()
        for var, function in mod.functions.items():
            if function.attrs.get("Primitive") or function.attrs.get("Compiler"):
                continue
            lift = _Lift()
            body = lift.visit(function.body)
            for name, constant in reversed(lift.lifted):
                body = Let(name, constant, body)
            if lift.lifted:
                out[var] = Function(function.params, body, function.ret_type, function.type_params, function.attrs)
        return run_passes(out, ["infer_type"])

    return UserPass(run, PassInfo(0, "LiftConstants"), False)
