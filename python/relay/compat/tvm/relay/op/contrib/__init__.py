"""relay.op.contrib: registration of pattern tables for other compilers. TVM's own tables are not included."""

from .....outside import missing as _missing
from . import register
from .register import get_pattern_table, register_pattern_table

__getattr__ = _missing("tvm.relay.op.contrib")

__all__ = ["get_pattern_table", "register", "register_pattern_table"]
