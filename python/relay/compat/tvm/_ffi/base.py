"""tvm._ffi.base: what goes wrong."""

from ..error import InternalError, TVMError

__all__ = ["InternalError", "TVMError"]
