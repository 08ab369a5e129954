"""tvm.error: exceptions, all of which are CompileError here."""

from relay.errors import CompileError, InternalError

TVMError = CompileError
DiagnosticError = CompileError
OpError = CompileError
OpNotImplemented = OpAttributeInvalid = OpAttributeRequired = OpAttributeUnImplemented = CompileError
RPCError = CompileError


def register_error(func_name=None, cls=None):
    """Returns the class unchanged: errors have a single class here, with a code."""
    return func_name if isinstance(func_name, type) else (lambda one: one)


__all__ = ["CompileError", "DiagnosticError", "InternalError", "OpError", "OpNotImplemented", "TVMError"]
