"""tvm.transform: how passes are run."""

from relay.transform import (
    ApplyPassToFunction,
    Pass,
    PassContext,
    PassInfo,
    PassTimingInstrument,
    PrintIR,
    Sequential,
    module_pass,
    pass_instrument,
)

from ..outside import missing as _missing

__getattr__ = _missing("tvm.transform")

ModulePass = Pass

FunctionPass = Pass

__all__ = [
    "ApplyPassToFunction",
    "FunctionPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassTimingInstrument",
    "PrintIR",
    "Sequential",
    "module_pass",
    "pass_instrument",
]
