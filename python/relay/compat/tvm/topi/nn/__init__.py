"""tvm.topi.nn: constants that tests use. Computations are operators here."""

from ....outside import missing as _missing
from . import qnn

__getattr__ = _missing("tvm.topi.nn")

__all__ = ["qnn"]
