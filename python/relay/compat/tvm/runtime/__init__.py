"""tvm.runtime: loading and running what was compiled."""

from __future__ import annotations

import relay as _relay

from ...outside import missing as _missing
from ..nd import NDArray, array, device
from . import container, ndarray
from .container import Array, String, convert

__getattr__ = _missing("tvm.runtime")


def load_module(path) -> _relay.Library:
    """What lib.export_library() wrote."""
    return _relay.Library(_relay.load(path))


class _VirtualMachine:
    """Runs what relay.vm.compile() gave: VirtualMachine(exe, dev).invoke("main", x)."""

    def __init__(self, exe, device=None, memory_cfg=None):
        self._exe = exe
        self._inputs: tuple = ()

    def invoke(self, func_name: str, *args, **named):
        """Calls @main."""
        if func_name != "main":
            raise ValueError(f"the program has one function to call, main, not {func_name}")
        from ..relay.backend.interpreter import unwrap, wrap

        inputs = [unwrap(arg) for arg in args]
        return wrap(self._exe.compiled(*inputs, **{name: unwrap(arg) for name, arg in named.items()}), self._exe.module)

    def set_input(self, func_name: str, *args, **named) -> None:
        """What run() without arguments uses."""
        self._inputs = (args, named)

    def run(self, *args, **named):
        """Calls @main."""
        if not args and not named and self._inputs:
            args, named = self._inputs
        return self.invoke("main", *args, **named)


class vm:  # a namespace
    """tvm.runtime.vm"""

    VirtualMachine = _VirtualMachine


__all__ = ["Array", "NDArray", "String", "array", "container", "convert", "device", "load_module", "ndarray", "vm"]
