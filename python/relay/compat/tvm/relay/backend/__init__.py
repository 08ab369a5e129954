"""relay.backend: values of the executors."""

from ....outside import missing as _missing
from . import interpreter

__getattr__ = _missing("tvm.relay.backend")

__all__ = ["interpreter"]
