"""Networks with random weights, and helpers for tests of passes.

mod, params = relay.testing.resnet.get_workload(batch_size=1, num_layers=18)
model = relay.compile(relay.testing.bound(mod, params))

The networks are mlp, resnet, vgg, densenet, mobilenet, squeezenet, inception_v3, dcgan, dqn, lstm and synthetic.
"""

from __future__ import annotations

import numpy as np

from .._core import Call, Expr, Function, IRModule, Op, post_order_visit
from ..ir.pass_infra import Pass, PassContext, run_passes
from ..run.build_module import bind_params_by_name, cpu
from ..run.compiled import evaluate
from ..transform.differentiation import gradient
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
    resnet_3d,
    squeezenet,
    synthetic,
    vgg,
)
from .init import create_workload
from .nat import add_nat_definitions, count, make_nat_expr, make_nat_value

__all__ = [
    "add_nat_definitions",
    "bound",
    "check_grad",
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
    "resnet_3d",
    "run_as_python",
    "run_infer_type",
    "run_opt_pass",
    "squeezenet",
    "synthetic",
    "vgg",
]


def bound(mod: IRModule, params: dict) -> IRModule:
    """Returns the module with the parameters of @main replaced by constants."""
    out = mod.clone()
    out["main"] = bind_params_by_name(mod["main"], params)
    return out


def run_opt_pass(expr: Expr, opt_pass: Pass | list[Pass], import_prelude: bool = False) -> Expr:
    """Returns the expression after passes of every level, with the settings of the surrounding context."""
    mod = IRModule.from_expr(expr)
    if import_prelude:
        mod.import_from_std("prelude")
    around = PassContext.current()
    settings = around.required_pass, around.disabled_pass, around.instruments, around.config, around.trace
    with PassContext(max(3, around.opt_level), *settings[:2], config=settings[3], trace=settings[4]) as context:
        context.instruments = settings[2]
        for one in opt_pass if isinstance(opt_pass, (list, tuple)) else [opt_pass]:
            mod = one(mod)
        context.instruments = []  # they belong to the surrounding context, which exits them
    return mod["main"] if isinstance(expr, Function) else mod["main"].body


def run_infer_type(expr: Expr, mod: IRModule | None = None) -> Expr:
    """Returns the expression with types, and with annotations if it is a function."""
    module = IRModule.from_expr(expr) if mod is None else mod.clone()
    if mod is not None:
        module["main"] = IRModule.from_expr(expr)["main"]
    main = run_passes(module, ["infer_type"])["main"]
    return main if isinstance(expr, Function) else main.body


def run_as_python(expr: Expr, mod: IRModule | None = None, target=None):
    """Returns the value of an expression, computed by the reference evaluator: arrays, tuples and the classes of
    relay.values. Programs are not translated to Python code."""
    inside = IRModule() if mod is None else mod.clone()
    inside["main"] = Function([], expr)
    return evaluate(inside, [])


def enabled_targets():
    """Returns the (target, device) pairs to run on."""
    return [("llvm", cpu())]


ctx_list = enabled_targets  # the name in 2019


def rand(dtype: str, *shape: int) -> np.ndarray:
    """Returns random numbers in [0, 1)."""
    return np.random.rand(*shape).astype(dtype)


def count_ops(expr: Expr) -> int:
    """Returns the number of calls of operators."""
    calls = []
    post_order_visit(expr, lambda e: calls.append(e) if isinstance(e, Call) and isinstance(e.op, Op) else None)
    return len(calls)


def check_grad(
    func: Function,
    inputs: list | None = None,
    test_inputs: list | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices=None,
    executor_kind: str = "debug",
) -> None:
    """Compares the gradients of a function with differences of its values, both in double precision, for every element
    of each of `test_inputs` (by default all inputs).

    `inputs` are arrays. Without them, normally distributed numbers are used, with mean `mean` and standard deviation
    `scale` (by default 1). The reference evaluator runs the function, whatever the target and the executor.
    """
    func = run_infer_type(func)
    random = np.random.default_rng(0)
    if inputs is None:
        types = [param.checked_type for param in func.params]
        inputs = [
            random.normal(mean, scale or 1, size=[int(n) for n in type_.shape]).astype(type_.dtype) for type_ in types
        ]
    values = IRModule.from_expr(func)
    gradients = IRModule.from_expr(gradient(func, mode=mode))

    def total(arrays):
        return float(np.sum(evaluate(values, arrays, precision="float64")))

    tested = [test_inputs is None or any(a is t for t in test_inputs) for a in inputs]
    inputs = [np.asarray(a, "float64" if np.asarray(a).dtype.kind == "f" else None) for a in inputs]
    _, found = evaluate(gradients, inputs, precision="float64")
    for position, (array, got) in enumerate(zip(inputs, found, strict=True)):
        if array.dtype.kind != "f" or not tested[position]:
            continue
        slopes = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            step = np.zeros(array.shape)
            step[place] = eps
            there, back = ([*inputs[:position], array + by, *inputs[position + 1 :]] for by in (step, -step))
            slopes[place] = (total(there) - total(back)) / (2 * eps)
        np.testing.assert_allclose(np.asarray(got), slopes, atol=atol, rtol=rtol)
