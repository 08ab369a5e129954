"""relay.frontend: importers of ONNX and PyTorch models."""

from relay.frontend import from_onnx, from_pytorch

from ...outside import missing as _missing

__all__ = ["from_onnx", "from_pytorch"]
__getattr__ = _missing("tvm.relay.frontend")
