"""relay.testing."""

from relay import testing as _ours

from ....outside import missing as _missing
from ..backend.interpreter import wrap as _wrap
from ..op.rules import TempOpAttr  # noqa: F401

globals().update({name: value for name, value in vars(_ours).items() if not name.startswith("__")})


def run_as_python(expr, mod=None, target=None):
    """Returns the value of an expression."""
    return _wrap(_ours.run_as_python(expr, mod), mod)


def to_python(expr, mod=None, target=None):
    """Refuses: programs are not translated to Python."""
    raise NotImplementedError("run_as_python(expr, mod) and relay.evaluate() return values; str(expr) is the program")


__getattr__ = _missing("tvm.relay.testing")

__all__ = _ours.__all__
