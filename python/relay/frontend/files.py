"""Files that Python reads for the command line: models of PyTorch and Keras."""

from __future__ import annotations

from .._core import IRModule
from . import keras
from .keras.file import HDF5, is_keras


def import_file(path: str, shapes: dict[str, list[int]]) -> IRModule:
    """Returns the module of a file of PyTorch or Keras. shapes: sizes of inputs by name."""
    if is_keras_file(path):
        return keras.import_file(path, shapes=shapes)
    from .pytorch.file import import_file as import_pytorch

    return import_pytorch(path, shapes)


def is_keras_file(path: str) -> bool:
    """Returns true if a file is HDF5, or an archive with the members of a Keras model."""
    with open(path, "rb") as file:
        head = file.read(len(HDF5))
        file.seek(0, 2)
        file.seek(max(file.tell() - 4096, 0))
        return is_keras(head + file.read())
