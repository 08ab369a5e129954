"""relay.ir_pass: passes and analyses of expressions, from before there were passes on modules (2019)."""

from __future__ import annotations

from relay import Function, IRModule, transform
from relay.analysis import (
    all_type_vars,
    all_vars,
    bound_type_vars,
    bound_vars,
    free_type_vars,
    free_vars,
    get_total_mac_number,
    post_order_visit,
    structural_equal,
    structural_hash,
    well_formed,
)

from ...outside import missing as _missing
from .analysis import alpha_equal, check_kind, graph_equal

__getattr__ = _missing("tvm.relay.ir_pass")


def _on(expr, passes, mod=None):
    module = IRModule() if mod is None else mod.clone()
    module["main"] = IRModule.from_expr(expr)["main"]
    for one in passes:
        module = one(module)
    return module["main"] if isinstance(expr, Function) else module["main"].body


def infer_type(expr, mod=None):
    """Returns the expression with types."""
    return _on(expr, [transform.InferType()], mod)


def simplify_inference(expr):
    """Replaces batch_norm by multiply and add, and dropout by its input."""
    return _on(expr, [transform.SimplifyInference()])


def fold_constant(expr):
    """Evaluates constant expressions."""
    return _on(expr, [transform.FoldConstant()])


def eliminate_common_subexpr(expr, fskip=None):
    """Computes equal calls once, except those for which fskip(call) is true."""
    return _on(expr, [transform.EliminateCommonSubexpr(fskip)])


def dead_code_elimination(expr):
    """Removes let-bound values that are not used."""
    return _on(expr, [transform.DeadCodeElimination()])


def to_graph_normal_form(expr):
    """Inlines let-bound values."""
    return _on(expr, [transform.ToGraphNormalForm()])


def fuse_ops(expr, opt_level=1, mod=None):
    """Groups calls into primitive functions."""
    return _on(expr, [transform.FuseOps(0 if opt_level == 0 else -1)], mod)


__all__ = [
    "all_type_vars",
    "all_vars",
    "alpha_equal",
    "bound_type_vars",
    "bound_vars",
    "check_kind",
    "dead_code_elimination",
    "eliminate_common_subexpr",
    "fold_constant",
    "free_type_vars",
    "free_vars",
    "fuse_ops",
    "get_total_mac_number",
    "graph_equal",
    "infer_type",
    "post_order_visit",
    "simplify_inference",
    "structural_equal",
    "structural_hash",
    "to_graph_normal_form",
    "well_formed",
]
