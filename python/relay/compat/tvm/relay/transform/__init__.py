"""relay.transform with passes that have nothing to do here, and reasons for those that are not there."""

from __future__ import annotations

import functools

from relay import transform as _ours
from relay.differentiation import FirstOrderGradient, gradient  # noqa: F401
from relay.transform import *  # noqa: F403
from relay.transform import Pass, PassInfo, infer_expr

InferTypeLocal = infer_expr
# Parameters are no constants until they are bound: their scales are folded all the same.
BackwardFoldScaleAxis = functools.partial(_ours.BackwardFoldScaleAxis, any_weights=True)
ForwardFoldScaleAxis = functools.partial(_ours.ForwardFoldScaleAxis, any_weights=True)
FoldScaleAxis = functools.partial(_ours.FoldScaleAxis, any_weights=True)
FunctionPass = ModulePass = Pass

# What does the same, or why there is none.
_INSTEAD = {
    "SimplifyFCTranspose": "transposes of constant weights are computed when a model is compiled",
    "SplitArgs": "LimitWidth() makes trees of wide concatenations",
    "PlanDevices": "there is one device, the processor",
    "RewriteAnnotatedOps": "there is one device, the processor",
    "ToMixedPrecision": "nothing in its place",
    "LazyGradientInit": "gradients begin as zeros where control flow needs a reference to them, and nowhere else",
}


class _Nothing(Pass):
    def run(self, mod, ctx):
        return mod


def AlterOpLayout() -> Pass:
    """Lets the target replace calls by ones in another layout. This one replaces none: layouts in memory are chosen
    while lowering, and programs stay as they are."""
    return _Nothing(PassInfo(3, "AlterOpLayout"))


def Legalize(legalize_map_attr_name: str = "FTVMLegalize") -> Pass:
    """Lets the target replace calls that it cannot compute. This one computes all."""
    return _Nothing(PassInfo(1, "Legalize"))


def AnnotateSpans() -> Pass:
    """Gives expressions places in the program's text. Here they have those of the program that made them."""
    return _Nothing(PassInfo(0, "AnnotateSpans"))


def build_config(*args, **named):
    """PassContext's name of 2019."""
    from ..early import build_config

    return build_config(*args, **named)


def __getattr__(name: str):
    if name in _INSTEAD:
        raise AttributeError(f"Relay has no pass {name}: {_INSTEAD[name]}")
    return getattr(_ours, name)
