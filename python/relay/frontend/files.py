"""Files that Python reads for the command line: models of PyTorch, Keras and TensorFlow."""

from __future__ import annotations

from .. import _core
from . import keras, tensorflow


def import_file(path: str, shapes: dict[str, list[int]], layout: str = "") -> _core.IRModule:
    """Returns the module of a file of PyTorch, Keras or TensorFlow.

    shapes: sizes of inputs by name. layout: the order of the axes of images, "NCHW", or that of the file if empty.
    """
    form = _core.form_of(path)
    if form == "TensorFlow model":
        return tensorflow.import_file(path, shapes=shapes, layout=layout)
    if form == "Keras model":
        return keras.import_ordered(path, None, shapes, layout)
    from .pytorch.file import import_file as import_pytorch

    return import_pytorch(path, shapes)
