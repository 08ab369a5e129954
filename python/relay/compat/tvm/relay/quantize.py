"""tvm.relay.quantize: relay.quantize, which says what has another meaning (QConfig)."""

from relay.quantize import (
    QConfig,
    annotate,
    calibrate,
    current_qconfig,
    prerequisite_optimize,
    qconfig,
    quantize,
    realize,
)

from ...outside import missing as _missing

__getattr__ = _missing("tvm.relay.quantize")

__all__ = [
    "QConfig",
    "annotate",
    "calibrate",
    "current_qconfig",
    "prerequisite_optimize",
    "qconfig",
    "quantize",
    "realize",
]
