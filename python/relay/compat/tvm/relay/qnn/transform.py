"""relay.qnn.transform: operators of qnn in other operators."""

from __future__ import annotations

from relay.transform import Legalize as _legalize
from relay.transform import Pass, PassInfo, UserPass
from relay.transform.qnn_rules import RULES

from ..op.rules import legalize_rules


def CanonicalizeOps() -> Pass:
    """Makes of calls of qnn operators what they compute (relay.qnn_rules): integer products, or floats between
    qnn.dequantize and qnn.quantize written out. qnn.requantize stays."""
    return _legalize(RULES)


def Legalize() -> Pass:
    """What rules of FTVMQnnLegalize say first (TempOpAttr), then the same: an operator has one form here, for every
    target."""

    def run(mod, ctx):
        return _legalize(RULES)(_legalize(legalize_rules("FTVMQnnLegalize"))(mod))

    return UserPass(run, PassInfo(1, "QnnLegalize"), False)


__all__ = ["CanonicalizeOps", "Legalize"]
