"""Earlier names: relay.Module, relay.build_config (2019); relay.CallWithFields, ..."""

from __future__ import annotations

import types as _types

import relay as _relay
from relay import IRModule
from relay.transform import PassContext, run_passes


class _Module(IRModule):
    """Infers types when a function is added, and prints them."""

    def __init__(self, functions=None, type_definitions=None):
        super().__init__(None, type_definitions)
        for var, function in (functions or {}).items():
            self[var] = function

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if isinstance(value, _relay.Function):
            super().update(run_passes(self, ["infer_type"]))

    def __str__(self):
        return self.astext(types=True, weights=False)


class _IsAnyModule(type):
    def __instancecheck__(cls, value):
        return isinstance(value, IRModule)


class Module(metaclass=_IsAnyModule):
    """A module that infers types when a function is added, and prints them. Passes return a Module too."""

    def __new__(cls, functions=None, type_definitions=None):
        return _Module(functions, type_definitions)

    @staticmethod
    def from_expr(expr, functions=None, type_defs=None) -> IRModule:
        """Returns a module whose @main is the function, or the expression as a function of its free variables."""
        out = _Module(functions, type_defs)
        out["main"] = IRModule.from_expr(expr)["main"]
        return out


# CallWithFields(call, args=[x]), LetWithFields, ...
WITH_FIELDS = {f"{kind.__name__}WithFields": _relay.with_fields for kind in _relay.expr.FIELDS}

module = _types.SimpleNamespace(Module=Module)


def build_config(
    opt_level=2, fallback_device=None, add_pass=None, disable_pass=None, required_pass=None, trace=None
) -> PassContext:
    """The name of PassContext in 2019."""
    if fallback_device is not None and fallback_device.device_type != "cpu":
        raise NotImplementedError("there is one device, the processor")
    return PassContext(opt_level, required_pass or add_pass, disable_pass, trace=trace)
