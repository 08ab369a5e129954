"""relay.backend: values of the executors; executors and runtimes by name."""

from ....outside import missing as _missing
from . import interpreter, name_transforms, options
from .options import Executor, Runtime

__getattr__ = _missing("tvm.relay.backend")

executor, runtime = options, options

__all__ = ["Executor", "Runtime", "interpreter", "name_transforms", "options"]
