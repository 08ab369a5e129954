"""tvm.te: shape variables. What schedules kernels is not here."""

from relay import Dim

from ..outside import missing as _missing

__getattr__ = _missing("tvm.te")


def var(name: str = "n", dtype: str = "int64") -> Dim:
    """A size that is not known before the run."""
    return Dim(name)


size_var = var
