"""relay.ir_pass: passes and analyses of expressions, from before there were passes on modules (2019)."""

from __future__ import annotations

from relay import Call, Constant, ExprMutator, Function, IRModule, Tuple, op, transform
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
from ..nd import Device
from .analysis import alpha_equal, check_kind, graph_equal
from .annotation import device_text, on_device

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


# Kinds of devices by their numbers in TVM.
_KINDS = {1: "cpu", 2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm"}


class _FromAnywhere(ExprMutator):
    """Lets the arguments of annotated calls come from any device."""

    def visit_call(self, call):
        call = super().visit_call(call)
        body = call.args[0] if call.op == op.get("on_device") else None
        if not isinstance(body, Call):
            return call
        args = [self._free(arg) for arg in body.args]
        return Call(call.op, [Call(body.op, args, body.attrs, body.type_args, body.span)], call.attrs, span=call.span)

    def _free(self, arg):
        if isinstance(arg, Tuple):
            return Tuple([self._free(field) for field in arg.fields], arg.span)
        return arg if isinstance(arg, Constant) else on_device(arg, None, constrain_body=False)


def rewrite_annotated_ops(expr, fallback_device):
    """Inserts copies: calls in on_device() are on that device, all others on the fallback device. It is a device or the
    number of its kind (1 is the processor)."""
    if isinstance(fallback_device, int):
        fallback_device = Device(_KINDS.get(fallback_device, "cpu"))
    return _on(_FromAnywhere().visit(expr), [transform.PlanDevices(device_text(fallback_device))])


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
    "rewrite_annotated_ops",
    "simplify_inference",
    "structural_equal",
    "structural_hash",
    "to_graph_normal_form",
    "well_formed",
]
