# ruff: noqa: F403
"""relay.analysis with earlier names of the equality functions."""

import types as _types

from relay import IRModule, Pattern, PatternConstructor, PatternTuple, PatternVar, TypeKind
from relay import analysis as _ours
from relay.analysis import *
from relay.transform import weights as _weights

from ...outside import missing as _missing
from ..equality import alpha_equal, assert_alpha_equal
from ..relations import ConstrainedFuncType, TypeRelation, kind_checked
from ..type_solver import TypeSolver

__getattr__ = _missing("tvm.relay.analysis")


def check_kind(t, mod=None) -> TypeKind:
    """Returns the kind of a type, or raises an error if it has none."""
    return kind_checked(t, mod)


sparse_dense = _types.SimpleNamespace(process_params=_weights.process_dense_params)
sparse_conv2d = _types.SimpleNamespace(process_params=_weights.process_conv2d_params)
annotated_regions = _types.SimpleNamespace(AnnotatedRegionSet=_ours.AnnotatedRegionSet)
call_graph = _types.SimpleNamespace(CallGraph=_ours.CallGraph)


_ffi_api = _types.SimpleNamespace(__name__="tvm.relay.analysis._ffi_api", _test_type_solver=TypeSolver)


def _in_pattern(pattern) -> list:
    if isinstance(pattern, PatternVar):
        return [pattern.var]
    if isinstance(pattern, (PatternConstructor, PatternTuple)):
        return [var for part in pattern.patterns or [] for var in _in_pattern(part)]
    return []


def bound_vars(expr) -> list:
    """Returns the bound variables of an expression, or the variables of a pattern."""
    return _in_pattern(expr) if isinstance(expr, Pattern) else _ours.bound_vars(expr)


def all_vars(expr) -> list:
    """Returns all variables of an expression or a pattern."""
    return _in_pattern(expr) if isinstance(expr, Pattern) else _ours.all_vars(expr)


def free_vars(expr) -> list:
    """Returns the free variables of an expression, or the variables that a pattern binds."""
    return _in_pattern(expr) if isinstance(expr, Pattern) else _ours.free_vars(expr)


def count_layers(expr, valid_ops) -> int:
    """Returns the largest number of calls of these operators on a path. For a module, the path is in @main."""
    return _ours.count_layers(expr["main"] if isinstance(expr, IRModule) else expr, valid_ops)


def _of_types(expr) -> list:
    """Returns the types in a relation, or in a type."""
    if isinstance(expr, TypeRelation):
        return expr.args
    return [expr.plain(), *(arg for one in expr.type_constraints for arg in one.args)]


def _type_vars(found):
    def of(expr, mod=None):
        if not isinstance(expr, (TypeRelation, ConstrainedFuncType)):
            return found(expr)
        return list(dict.fromkeys(var for part in _of_types(expr) for var in found(part)))

    of.__doc__ = "Those of an expression or a type; the module says nothing of them."
    return of


free_type_vars, bound_type_vars, all_type_vars = map(
    _type_vars, (_ours.free_type_vars, _ours.bound_type_vars, _ours.all_type_vars)
)
graph_equal, assert_graph_equal = alpha_equal, assert_alpha_equal
extract_intermdeiate_expr = _ours.extract_intermediate_expr  # the spelling in TVM

__all__ = [*_ours.__all__, "assert_alpha_equal", "assert_graph_equal", "graph_equal"]
