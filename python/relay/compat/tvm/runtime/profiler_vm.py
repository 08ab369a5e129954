"""tvm.runtime.profiler_vm: the virtual machine, with the times of its kernels."""

from __future__ import annotations

from .profiling import Report
from .vm import VirtualMachine


def enabled() -> bool:
    """Returns true: profiling is always available."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """Profiles a program: VirtualMachineProfiler(exe, dev).profile(x) returns a Report."""

    def profile(self, *args, func_name: str = "main", collectors=None, **named) -> Report:
        """Runs a function once, and returns the steps with their times."""
        if collectors:
            raise NotImplementedError("there are no collectors: only the time of each kernel is measured")
        from ..relay.backend.interpreter import unwrap

        kept = self._inputs.get(func_name)
        if not args and not named and kept is not None:
            args, named = kept.args, kept.named
        inputs = [unwrap(arg) for arg in args]
        return Report.of(self._model(func_name).profile(*inputs, **{name: unwrap(arg) for name, arg in named.items()}))


__all__ = ["VirtualMachineProfiler", "enabled"]
