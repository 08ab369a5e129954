"""The importer of TensorFlow's models: GraphDef, SavedModel, and graphs with a checkpoint. TensorFlow is not needed.

`file.py` and `checkpoint.py` read files, `graph.py` resolves inputs, `importer.py` calls a converter for each node that
the outputs need: `table.py` is the list of them. Control flow is in `control.py` (TensorFlow 2), `control1.py`
(TensorFlow 1) and `loops.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..._core import IRModule
from ...errors import CompileError, wrong_input

__all__ = ["from_tensorflow", "import_content", "import_file"]

_LAYOUTS = {"": False, "NHWC": False, "NCHW": True}


def import_file(
    path: str, shapes: Mapping[str, Sequence[int]] | None = None, layout: str = ""
) -> tuple[IRModule, list[str]]:
    """Returns the module of a file or folder of TensorFlow, and the paths read. layout: as for import_content."""
    from .file import files_of

    return import_content(path, None, shapes, layout), files_of(path)


def import_content(
    name: str,
    content: bytes | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    layout: str = "",
    outputs: Sequence[str] | None = None,
    signature: str | None = None,
    tags: Sequence[str] | None = None,
) -> IRModule:
    """Returns the module of a file or folder of TensorFlow, or of the bytes of a GraphDef.

    shapes: sizes of inputs by name, in the order of `layout`. layout: "NCHW" exchanges the axes of images that @main
    takes and returns. outputs: nodes or results ("NAME:1") to be returned, in place of those of the signature, or of
    the nodes that nothing reads. signature: of a SavedModel, "serving_default" if unset. tags: of its graph.
    """
    from .file import read_model
    from .module import module_of
    from .tensors import corrupt

    if layout not in _LAYOUTS:
        raise wrong_input(f"the layout {layout!r} is unknown", "use one of NHWC, NCHW")
    try:
        model = read_model(name, content, None if tags is None else list(tags))
        return module_of(
            model, dict(shapes or {}), _LAYOUTS[layout], None if outputs is None else list(outputs), signature
        )
    except CompileError:
        raise
    except MemoryError as error:
        raise corrupt(f"{name} cannot be read: it asks for more memory than there is") from error


def from_tensorflow(
    graph: object,
    layout: str = "NHWC",
    shape: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] | None = None,
    convert_config: Mapping[str, object] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a TensorFlow model, with the arguments of TVM's importer: a GraphDef, the path of a
    .pb file or of a SavedModel, or the bytes of a GraphDef. All weights are constants of the module, so that params is
    empty.

    layout: "NHWC" or "NCHW", the order of axes in which TVM computes convolutions. The compiler chooses it here.
    Inputs and outputs keep TensorFlow's order in both cases; relay.load(model, layout="NCHW") exchanges their axes.
    shape: sizes of inputs by name. Sizes that are not given are those of the model; open ones are variables.
    outputs: names of nodes, or results of them ("NAME:1"), to be returned.
    convert_config: must be empty; what it chose in TVM is chosen by the compiler here.
    """
    if convert_config:
        raise wrong_input(
            f"convert_config has {', '.join(map(str, convert_config))}, which choose how TVM converts products",
            "leave it out: the compiler chooses",
        )
    if layout not in _LAYOUTS:
        raise wrong_input(f"the layout {layout!r} is unknown", "use one of NHWC, NCHW")
    outputs = [outputs] if isinstance(outputs, str) else outputs
    if isinstance(graph, (str, os.PathLike)):
        return import_content(os.fspath(graph), None, shape, "", outputs), {}
    if isinstance(graph, (bytes, bytearray, memoryview)):
        return import_content("<bytes>", bytes(graph), shape, "", outputs), {}
    if not hasattr(graph, "SerializeToString"):
        kind = type(graph).__qualname__
        raise wrong_input(f"the {kind} is not a TensorFlow model", "give a GraphDef, or the path of a file")
    return import_content(f"<{type(graph).__name__}>", graph.SerializeToString(), shape, "", outputs), {}
