"""Files of TensorFlow: a GraphDef (.pb), the folder of a SavedModel, and the graph of a checkpoint (.meta)."""

from __future__ import annotations

import dataclasses
import glob
import mmap
import os

from ...errors import told, wrong_input
from ..shared.wire import Message, Table, WireError
from .checkpoint import Checkpoint
from .messages import GRAPH, META_GRAPH, SAVED_MODEL
from .tensors import AGAIN, corrupt

SAVED = "saved_model.pb"


@dataclasses.dataclass
class Model:
    """A file that was read. name: the path, for messages. signatures: inputs and outputs of a SavedModel's entries.
    restore: the name of the operation that loads the variables. prefix: the path of their checkpoint, or None.
    assets: names of files in the folder `assets`, by the node that stands for their path."""

    name: str
    graph: Message
    signatures: dict = dataclasses.field(default_factory=dict)
    restore: str = ""
    prefix: str | None = None
    assets: dict[str, str] = dataclasses.field(default_factory=dict)

    def checkpoint(self, variable: str) -> Checkpoint:
        """Returns the values of variables. variable: one that the graph reads, for messages."""
        if self.prefix is None:
            raise corrupt(
                f"{self.name} reads the variable `{variable}`, and has none: it is a graph without weights",
                "give the folder of a SavedModel, the .meta file beside a checkpoint, or freeze the variables: "
                "tf.compat.v1.graph_util.convert_variables_to_constants",
            )
        return Checkpoint(self.prefix)


def read_model(name: str, content: bytes | None = None, tags: list[str] | None = None) -> Model:
    """Returns the model of a path, or of the bytes of a GraphDef. tags: of a graph in a SavedModel that has several."""
    if content is not None:
        return _graph(name, memoryview(content))
    if os.path.isdir(name):
        name = os.path.join(name, SAVED)
    if os.path.basename(name) == SAVED:
        return _saved_model(name, tags)
    if name.endswith(".index"):
        name = _graph_of_checkpoint(name)
    view = _mapped(name)
    if name.endswith(".meta"):
        return _of_meta_graph(name, _read(META_GRAPH, view, name), name.removesuffix(".meta"))
    return _graph(name, view)


def files_of(path: str) -> list[str]:
    """The files of a model: the graph, the variables and the assets of a SavedModel or a checkpoint, or the path
    itself."""
    graph = os.path.join(path, SAVED) if os.path.isdir(path) else path
    if os.path.basename(graph) == SAVED:
        prefix = os.path.join(os.path.dirname(graph), "variables", "variables")
    elif graph.endswith((".meta", ".index")):
        prefix = graph.rpartition(".")[0]
    else:
        return [graph]
    assets = glob.glob(os.path.join(glob.escape(os.path.dirname(graph)), "assets", "*"))
    assets = assets if os.path.basename(graph) == SAVED else []
    return [graph, *sorted([*(one for one in glob.glob(glob.escape(prefix) + ".*") if one != graph), *assets])]


def _mapped(name: str) -> memoryview:
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise corrupt(f"{name} is empty")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise told("file_not_found", f"{name} cannot be read: {error.strerror}", "check the path") from error


def _read(table: Table, view: memoryview, name: str) -> Message:
    try:
        return table.read(view)
    except WireError as error:
        kind = "limit_exceeded" if error.is_limit else "corrupt_file"
        raise told(
            kind, f"{name} cannot be read as a {table.name} of TensorFlow: at byte {error.at}, {error}", AGAIN
        ) from error


def _graph(name: str, view: memoryview) -> Model:
    graph = _read(GRAPH, view, name)
    if not graph.node:
        raise told(
            "bad_model",
            f"{name} is not a graph of TensorFlow: it has no nodes",
            "give a GraphDef (.pb), the folder of a SavedModel, or the .meta file of a checkpoint",
        )
    return Model(name, graph)


def _saved_model(name: str, tags: list[str] | None) -> Model:
    saved = _read(SAVED_MODEL, _mapped(name), name)
    graphs = saved.meta_graphs
    if not graphs:
        raise told("bad_model", f"{name} has no graph", AGAIN)
    by_tags = [sorted(_tags(one)) for one in graphs]
    if tags is not None:
        chosen = [one for one, own in zip(graphs, by_tags, strict=True) if own == sorted(tags)]
    else:
        chosen = graphs if len(graphs) == 1 else [one for one in graphs if "serve" in _tags(one)]
    if not chosen:
        raise wrong_input(f"{name} has no graph with the tags {tags or ['serve']}", f"its graphs have {by_tags}")
    folder = os.path.join(os.path.dirname(name), "variables", "variables")
    return _of_meta_graph(name, chosen[0], folder)


def _tags(meta: Message) -> list[str]:
    return meta.meta_info_def.tags if meta.meta_info_def is not None else []


def _of_meta_graph(name: str, meta: Message, prefix: str) -> Model:
    if meta.graph_def is None or not meta.graph_def.node:
        raise told("bad_model", f"{name} has no nodes", AGAIN)
    restore = meta.saver_def.restore_op_name if meta.saver_def is not None else ""
    assets = {
        one.tensor_info.name.partition(":")[0]: one.filename
        for one in meta.asset_file_def
        if one.tensor_info is not None
    }
    return Model(name, meta.graph_def, dict(meta.signature_def), restore, prefix, assets)


def _graph_of_checkpoint(name: str) -> str:
    meta = f"{name.removesuffix('.index')}.meta"
    if not os.path.exists(meta):
        raise told(
            "bad_model",
            f"{name} is the index of a checkpoint: it holds weights but no layers, and {meta} is not there",
            "save the whole model: tf.saved_model.save(model, folder)",
        )
    return meta
