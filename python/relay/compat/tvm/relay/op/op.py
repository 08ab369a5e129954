"""relay.op.op: looking an operator up. New ones are files of the compiler."""

from relay import Op
from relay.op import get

from ....outside import missing as _missing
from .rules import register_alter_op_layout, register_legalize, register_mixed_precision_conversion

__getattr__ = _missing("tvm.relay.op.op")

__all__ = ["Op", "get", "register_alter_op_layout", "register_legalize", "register_mixed_precision_conversion"]
