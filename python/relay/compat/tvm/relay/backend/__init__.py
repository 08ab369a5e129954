"""relay.backend: values of the executors; executors and runtimes by name."""

import importlib

from ....outside import missing as _missing
from . import interpreter, name_transforms, options
from .options import Executor, Runtime

_missing_here = _missing("tvm.relay.backend")


def __getattr__(name: str):
    if name == "vm":  # which imports what imports this package
        return importlib.import_module(f"{__name__}.vm")
    return _missing_here(name)


executor, runtime = options, options

__all__ = ["Executor", "Runtime", "interpreter", "name_transforms", "options", "vm"]
