"""tvm.topi: only topi.testing, the expected values of tests."""

from ...outside import missing as _missing
from . import testing

__getattr__ = _missing("tvm.topi")

__all__ = ["testing"]
