"""The importer of OneFlow: a folder with the program as MLIR text and a folder for each variable, which `job.py` reads.
`graph.py` calls a converter for each operation: `table.py` is the list of them."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence

from ..._core import IRModule
from ...errors import wrong_input
from .graph import Importer
from .job import job_of

__all__ = ["from_oneflow", "import_file"]
_NAME = "model.mlir"


def import_file(path: str, shapes: Mapping[str, Sequence[int]] | None = None) -> tuple[IRModule, list[str]]:
    """Returns the module of a folder of OneFlow, or of its model.mlir, and the paths that were read."""
    folder = pathlib.Path(path)
    folder = folder.parent if folder.name == _NAME else folder
    importer = Importer(os.fspath(folder), shapes or {}, {})
    module = importer.job(job_of(os.fspath(folder / _NAME)))
    return module, [os.fspath(folder / _NAME), *importer.files]


def from_oneflow(
    graph: object,
    model_dir_path: str | os.PathLike | None = None,
    shape: Mapping[str, Sequence[int]] | None = None,
    custom_operators: Mapping[str, Callable] | None = None,
) -> tuple[IRModule, dict]:
    """Returns (module, params) of a model of OneFlow, with the arguments of TVM's importer. All variables are constants
    of the module, so that params is empty.

    graph: a compiled oneflow.nn.Graph, or None if the folder has the program as well.
    model_dir_path: the folder that oneflow.save(graph, folder) wrote.
    shape: sizes of the inputs by name.
    custom_operators: functions by the name of an operation, function(inputs, attributes), which returns an expression,
    or one for each result.
    """
    if isinstance(graph, (str, os.PathLike)) and model_dir_path is None:
        graph, model_dir_path = None, graph
    if model_dir_path is not None and (pathlib.Path(model_dir_path) / _NAME).is_file():
        folder = os.fspath(model_dir_path)
        return Importer(folder, shape or {}, custom_operators or {}).job(job_of(os.path.join(folder, _NAME))), {}
    if not hasattr(graph, "build"):
        raise wrong_input(
            f"{type(graph).__name__} is given as a model of OneFlow, and no folder with {_NAME}",
            "give the folder that oneflow.save(graph, folder) wrote",
        )
    import oneflow

    with tempfile.TemporaryDirectory() as folder:
        oneflow.save(graph, folder)
        return from_oneflow(None, folder, shape, custom_operators)
