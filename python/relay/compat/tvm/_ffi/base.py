"""tvm._ffi.base: exceptions."""

from ..error import InternalError, TVMError

__all__ = ["InternalError", "TVMError"]
