"""relay.frontend: models of other systems. There is one form so far: ONNX."""

from relay.frontend import from_onnx

from ...outside import missing as _missing

__all__ = ["from_onnx"]
__getattr__ = _missing("tvm.relay.frontend")
