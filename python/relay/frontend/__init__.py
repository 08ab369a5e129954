"""Importers of models: Python objects of other frameworks, files of Keras, and ONNX and TFLite files, which the core
reads. relay.load is the short way."""

from ..absent import absent
from .keras import from_keras
from .onnx import from_onnx
from .pytorch import converter, from_exported, from_module
from .pytorch import from_script as from_pytorch
from .stablehlo import from_stablehlo
from .tflite import from_tflite

__all__ = [
    "converter",
    "from_exported",
    "from_keras",
    "from_module",
    "from_onnx",
    "from_pytorch",
    "from_stablehlo",
    "from_tflite",
]


def __getattr__(name: str):
    """Refuses an importer that is not here, and says what takes its place (from_mxnet, from_caffe, ...)."""
    raise AttributeError(absent("relay.frontend", name, globals()))
