"""relay.op.op: looks operators up and sets their properties."""

from __future__ import annotations

from relay import Op

from ....outside import missing as _missing
from .own import get, own, register
from .rules import register_alter_op_layout, register_legalize, register_mixed_precision_conversion

__getattr__ = _missing("tvm.relay.op.op")


class OpPattern:
    """The fusion class of an operator."""

    ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_ELEMWISE_FUSABLE, TUPLE, OPAQUE = 0, 1, 2, 3, 4, 7, 8


def register_pattern(op_name: str, pattern: int, level: int = 10) -> None:
    """Sets the fusion class of a user's operator. The compiler's operators define theirs in their files."""
    found = own(op_name)
    if found is None:
        if get(op_name).get_attr("TOpPattern") != int(pattern):
            raise NotImplementedError(f"the fusion of {op_name} is defined in its file: docs/add-an-operator.md")
        return
    found.pattern = int(pattern)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> None:
    """Sets whether a user's operator has state. If so, its calls are never merged or dropped."""
    if stateful:
        raise NotImplementedError("operators have no state: random numbers take a key and return the next one")


__all__ = [
    "Op",
    "OpPattern",
    "get",
    "register",
    "register_alter_op_layout",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_pattern",
    "register_stateful",
]
