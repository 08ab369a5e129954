"""tvm.topi: topi.testing, the expected values of tests, and codes of element types."""

from ...outside import missing as _missing
from . import nn, testing, utils
from .utils import get_const_int, get_const_tuple

__getattr__ = _missing("tvm.topi")
util = utils  # 2019

__all__ = ["get_const_int", "get_const_tuple", "nn", "testing", "util", "utils"]
