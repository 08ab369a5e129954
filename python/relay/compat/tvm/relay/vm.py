"""relay.vm: compiling for the virtual machine: exe = relay.vm.compile(mod, target="llvm")."""

from __future__ import annotations

from ...outside import missing as _missing
from .run import build

__getattr__ = _missing("tvm.relay.vm")


def compile(mod, target=None, target_host=None, params=None):
    """For tvm.runtime.vm.VirtualMachine(exe, dev)."""
    return build(mod, target, params=params)


class VMCompiler:
    """compiler.lower(mod, target); exe = compiler.get_exec()"""

    def __init__(self):
        self._params, self._exe = {}, None

    def set_params(self, params: dict) -> None:
        """Parameters of @main that are constants."""
        self._params = dict(params)

    def lower(self, mod, target=None, target_host=None) -> None:
        """Compiles."""
        self._exe = compile(mod, target, params=self._params)

    def codegen(self) -> None:
        """Part of lower()."""

    def get_exec(self):
        """What lower() made."""
        return self._exe
