"""Files that Python reads for the command line: models of PyTorch and Keras."""

from __future__ import annotations

from .. import _core
from . import keras


def import_file(path: str, shapes: dict[str, list[int]]) -> _core.IRModule:
    """Returns the module of a file of PyTorch or Keras. shapes: sizes of inputs by name."""
    if _core.form_of(path) == "Keras model":
        return keras.import_file(path, shapes=shapes)
    from .pytorch.file import import_file as import_pytorch

    return import_pytorch(path, shapes)
