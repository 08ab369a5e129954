"""tvm.tir: sizes. Loops are an internal form here."""

from relay import Any as _any
from relay import Dim

from ...outside import missing as _missing

__getattr__ = _missing("tvm.tir")


class _IsInt(type):
    def __instancecheck__(cls, value):
        return isinstance(value, int)


class IntImm(int, metaclass=_IsInt):
    """A number, like a size: IntImm("int32", 3).value is 3."""

    def __new__(cls, dtype, value):
        return super().__new__(cls, value)

    value = property(int)
    dtype = "int64"


class _IsSize(type):
    def __instancecheck__(cls, value):
        return isinstance(value, Dim) and value.is_any == (cls is Any)


class Var(metaclass=_IsSize):
    """Returns a size that is unknown before the run: Var("n") is relay.Dim("n")."""

    def __new__(cls, name: str, dtype: str = "int64") -> Dim:
        return Dim(name)


class Any(metaclass=_IsSize):
    """An unknown size: `?`."""

    def __new__(cls) -> Dim:
        return _any()


SizeVar = Var
StringImm = str


def const(value, dtype: str = "int64") -> int:
    """Returns a size that is a number."""
    return int(value)


def floordiv(a, b):
    """a // b of sizes, rounded down."""
    return a // b


def floormod(a, b):
    """The remainder of floordiv()."""
    return a % b


indexdiv, indexmod = floordiv, floormod  # of indices, which are not negative

__all__ = ["Any", "IntImm", "SizeVar", "StringImm", "Var", "const", "floordiv", "floormod", "indexdiv", "indexmod"]
