"""relay.op.op: looking an operator up. New ones are files of the compiler."""

from relay import Op
from relay.op import get

from ....outside import missing as _missing

__getattr__ = _missing("tvm.relay.op.op")

__all__ = ["Op", "get"]
