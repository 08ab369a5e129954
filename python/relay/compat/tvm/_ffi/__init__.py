"""tvm._ffi: errors, and functions by name."""

from ...outside import missing as _missing
from ..registry import get_global_func, register_func
from . import base

__getattr__ = _missing("tvm._ffi")

__all__ = ["base", "get_global_func", "register_func"]
