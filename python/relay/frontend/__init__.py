"""Importers of models: Python objects and files of other frameworks, and ONNX and TFLite files, which the core reads.
relay.load is the short way."""

from ..absent import absent
from .caffe import from_caffe
from .caffe2 import from_caffe2
from .coreml import from_coreml
from .darknet import from_darknet
from .keras import from_keras
from .mxnet import from_mxnet
from .oneflow import from_oneflow
from .onnx import from_onnx
from .paddle import from_paddle
from .pytorch import converter, from_exported, from_module
from .pytorch import from_script as from_pytorch
from .stablehlo import from_stablehlo
from .tensorflow import from_tensorflow
from .tflite import from_tflite

__all__ = [
    "converter",
    "from_caffe",
    "from_caffe2",
    "from_coreml",
    "from_darknet",
    "from_exported",
    "from_keras",
    "from_module",
    "from_mxnet",
    "from_oneflow",
    "from_onnx",
    "from_paddle",
    "from_pytorch",
    "from_stablehlo",
    "from_tensorflow",
    "from_tflite",
]


def __getattr__(name: str):
    """Refuses an importer that is not here, and says what takes its place (from_coreml, ...)."""
    raise AttributeError(absent("relay.frontend", name, globals()))
