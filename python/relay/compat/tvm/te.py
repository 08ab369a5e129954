"""tvm.te: shape variables. Schedules of kernels are not supported."""

from relay import Dim

from ..outside import missing as _missing

__getattr__ = _missing("tvm.te")


def var(name: str = "n", dtype: str = "int64") -> Dim:
    """Returns a size that is unknown before the run."""
    return Dim(name)


size_var = var
