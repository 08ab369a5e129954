"""tvm.relay.quantize: relay.quantize, which says what has another meaning (QConfig)."""

from relay.quantize import QConfig, current_qconfig, prerequisite_optimize, qconfig, quantize

from ...outside import missing as _missing

__getattr__ = _missing("tvm.relay.quantize")

__all__ = ["QConfig", "current_qconfig", "prerequisite_optimize", "qconfig", "quantize"]
