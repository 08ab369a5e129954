"""tvm.topi: topi.testing, the expected values of tests, and codes of element types."""

from ...outside import missing as _missing
from . import nn, testing

__getattr__ = _missing("tvm.topi")

__all__ = ["nn", "testing"]
