"""Files that Python reads: formats of other frameworks, by the names of src/relay/driver/python_formats.def."""

from __future__ import annotations

import importlib

from .. import _core

# The module with `import_file(path, shapes)` of each format. It returns the module, and the paths that were read.
FORMATS = {
    "PyTorch model": ".pytorch.file",
    "Keras model": ".keras",
    "DarkNet model": ".darknet",
    "Caffe model": ".caffe",
    "Caffe2 model": ".caffe2",
    "MXNet model": ".mxnet",
}


def import_file(path: str, shapes: dict[str, list[int]]) -> tuple[_core.IRModule, list[str]]:
    """Returns the module of a file that the core does not read itself, and the paths that were read. shapes: sizes of
    inputs by name."""
    return importlib.import_module(FORMATS[_core.form_of(path)], __package__).import_file(path, shapes)
