# ruff: noqa: F403
"""relay.analysis with the names of other years for equality."""

import types as _types

from relay import CompileError, GlobalTypeVar, TypeKind
from relay import analysis as _ours
from relay import weights as _weights
from relay.analysis import *

from ...outside import missing as _missing
from ..equality import alpha_equal, assert_alpha_equal

__getattr__ = _missing("tvm.relay.analysis")


def check_kind(t, mod=None) -> TypeKind:
    """Of what kind a type is; an error where it is none."""
    if not _ours.check_kind(t, mod):
        raise CompileError(f"error: {t} is not a type of this module")
    return TypeKind.AdtHandle if isinstance(t, GlobalTypeVar) and mod is None else TypeKind.Type


sparse_dense = _types.SimpleNamespace(process_params=_weights.process_dense_params)
sparse_conv2d = _types.SimpleNamespace(process_params=_weights.process_conv2d_params)
annotated_regions = _types.SimpleNamespace(AnnotatedRegionSet=_ours.AnnotatedRegionSet)
call_graph = _types.SimpleNamespace(CallGraph=_ours.CallGraph)


def free_type_vars(expr, mod=None):
    """Those of an expression or a type; the module says nothing of them."""
    return _ours.free_type_vars(expr)


def bound_type_vars(expr, mod=None):
    """Those of an expression or a type."""
    return _ours.bound_type_vars(expr)


def all_type_vars(expr, mod=None):
    """Those of an expression or a type."""
    return _ours.all_type_vars(expr)


graph_equal, assert_graph_equal = alpha_equal, assert_alpha_equal
extract_intermdeiate_expr = _ours.extract_intermediate_expr  # so it was spelled

__all__ = [*_ours.__all__, "assert_alpha_equal", "assert_graph_equal", "graph_equal"]
