"""Networks with random weights, and what tests of passes need.

mod, params = relay.testing.resnet.get_workload(batch_size=1, num_layers=18)
model = relay.compile(relay.testing.bound(mod, params))

mlp, resnet, vgg, densenet, mobilenet, squeezenet, inception_v3, dcgan, dqn, lstm, synthetic.
"""

from __future__ import annotations

import numpy as np

from .._core import Call, Expr, Function, IRModule, Op, post_order_visit
from ..build_module import bind_params_by_name, cpu
from ..transform import Pass, PassContext, run_passes
from . import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    init,
    layers,
    lstm,
    mlp,
    mobilenet,
    nat,
    resnet,
    squeezenet,
    synthetic,
    vgg,
)
from .init import create_workload
from .nat import add_nat_definitions, count, make_nat_expr, make_nat_value

__all__ = [
    "add_nat_definitions",
    "bound",
    "count",
    "count_ops",
    "create_workload",
    "ctx_list",
    "dcgan",
    "densenet",
    "dqn",
    "enabled_targets",
    "inception_v3",
    "init",
    "layers",
    "lstm",
    "make_nat_expr",
    "make_nat_value",
    "mlp",
    "mobilenet",
    "nat",
    "rand",
    "resnet",
    "run_infer_type",
    "run_opt_pass",
    "squeezenet",
    "synthetic",
    "vgg",
]


def bound(mod: IRModule, params: dict) -> IRModule:
    """The module with the parameters of @main as constants."""
    out = mod.clone()
    out["main"] = bind_params_by_name(mod["main"], params)
    return out


def run_opt_pass(expr: Expr, passes: Pass | list[Pass]) -> Expr:
    """The expression after passes of every level."""
    mod = IRModule.from_expr(expr)
    with PassContext(opt_level=3):
        for one in passes if isinstance(passes, list) else [passes]:
            mod = one(mod)
    return mod["main"] if isinstance(expr, Function) else mod["main"].body


def run_infer_type(expr: Expr, mod: IRModule | None = None) -> Expr:
    """The expression with types, and with annotations where it is a function."""
    module = IRModule.from_expr(expr) if mod is None else mod.clone()
    if mod is not None:
        module["main"] = IRModule.from_expr(expr)["main"]
    main = run_passes(module, ["infer_type"])["main"]
    return main if isinstance(expr, Function) else main.body


def enabled_targets():
    """(target, device) pairs to run on."""
    return [("llvm", cpu())]


ctx_list = enabled_targets  # 2019


def rand(dtype: str, *shape: int) -> np.ndarray:
    """Random numbers in [0, 1)."""
    return np.random.rand(*shape).astype(dtype)


def count_ops(expr: Expr) -> int:
    """How many calls of operators there are."""
    calls = []
    post_order_visit(expr, lambda e: calls.append(e) if isinstance(e, Call) and isinstance(e.op, Op) else None)
    return len(calls)
