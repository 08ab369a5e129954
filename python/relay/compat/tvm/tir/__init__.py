"""tvm.tir: sizes. Loops are an inner form here."""

from relay import Any, Dim

from ...outside import missing as _missing

__getattr__ = _missing("tvm.tir")


class _IsInt(type):
    def __instancecheck__(cls, value):
        return isinstance(value, int)


class IntImm(int, metaclass=_IsInt):
    """A number, as sizes are: IntImm("int32", 3).value is 3."""

    def __new__(cls, dtype, value):
        return super().__new__(cls, value)

    value = property(int)
    dtype = "int64"


def Var(name: str, dtype: str = "int64") -> Dim:
    """A size that is not known before the run."""
    return Dim(name)


SizeVar = Var
StringImm = str


def const(value, dtype: str = "int64") -> int:
    """A size that is a number."""
    return int(value)


__all__ = ["Any", "IntImm", "SizeVar", "StringImm", "Var", "const"]
