"""relay.testing."""

from relay import testing as _ours

from ....outside import missing as _missing
from ..op.rules import TempOpAttr  # noqa: F401

globals().update({name: value for name, value in vars(_ours).items() if not name.startswith("__")})
__getattr__ = _missing("tvm.relay.testing")

__all__ = _ours.__all__
