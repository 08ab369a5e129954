"""Equality of programs with inferred types. TVM's inference writes the types into every function and variable."""

from __future__ import annotations

from relay import (
    Clause,
    CompileError,
    Expr,
    ExprMutator,
    Function,
    FuncType,
    IRModule,
    Let,
    Match,
    Pattern,
    PatternVar,
    Type,
    Var,
    run_passes,
)
from relay.analysis import free_type_vars, free_vars
from relay.analysis import structural_equal as _as_written
from relay.analysis import structural_hash as _hash


class _Annotated(ExprMutator):
    """Writes the types of a typed expression at bindings and results of functions."""

    def bound(self, var: Var) -> Var:
        if var._checked_type_ is not None and var not in self.memo_map:
            self.memo_map[var] = Var(var.name_hint, var._checked_type_)
        return self.visit(var)

    def visit_function(self, fn):
        params = [self.bound(param) for param in fn.params]
        result = fn.ret_type if fn._checked_type_ is None else fn._checked_type_.ret_type
        return Function(params, self.visit(fn.body), result, fn.type_params, fn.attrs)

    def visit_let(self, let):
        var = self.bound(let.var)
        return Let(var, self.visit(let.value), self.visit(let.body))

    def visit_match(self, m):
        return Match(
            self.visit(m.data), [Clause(self.visit_pattern(c.lhs), self.visit(c.rhs)) for c in m.clauses], m.complete
        )

    def visit_pattern(self, pattern):
        return (
            PatternVar(self.bound(pattern.var)) if isinstance(pattern, PatternVar) else super().visit_pattern(pattern)
        )


def _annotated(value):
    if isinstance(value, Expr):
        return _Annotated().visit(value)
    if isinstance(value, IRModule):
        out = value.clone()
        for var, function in value.functions.items():
            out[var] = _Annotated().visit(function)
        return out
    return value


def _typed(value):
    try:
        if isinstance(value, IRModule):
            return run_passes(value, ["infer_type"])
        if isinstance(value, Function):
            return run_passes(IRModule({"main": value}), ["infer_type"])["main"]
    except CompileError:
        pass
    return value


_NODES = (Expr, IRModule, Pattern, Type, list, tuple, dict)


def structural_equal(lhs, rhs, map_free_vars: bool = False) -> bool:
    """Returns true if two nodes are equal up to the names of bound variables, either as they are or with known types
    written in."""
    if not isinstance(lhs, _NODES) or not isinstance(rhs, _NODES):
        return type(lhs) is type(rhs) and bool(lhs == rhs)
    if isinstance(lhs, dict) and isinstance(rhs, dict):
        return lhs.keys() == rhs.keys() and all(structural_equal(lhs[key], rhs[key], map_free_vars) for key in lhs)
    if map_free_vars and isinstance(lhs, Type) and isinstance(rhs, Type):
        lhs, rhs = (FuncType([], one, free_type_vars(one)) for one in (lhs, rhs))
    if _as_written(lhs, rhs, map_free_vars) or _as_written(_annotated(lhs), _annotated(rhs), map_free_vars):
        return True
    if _is_typed(lhs) is _is_typed(rhs):
        return False
    return _as_written(_annotated(_typed(lhs)), _annotated(_typed(rhs)), map_free_vars)


def _is_typed(value) -> bool:
    """Returns true if the types of a function, or of all functions of a module, are inferred."""
    if isinstance(value, IRModule):
        return all(map(_is_typed, value.functions.values()))
    return isinstance(value, Function) and value._checked_type_ is not None


def structural_hash(value, map_free_vars: bool = False) -> int:
    """Returns a hash that is equal for nodes that are written equally. The hash of a pattern is its identity."""
    if map_free_vars and isinstance(value, Expr):
        value = Function(free_vars(value), value)
    return _hash(value) if isinstance(value, _NODES) and not isinstance(value, Pattern) else hash(value)


def alpha_equal(lhs, rhs) -> bool:
    """Returns true if both are equal after type inference, as modules of 2019 infer the types of functions."""
    return _as_written(lhs, rhs) or structural_equal(_typed(lhs), _typed(rhs))


class NotEqual(AssertionError, ValueError):
    """Raised by assert_structural_equal(). It is a ValueError, as in TVM, and an AssertionError."""


def get_first_structural_mismatch(lhs, rhs, map_free_vars: bool = False):
    """Returns None if both are equal, otherwise both."""
    return None if structural_equal(lhs, rhs, map_free_vars) else (lhs, rhs)


def _assertion(equal):
    def check(lhs, rhs, map_free_vars: bool = False) -> None:
        """Raises an AssertionError that shows both sides if they are not equal."""
        if not (equal(lhs, rhs, map_free_vars) if map_free_vars else equal(lhs, rhs)):
            raise NotEqual(f"StructuralEqual check failed, not equal:\n{lhs}\n-- and --\n{rhs}")

    return check


assert_structural_equal, assert_alpha_equal = _assertion(structural_equal), _assertion(alpha_equal)
