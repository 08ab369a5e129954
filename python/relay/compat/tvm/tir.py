"""tvm.tir: sizes. Loops are an inner form here."""

from relay import Any, Dim

from ..outside import missing as _missing

__getattr__ = _missing("tvm.tir")

IntImm = int  # isinstance(size, IntImm): is it a number?


def Var(name: str, dtype: str = "int64") -> Dim:
    """A size that is not known before the run."""
    return Dim(name)


SizeVar = Var


def const(value, dtype: str = "int64") -> int:
    """A size that is a number."""
    return int(value)


__all__ = ["Any", "IntImm", "SizeVar", "Var", "const"]
