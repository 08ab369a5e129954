"""relay.qnn.transform: operators of qnn in other operators."""

from __future__ import annotations

from relay.qnn_rules import RULES
from relay.transform import Legalize as _legalize
from relay.transform import Pass


def CanonicalizeOps() -> Pass:
    """Makes of calls of qnn operators what they compute (relay.qnn_rules): integer products, or floats between
    qnn.dequantize and qnn.quantize written out. qnn.requantize stays."""
    return _legalize(RULES)


def Legalize() -> Pass:
    """The same: an operator has one form here, for every target."""
    return _legalize(RULES)


__all__ = ["CanonicalizeOps", "Legalize"]
