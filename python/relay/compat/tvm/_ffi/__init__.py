"""tvm._ffi: where errors are."""

from ...outside import missing as _missing
from . import base

__getattr__ = _missing("tvm._ffi")

__all__ = ["base"]
