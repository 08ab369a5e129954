"""A program under construction: its functions, data types and the parameters of layers that it reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .. import _core
from .._core import Call, Expr, Function, GlobalVar, IRModule, Type, Var
from ..ir.expr_functor import ExprMutator
from ..ir.pass_infra import run_passes

_local = threading.local()


class Program:
    """Functions and data types that scripts and layers add while a function is traced.

    variables: the variable of each parameter of a layer, by the parameter. updates: new values of parameters that are
    state, by the parameter.
    """

    def __init__(self):
        self.types = IRModule()  # data types, and functions of the prelude
        self.functions: dict[str, Function] = {}
        self.specialised: dict[tuple, object] = {}
        self.variables: dict[object, Var] = {}
        self.updates: dict[object, Expr] = {}
        self.training = False  # true if batch norms and dropouts have their training form
        self.inside = 0  # the number of layers whose forward() runs
        self.calls: list[tuple] = []  # of layers: (layer, arguments, result)

    def fresh(self, name: str) -> str:
        """Returns a name for a function that no other has."""
        taken = {one.name_hint for one in self.types.functions} | set(self.functions) | {"main"}
        number, out = 1, name
        while out in taken:
            number += 1
            out = f"{name}_{number}"
        return out

    def infer(self, expr: Expr) -> Expr:
        """Returns an expression of typed variables with its type."""
        return _core.infer_expr(expr, self.types)

    def type_of(self, expr: Expr) -> Type:
        """Returns the type of an expression. Types of variables that have none are inferred from their uses."""
        module = self.types.clone()
        module["main"] = Function(_core.free_vars(expr), expr)
        return run_passes(module, ["infer_type"])["main"].body.checked_type

    def finished(self, params: list[Var], body: Expr) -> IRModule:
        """Returns the module. Functions get the outer variables that they read as further parameters."""
        module = self.types.clone()
        outer = self._outer_variables()
        for name, function in self.functions.items():
            module[name] = _lifted(function, outer[name], outer)
        module["main"] = Function(params, _Lifter(outer, {}).visit(body))
        return module

    def _outer_variables(self) -> dict[str, list[Var]]:
        """Returns the outer variables that each function reads, itself or through functions that it calls."""
        reads = {name: list(_core.free_vars(function)) for name, function in self.functions.items()}
        calls = {name: _called(function) & set(reads) for name, function in self.functions.items()}
        changed = True
        while changed:
            changed = False
            for name, callees in calls.items():
                for variable in [v for callee in sorted(callees) for v in reads[callee]]:
                    if not any(variable is one for one in reads[name]):
                        reads[name].append(variable)
                        changed = True
        return reads


def _called(function: Function) -> set[str]:
    found: set[str] = set()
    _core.post_order_visit(function, lambda e: found.add(e.name_hint) if isinstance(e, GlobalVar) else None)
    return found


def _lifted(function: Function, variables: list[Var], outer: dict[str, list[Var]]) -> Function:
    new = {old: Var(old.name_hint, old.type_annotation) for old in variables}
    body = _Lifter(outer, new).visit(function.body)
    return Function([*function.params, *new.values()], body, function.ret_type, function.type_params)


class _Lifter(ExprMutator):
    """Adds the outer variables to calls of functions."""

    def __init__(self, outer: dict[str, list[Var]], new: dict[Var, Var]):
        super().__init__()
        self.outer, self.new = outer, new

    def visit_var(self, var):
        return self.new.get(var, var)

    def visit_call(self, call):
        call = super().visit_call(call)
        more = self.outer.get(call.op.name_hint) if isinstance(call.op, GlobalVar) else None
        if not more:
            return call
        return Call(call.op, [*call.args, *(self.new.get(one, one) for one in more)], None, None, call.span)


def active() -> Program | None:
    """Returns the program that this thread traces, or None."""
    stack = getattr(_local, "stack", None)
    return stack[-1] if stack else None


def in_plain_python() -> bool:
    """Returns true while this thread runs a scripted function in plain Python, and traces nothing within it."""
    stack = getattr(_local, "stack", None)
    return bool(stack) and stack[-1] is None


@contextmanager
def tracing(program: Program | None) -> Iterator[Program | None]:
    """Makes a program the one that this thread traces; None: plain Python."""
    stack = _local.__dict__.setdefault("stack", [])
    stack.append(program)
    try:
        yield program
    finally:
        stack.pop()
