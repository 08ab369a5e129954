"""Files that Python reads: formats of other frameworks, by the names of src/relay/driver/python_formats.def."""

from __future__ import annotations

import importlib

from .. import _core

# The module with `import_file(path, shapes)` of each format. It returns the module, and the paths that were read.
FORMATS = {
    "PyTorch model": ".pytorch.file",
    "Keras model": ".keras",
    "TensorFlow model": ".tensorflow",
    "DarkNet model": ".darknet",
    "Caffe model": ".caffe",
    "Caffe2 model": ".caffe2",
    "MXNet model": ".mxnet",
    "OneFlow model": ".oneflow",
    "PaddlePaddle model": ".paddle",
    "Core ML model": ".coreml",
}
# Formats whose images have the axes (N, H, W, C): their `import_file` takes a layout as well.
WITH_LAYOUT = ("Keras model", "TensorFlow model")


def import_file(path: str, shapes: dict[str, list[int]], layout: str = "") -> tuple[_core.IRModule, list[str]]:
    """Returns the module of a file that the core does not read itself, and the paths that were read.

    shapes: sizes of inputs by name. layout: the order of the axes of images, "NCHW", or that of the file if empty; only
    for formats WITH_LAYOUT."""
    form = _core.form_of(path)
    importer = importlib.import_module(FORMATS[form], __package__)
    return importer.import_file(path, shapes, layout) if form in WITH_LAYOUT else importer.import_file(path, shapes)
