"""relay.transform with passes that have nothing to do here, and reasons for those that are not there."""

from __future__ import annotations

import functools

from relay import parse as _parse
from relay import transform as _ours
from relay.differentiation import FirstOrderGradient, gradient  # noqa: F401
from relay.transform import *  # noqa: F403
from relay.transform import Pass, infer_expr

from ..op import rules as _rules

InferTypeLocal = infer_expr
# Parameters are no constants until they are bound: their scales are folded all the same.
BackwardFoldScaleAxis = functools.partial(_ours.BackwardFoldScaleAxis, any_weights=True)
ForwardFoldScaleAxis = functools.partial(_ours.ForwardFoldScaleAxis, any_weights=True)
FoldScaleAxis = functools.partial(_ours.FoldScaleAxis, any_weights=True)
FunctionPass = ModulePass = Pass

# What does the same, or why there is none.
_INSTEAD = {
    "SimplifyFCTranspose": "transposes of constant weights are computed when a model is compiled",
    "CapturePostDfsIndexInSpans": "relay.analysis.post_order_visit numbers expressions",
    "CollagePartition": "the first compiler that takes a call gets it, there is no search: relay.byoc",
    "Conv2dToSparse2": "Conv2dToSparse(blocksize, sparsity_threshold) looks at constant weights",
    "FlexibleShapeDispatch": "sizes may be variables: relay.var('x', shape=('n', 3)); one program runs for all of them",
    "ManifestLifetimes": "the memory of a program is planned when it is built: relay.compile(...).report",
    "MarkCompilerFunctionsAsExtern": "functions for other compilers keep their bodies",
    "PlanDevices": "there is one device, the processor",
    "Defunctionalization": "closures are values of the executors; LambdaLift() makes functions of them",
    "RewriteAnnotatedOps": "there is one device, the processor",
    "LazyGradientInit": "gradients begin as zeros where control flow needs a reference to them, and nowhere else",
}


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> Pass:
    """Replaces calls by what register_legalize() or TempOpAttr says."""
    if legalize_map_attr_name != "FTVMLegalize":
        raise NotImplementedError("rules are those of FTVMLegalize: register_legalize(), TempOpAttr")
    return _ours.Legalize(_rules.legalize_rules())


def AlterOpLayout() -> Pass:
    """Brings calls into the layouts that register_alter_op_layout() or TempOpAttr says."""
    return _ours.AlterOpLayout(_rules.alter_layout_rules())


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:
    """relay.transform.ToMixedPrecision with the rules of register_mixed_precision_conversion()."""
    rules = _rules.mixed_precision_rules()
    return _ours.ToMixedPrecision(mixed_precision_type, missing_op_mode, rules=rules)


def AnnotateSpans() -> Pass:
    """Gives expressions their places in the program as it is printed."""
    return _ours.module_pass(lambda mod, ctx: _parse(mod.astext()), opt_level=0, name="AnnotateSpans")


def build_config(*args, **named):
    """PassContext's name of 2019."""
    from ..early import build_config

    return build_config(*args, **named)


def __getattr__(name: str):
    if name in _INSTEAD:
        raise AttributeError(f"Relay has no pass {name}: {_INSTEAD[name]}")
    return getattr(_ours, name)
