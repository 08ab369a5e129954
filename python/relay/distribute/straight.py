"""Straight-line programs as lists of steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .. import _core
from .._core import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from ..errors import wrong_input


@dataclasses.dataclass
class Straight:
    """A function without control flow: each step is a call of an operator, a tuple or a field of one; its operands are
    parameters, constants and earlier steps."""

    params: list[Var]
    steps: list[Expr]
    result: Expr
    bound: dict[Expr, Expr]  # variables of `let` with their values

    def value(self, expr: Expr) -> Expr:
        """Returns the step, parameter or constant that an expression stands for."""
        while isinstance(expr, Let) or expr in self.bound:
            expr = expr.body if isinstance(expr, Let) else self.bound[expr]
        return expr

    def operands(self, step: Expr) -> list[Expr]:
        """Returns the operands of a step, without variables of `let`."""
        return [self.value(one) for one in _children(step)]


def _children(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call):
        return list(expr.args)
    if isinstance(expr, Tuple):
        return list(expr.fields)
    if isinstance(expr, TupleGetItem):
        return [expr.tuple_value]
    return []


def straight(function: Function) -> Straight:
    """Returns the steps of a function in an order in which they can run. Control flow is refused."""
    steps: list[Expr] = []
    done: set[Expr] = set()
    bound: dict[Expr, Expr] = {}
    work: list[tuple[Expr, bool]] = [(function.body, False)]
    result = None
    while work:
        expr, ready = work.pop()
        if ready:
            if expr not in done:
                done.add(expr)
                steps.append(expr)
            continue
        if isinstance(expr, Let):
            bound[expr.var] = expr.value
            work.append((expr.body, False))
            work.append((expr.value, False))
            continue
        if expr in done or isinstance(expr, (Var, Constant)):
            continue
        if not isinstance(expr, (Tuple, TupleGetItem)) and not (isinstance(expr, Call) and isinstance(expr.op, Op)):
            raise wrong_input(
                f"@main contains a {type(expr).__name__}, and only programs without functions and branches are divided",
                "inline its functions, and leave branches and recursion out of the program",
            )
        work.append((expr, True))
        work.extend((child, False) for child in reversed(_children(expr)))
    body = function.body
    while isinstance(body, Let):
        body = body.body
    result = body
    return Straight(list(function.params), steps, result, bound)


def chained(steps: list[tuple[Var, Expr]], result: Expr) -> Expr:
    """Returns the expression that binds the variables in order."""
    for variable, value in reversed(steps):
        result = Let(variable, value, result)
    return result


def rebuilt(function: Function, change: Callable) -> Function:
    """Returns the function as a chain of `let`, without types.

    change(step, operands, let, keep): returns what replaces a step. `let(name, value)` binds a value, and `keep()` the
    step itself, with the operands."""
    source = straight(function)
    names = {source.value(variable): variable.name_hint for variable in source.bound}
    now: dict[Expr, Expr] = {}
    bound: list[tuple[Var, Expr]] = []

    def let(name: str, value: Expr) -> Var:
        bound.append((Var(name), value))
        return bound[-1][0]

    def new(expr: Expr) -> Expr:
        return now.get(source.value(expr), source.value(expr))

    for step in source.steps:
        operands = [new(one) for one in source.operands(step)]
        label = step.op.name.rpartition(".")[2] if isinstance(step, Call) else "value"

        def keep(step: Expr = step, operands: list[Expr] = operands, label: str = label) -> Var:
            return let(names.get(step, label), _with_operands(step, operands))

        now[step] = change(step, operands, let, keep)
    out = Function(source.params, chained(bound, new(source.result)))
    for name, value in dict(function.attrs or {}).items():
        out = out.with_attr(name, value)
    return out


def _with_operands(step: Expr, operands: list[Expr]) -> Expr:
    if isinstance(step, Call):
        return _core.call(step.op.name, operands, dict(step.attrs) if step.attrs else {})
    return Tuple(operands) if isinstance(step, Tuple) else TupleGetItem(operands[0], step.index)
