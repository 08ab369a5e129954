# ruff: noqa: F403
"""relay.ty"""

from relay import ty as _ours
from relay.ty import *

from ...outside import missing as _missing

__getattr__ = _missing("tvm.relay.ty")

__all__ = _ours.__all__
