"""Loops as recursive functions.

count = relay.var("count", "int32")
loop = relay.while_loop(lambda n: n < 10, [count], lambda n: [n + 1])       # fn (count) -> (count,)
relay.create_executor("debug").evaluate(relay.TupleGetItem(loop(relay.const(0)), 0))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core import Expr, Function, Let, Tuple, Var
from .scope_builder import ScopeBuilder


def while_loop(
    cond: Callable[..., Expr], loop_vars: Sequence[Expr], loop_bodies: Callable[..., Sequence[Expr]]
) -> Expr:
    """Returns a function of the loop's variables. It returns a tuple of their values once cond(*variables) is false.

    loop_bodies(*variables) returns the next values of the variables. Names and types are those of loop_vars.
    """
    sb, loop = ScopeBuilder(), Var("while_loop")
    params = [
        Var(value.name_hint if isinstance(value, Var) else f"arg{number}", sb.type_of(value))
        for number, value in enumerate(loop_vars)
    ]
    with sb.if_scope(cond(*params)):
        sb.ret(loop(*loop_bodies(*params)))
    with sb.else_scope():
        sb.ret(Tuple(params))
    return Let(loop, Function(params, sb.get()), loop)
