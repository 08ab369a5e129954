"""tvm.runtime: loads and runs compiled programs."""

from __future__ import annotations

import relay as _relay

from ...outside import missing as _missing
from ..nd import NDArray, array, device
from . import container, ndarray, profiler_vm, profiling, vm
from .container import Array, String, convert
from .params import load_param_dict, save_param_dict

__getattr__ = _missing("tvm.runtime")


def load_module(path) -> _relay.Library:
    """Loads the file that lib.export_library() wrote."""
    return _relay.Library(_relay.load(path))


def enabled(target) -> bool:
    """Returns true if programs can be compiled for a target."""
    return str(getattr(target, "kind", target)).split()[0] in ("llvm", "cpu", "c")


Module = _relay.Library
Executable = vm.Executable

__all__ = [
    "Array",
    "Executable",
    "Module",
    "NDArray",
    "String",
    "array",
    "container",
    "convert",
    "device",
    "enabled",
    "load_module",
    "load_param_dict",
    "ndarray",
    "profiler_vm",
    "profiling",
    "save_param_dict",
    "vm",
]
