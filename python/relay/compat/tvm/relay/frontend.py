"""relay.frontend: importers of Keras, ONNX, PyTorch, TensorFlow and TFLite models."""

from relay.frontend import from_keras, from_onnx, from_pytorch, from_tensorflow, from_tflite

from ...outside import missing as _missing

__all__ = ["from_keras", "from_onnx", "from_pytorch", "from_tensorflow", "from_tflite"]
__getattr__ = _missing("tvm.relay.frontend")
