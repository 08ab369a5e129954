"""relay.frontend: importers of models of Caffe, Caffe2, Core ML, DarkNet, Keras, MXNet, ONNX, PyTorch, TensorFlow,
TFLite."""

from relay.frontend import (
    from_caffe,
    from_caffe2,
    from_coreml,
    from_darknet,
    from_keras,
    from_mxnet,
    from_onnx,
    from_pytorch,
    from_tensorflow,
    from_tflite,
)

from ...outside import missing as _missing

__all__ = [
    "from_caffe", "from_caffe2", "from_coreml", "from_darknet", "from_keras", "from_mxnet", "from_onnx",
    "from_pytorch", "from_tensorflow", "from_tflite",
]  # fmt: skip
__getattr__ = _missing("tvm.relay.frontend")
