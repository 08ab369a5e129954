"""tvm.error: what goes wrong is a CompileError here."""

from relay.errors import CompileError, InternalError

TVMError = CompileError
DiagnosticError = CompileError
OpError = CompileError
OpNotImplemented = CompileError

__all__ = ["CompileError", "DiagnosticError", "InternalError", "OpError", "OpNotImplemented", "TVMError"]
