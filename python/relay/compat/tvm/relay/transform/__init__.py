"""relay.transform, with passes that have nothing to do here, and errors with reasons for missing passes."""

from __future__ import annotations

import functools
import types

from relay import transform as _ours
from relay.transform import *  # noqa: F403
from relay.transform import Pass, infer_expr, weights
from relay.transform.differentiation import FirstOrderGradient, gradient  # noqa: F401

from ....outside import Outside, is_outside
from ...ir_parts import reported
from ..op import rules as _rules
from . import forms as _forms


def InferTypeLocal(expr):
    """Infers the type of an expression, whose parts may have types already."""
    return infer_expr(expr).checked_type


# Parameters are not constants until they are bound, but their scales are folded all the same.
BackwardFoldScaleAxis = functools.partial(_ours.BackwardFoldScaleAxis, any_weights=True)
ForwardFoldScaleAxis = functools.partial(_ours.ForwardFoldScaleAxis, any_weights=True)
FoldScaleAxis = functools.partial(_ours.FoldScaleAxis, any_weights=True)
FunctionPass = ModulePass = Pass

# Replacements of missing passes, or the reasons why they are missing.
_INSTEAD = {
    "AnnotateMemoryScope": "there is only one memory",
    "AnnotateUsedMemory": "relay.compile(...).report has the bytes of a program's arena",
    "LowerTE": "relay.compile() creates kernels: see `relay opt --emit`",
    "ManifestAlloc": "memory is planned when a program is built: relay.compile(...).report",
    "ManifestLifetimes": "memory is planned when a program is built: relay.compile(...).report",
    "RelayToTIRTargetHook": "another compiler takes a part of a program: relay.byoc",
    "RemoveStandaloneReshapes": "reshapes outside of kernels copy nothing: the plan of a program removes them",
    "RewriteAnnotatedOps": "PlanDevices() reads annotations of devices",
    "AutoSchedulerLayoutRewrite": "the storage of arrays is planned when a program is built",
    "MetaScheduleLayoutRewrite": "the storage of arrays is planned when a program is built",
}


CombineParallelConv2D, CombineParallelDense = _forms.CombineParallelConv2D, _forms.CombineParallelDense
CombineParallelBatchMatmul, LambdaLift = _forms.CombineParallelBatchMatmul, _forms.LambdaLift
ToBasicBlockNormalForm, ToANormalForm = _forms.ToBasicBlockNormalForm, _forms.ToANormalForm
BatchingOps, SplitArgs = _forms.BatchingOps, _forms.SplitArgs


def ToANormalFormExpr(expr):
    """Runs ToANormalForm() on one expression."""
    return _ours._of_expr(expr, None, ToANormalForm())


def FakeQuantizationToInteger(hard_fail: bool = False, use_qat: bool = False, optional_qnn_ops=None) -> Pass:
    """relay.transform.FakeQuantizationToInteger. optional_qnn_ops may contain only "nn.softmax"."""
    others = [name for name in optional_qnn_ops or () if name != "nn.softmax"]
    if others:
        raise ValueError(f"optional_qnn_ops may contain nn.softmax, not {others[0]}")
    return _ours.FakeQuantizationToInteger(hard_fail, use_qat, softmax=bool(optional_qnn_ops))


def PlanDevices(config=None) -> Pass:
    """relay.transform.PlanDevices(). config: the result of make_compilation_config(); the device of a single target is
    the default. Plans for devices other than the processor can be printed, but not compiled."""
    only = getattr(config, "optional_homogeneous_target", None)
    return _ours.PlanDevices(_device_of_target(only)) if only is not None else _ours.PlanDevices()


def _device_of_target(target) -> str:
    """Returns the device of a kind of target: "cpu" for "llvm -mcpu=haswell", "cuda" for "nvptx"."""
    kind = str(target.kind)
    return {"llvm": "cpu", "c": "cpu", "nvptx": "cuda", "sdaccel": "opencl"}.get(kind, kind)


def DenseToSparse(*args, **named) -> Pass:
    """DenseToSparse(names, shapes) for weights that are parameters, with the results of process_params(), or
    DenseToSparse(blocksize, sparsity_threshold) for constant weights."""
    return (weights.DenseToSparseParameters if _names_first(args, named) else _ours.DenseToSparse)(*args, **named)


def Conv2dToSparse(*args, **named) -> Pass:
    """Conv2dToSparse(names, shapes, layout, kernel_size), or Conv2dToSparse(blocksize, sparsity_threshold) for constant
    weights."""
    if not _names_first(args, named):
        return _ours.Conv2dToSparse(*args, **named)
    args, size = (args[:3], args[3]) if len(args) > 3 else (args, named.pop("kernel_size", 1))
    if size != 1:
        raise NotImplementedError("sparse convolutions must have a window of one pixel: kernel_size=1")
    return weights.Conv2dToSparseParameters(*args, **named)


def Conv2dToSparse2(layout: str, kernel_size: int, blocksize, sparsity_threshold: float) -> Pass:
    """Conv2dToSparse() for constant weights."""
    if kernel_size != 1 or layout not in ("NHWC", "NCHW"):
        raise NotImplementedError("sparse convolutions must have a window of one pixel, and the layout NHWC or NCHW")
    return _ours.Conv2dToSparse(tuple(blocksize), sparsity_threshold)


def _names_first(args, named) -> bool:
    if "weight_name" in named:
        return True
    return bool(args) and all(isinstance(one, str) for one in args[0])


class _InferType(Pass):
    def __init__(self):
        made = _ours.InferType()
        super().__init__(made.info)
        self._run = reported(made.run)

    def run(self, mod, ctx):
        return self._run(mod, ctx)


def InferType() -> Pass:
    """relay.transform.InferType(), with errors shown to the renderer of diagnostics."""
    return _InferType()


def SimplifyExprPostAlterOp() -> Pass:
    """Runs SimplifyExpr()."""
    return _ours.SimplifyExpr()


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> Pass:
    """Replaces calls by the results of the rules that register_legalize(), register_op_attr() or TempOpAttr set for
    this key."""
    return _ours.Legalize(_rules.legalize_rules(legalize_map_attr_name))


def AlterOpLayout() -> Pass:
    """Calls the rules of register_alter_op_layout() and TempOpAttr. A rule returns the call in other layouts, and the
    operators between such calls are converted too; or it returns another expression of the same type."""

    def run(mod, ctx):
        rules = _rules.AlterRules()
        mod = _ours.Legalize(rules.expressions())(mod)
        return _ours.AlterOpLayout(rules.layouts())(mod)

    return _ours.UserPass(run, _ours.PassInfo(3, "AlterOpLayout"), False)


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:
    """relay.transform.ToMixedPrecision with the rules of register_mixed_precision_conversion()."""
    rules = _rules.mixed_precision_rules()
    return _ours.ToMixedPrecision(mixed_precision_type, missing_op_mode, rules=rules)


def _no_plan(*args, **named):
    raise NotImplementedError("memory is planned when a program is built: relay.compile(...).report")


flexible_shape = types.SimpleNamespace(FlexibleShapeDispatch=_ours.FlexibleShapeDispatch)
memory_plan = types.SimpleNamespace(LiftConstants=_ours.LiftConstants, MemoryPlan=_no_plan)


def build_config(*args, **named):
    """The name of PassContext in 2019."""
    from ..early import build_config

    return build_config(*args, **named)


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    full = f"tvm.relay.transform.{name}"
    if name in _INSTEAD:
        return Outside(full, f"Relay has no pass {name}: {_INSTEAD[name]}")
    if is_outside(full):
        return Outside(full)
    try:
        return getattr(_ours, name)
    except AttributeError as error:
        return Outside(full, str(error))
