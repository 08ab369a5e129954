"""relay.vm: compiles for the virtual machine: exe = relay.vm.compile(mod, target="llvm")."""

from __future__ import annotations

from relay import IRModule

from ...outside import missing as _missing
from ..runtime.vm import Executable
from .run import build, optimize

__getattr__ = _missing("tvm.relay.vm")


def compile(mod, target=None, target_host=None, params=None) -> Executable:
    """Returns an executable for tvm.runtime.vm.VirtualMachine(exe, dev)."""
    return Executable.of(build(mod, target, params=params))


class VMCompiler:
    """Compiles in steps: compiler.lower(mod, target); exe = compiler.get_exec()"""

    def __init__(self):
        self._params, self._exe = {}, None

    def set_params(self, params: dict) -> None:
        """Sets parameters of @main that are constants."""
        self._params = dict(params)

    def get_params(self) -> dict:
        """Returns the parameters that were set."""
        return dict(self._params)

    def optimize(self, mod, target=None, target_host=None, params=None) -> tuple[IRModule, dict]:
        """Returns the program after the passes, and the parameters that are not constants of it."""
        return optimize(mod, target, params={**self._params, **(params or {})})

    def lower(self, mod, target=None, target_host=None) -> None:
        """Compiles the program."""
        self._exe = compile(mod, target, params=self._params)

    def codegen(self) -> None:
        """Does nothing: lower() includes code generation."""

    def get_exec(self) -> Executable:
        """Returns the result of lower()."""
        if self._exe is None:
            raise ValueError("nothing is compiled yet: call compiler.lower(mod, target) first")
        return self._exe


class VMExecutor:
    """The executor of relay.create_executor("vm")."""

    def __new__(cls, mod, device=None, target=None):
        from .run import create_executor

        return create_executor("vm", mod, device, target)
