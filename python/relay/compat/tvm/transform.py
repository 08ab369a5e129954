"""tvm.transform: how passes are run."""

from relay.transform import (
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

__all__ = [
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
