"""relay.backend.vm: relay.vm."""

from ..vm import VMCompiler, VMExecutor, compile

__all__ = ["VMCompiler", "VMExecutor", "compile"]
