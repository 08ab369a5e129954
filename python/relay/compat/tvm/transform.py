"""tvm.transform: the settings of passes."""

from relay.transform import (
    ApplyPassToFunction,
    Pass,
    PassInfo,
    PassTimingInstrument,
    PrintIR,
    Sequential,
    module_pass,
    pass_instrument,
)
from relay.transform import PassContext as _PassContext

from ..outside import missing as _missing

__getattr__ = _missing("tvm.transform")

# Settings of missing features, with the values that ask for nothing; tuning records are always used.
_NEUTRAL = {
    "ir.enable_si_builder": (False,),
    "relay.FuseOps.link_params": (False,),
    "relay.backend.tir_converter": ("default",),
    "relay.backend.use_auto_scheduler": (False, True),
    "relay.backend.use_meta_schedule": (False, True),
    "relay.backend.use_meta_schedule_dispatch": (0,),
    "relay.fallback_device_type": (1,),
    "relay.frontend.fill_span": (False,),
    "relay.remove_standalone_reshapes.enable": (True,),
    "tir.disable_vectorize": (False,),
    "tir.usmp.enable": (False,),
}


class _IsContext(type):
    def __instancecheck__(cls, value) -> bool:
        return isinstance(value, _PassContext)


class PassContext(metaclass=_IsContext):
    """relay.transform.PassContext. Settings of missing features are accepted if they ask for nothing."""

    def __new__(
        cls,
        opt_level=2,
        required_pass=None,
        disabled_pass=None,
        instruments=None,
        config=None,
        trace=None,
        trace_stack=None,
        make_traceable=None,
        num_evals=None,
        tuning_api_database=None,
    ):
        if any(one is not None for one in (trace_stack, make_traceable, num_evals, tuning_api_database)):
            raise NotImplementedError("passes cannot be tuned: trace(module, info, before) observes each of them")
        own = {key: value for key, value in (config or {}).items() if value not in _NEUTRAL.get(key, ())}
        return _PassContext(opt_level, required_pass, disabled_pass, instruments, own, trace)

    current, list_configs = _PassContext.current, _PassContext.list_configs


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
