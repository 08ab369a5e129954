"""relay.qnn.transform: operators of qnn in other operators."""

from __future__ import annotations

from relay.transform import CorePass, Pass, PassInfo


def _definitions(name: str) -> Pass:
    return CorePass(PassInfo(1, name), "legalize", {"legalize.only": "qnn."})


def CanonicalizeOps() -> Pass:
    """Makes of calls of qnn operators what they compute: sums, products, shifts, casts."""
    return _definitions("qnn.CanonicalizeOps")


def Legalize() -> Pass:
    """The same: an operator has one definition here, for every target."""
    return _definitions("qnn.Legalize")


__all__ = ["CanonicalizeOps", "Legalize"]
