"""relay.frontend: importers of Caffe, Caffe2, Core ML, DarkNet, Keras, MXNet, OneFlow, ONNX, PaddlePaddle, PyTorch,
TensorFlow and TFLite models."""

from relay.frontend import (
    from_caffe,
    from_caffe2,
    from_coreml,
    from_darknet,
    from_keras,
    from_mxnet,
    from_oneflow,
    from_onnx,
    from_paddle,
    from_pytorch,
    from_tensorflow,
    from_tflite,
)

from ...outside import missing as _missing

__all__ = [
    "from_caffe", "from_caffe2", "from_coreml", "from_darknet", "from_keras", "from_mxnet", "from_oneflow", "from_onnx",
    "from_paddle", "from_pytorch", "from_tensorflow", "from_tflite",
]  # fmt: skip
__getattr__ = _missing("tvm.relay.frontend")
