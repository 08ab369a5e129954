"""ScopeBuilder: `let` and `if` in the order of Python statements instead of inside out.

sb = relay.ScopeBuilder()
with sb.if_scope(relay.less(x, zero)):
    y = sb.let("y", x * x)
    sb.ret(y + y)
with sb.else_scope():
    sb.ret(x)
expr = sb.get()       # if (less(%x, 0f)) { let %y = ...; add(%y, %y) } else { %x }
"""

from __future__ import annotations

import contextlib

from .._core import Expr, If, Let, Type, Var, infer_expr


class _Scope:
    def __init__(self):
        self.bindings: list[tuple[Var, Expr]] = []
        self.result: Expr | None = None
        self.condition: Expr | None = None  # of an `if` whose `else` has not been built yet
        self.then: Expr | None = None

    def close(self) -> Expr:
        if self.result is None:
            raise RuntimeError("a scope has no value: call ret(value) in it")
        out = self.result
        for var, value in reversed(self.bindings):
            out = Let(var, value, out)
        return out


class ScopeBuilder:
    """Builds an expression scope by scope; see the module's docstring."""

    def __init__(self):
        self._scopes = [_Scope()]

    def let(self, var: Var | str | tuple[str, Type], value: Expr) -> Var:
        """Adds `let %var = value;` and returns the variable."""
        if isinstance(var, (tuple, list)):
            if len(var) != 2:
                raise ValueError("expected (name, type)")
            var = Var(*var)
        elif isinstance(var, str):
            var = Var(var)
        self._scopes[-1].bindings.append((var, value))
        return var

    @contextlib.contextmanager
    def if_scope(self, cond: Expr):
        """Builds the first branch of an `if`. else_scope() must follow."""
        self._end_of_scope_is_open()
        self._scopes.append(_Scope())
        yield
        then = self._scopes.pop().close()
        self._scopes[-1].condition, self._scopes[-1].then = cond, then

    @contextlib.contextmanager
    def else_scope(self):
        """Builds the second branch."""
        scope = self._scopes[-1]
        if scope.condition is None:
            raise RuntimeError("else_scope() must directly follow an if_scope()")
        self._scopes.append(_Scope())
        yield
        otherwise = self._scopes.pop().close()
        condition, scope.condition = scope.condition, None
        self.ret(If(condition, scope.then, otherwise))

    def ret(self, value: Expr) -> None:
        """Sets the value of this scope."""
        self._end_of_scope_is_open()
        self._scopes[-1].result = value

    def type_of(self, expr: Expr) -> Type:
        """Returns the type of an expression, as far as the annotations determine it."""
        if isinstance(expr, Var) and expr.type_annotation is not None:
            return expr.type_annotation
        return infer_expr(expr).checked_type

    def get(self) -> Expr:
        """Returns the whole expression."""
        if len(self._scopes) != 1:
            raise RuntimeError("get() must not be called inside a scope")
        if self._scopes[-1].condition is not None:
            raise RuntimeError("an if_scope() has no else_scope()")
        return self._scopes[-1].close()

    def _end_of_scope_is_open(self):
        if self._scopes[-1].result is not None:
            raise RuntimeError("this scope already has a value: ret() ends it")
