"""The importer of Core ML: neural networks and ML programs, in .mlmodel files and .mlpackage folders.

`package.py` finds the files; `schema.py`, `network_schema.py` and `program_schema.py` have the messages. `importer.py`
imports a model with those inside of it: `network.py` the layers of a neural network, `program.py` the operations of an
ML program. `table.py` and `layer_table.py` are the lists of converters.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence

from ..._core import IRModule
from ...errors import CompileError, told
from ..shared.messages import content_of
from ..shared.wire import read_message
from .blobs import AGAIN
from .importer import Importer
from .package import files_of
from .schema import MODEL

__all__ = ["from_coreml", "import_file"]


def import_file(path: str, shapes: Mapping[str, Sequence[int]] | None = None) -> tuple[IRModule, list[str]]:
    """Returns the module of a .mlmodel file or of a .mlpackage folder, and the paths that were read."""
    name, content, folder = files_of(path)
    importer = Importer(folder, dict(shapes or {}), {})
    module = _imported(importer, name, content)
    return module, [name, *importer.constants.paths]


def from_coreml(
    model: object,
    shape: Mapping[str, Sequence[int]] | None = None,
    custom_operators: Mapping[str, Callable] | None = None,
    function: str = "",
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a model of Core ML, with the arguments of TVM's importer. All weights are constants
    of the module, so that params is empty.

    model: the path of a .mlmodel file or of a .mlpackage folder, the bytes of a .mlmodel file, its protobuf message, or
    a coremltools.models.MLModel.
    shape: sizes of inputs by name, where the model leaves them open: {"image": (1, 3, 224, 224)}.
    custom_operators: functions by the name of an operation, the kind of a layer, or the class of a custom layer,
    function(inputs, attributes), which returns an expression, or one for each output.
    function: the name of the function of a program that has several; the default one if empty.
    """
    folder = None
    if hasattr(model, "get_spec"):
        place = getattr(model, "weights_dir", None)
        folder = pathlib.Path(place).parent if place else None
        name, content = "<MLModel>", model.get_spec().SerializeToString()
    elif isinstance(model, (str, os.PathLike)):
        name, content, folder = files_of(model)
    else:
        name, content = content_of(model, "model", False)
    importer = Importer(folder, dict(shape or {}), dict(custom_operators or {}), function)
    return _imported(importer, name, content), {}


def _imported(importer: Importer, name: str, content: bytes) -> IRModule:
    found = read_message(MODEL, name, content, AGAIN)
    if not found.has("description"):
        raise told("bad_model", f"{name} is not a model of Core ML: it has no description", AGAIN)
    try:
        return importer.model(found)
    except CompileError:
        raise
    except (AttributeError, TypeError, KeyError, IndexError, AssertionError, RecursionError) as error:
        # any failure on messages that no program of Apple's can have written
        raise told("bad_model", f"{name} is not a sound model ({type(error).__name__}: {error})", AGAIN) from error
