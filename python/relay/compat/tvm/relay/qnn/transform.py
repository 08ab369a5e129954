"""relay.qnn.transform: rewrites qnn operators as other operators."""

from __future__ import annotations

from relay.transform import Legalize as _legalize
from relay.transform import Pass, PassInfo, UserPass
from relay.transform.qnn_rules import RULES

from ..op.rules import legalize_rules


def CanonicalizeOps() -> Pass:
    """Replaces calls of qnn operators by their definitions (relay.transform.qnn_rules): integer products, or floats
    between explicit qnn.dequantize and qnn.quantize. qnn.requantize is kept."""
    return _legalize(RULES)


def Legalize() -> Pass:
    """Applies the rules of FTVMQnnLegalize (TempOpAttr) first, then CanonicalizeOps(). An operator has one form here,
    for every target."""

    def run(mod, ctx):
        return _legalize(RULES)(_legalize(legalize_rules("FTVMQnnLegalize"))(mod))

    return UserPass(run, PassInfo(1, "QnnLegalize"), False)


__all__ = ["CanonicalizeOps", "Legalize"]
