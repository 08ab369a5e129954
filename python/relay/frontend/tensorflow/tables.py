"""Tables that look keys up: texts or whole numbers. Their contents are known at import."""

from __future__ import annotations

import dataclasses
import os

import numpy as np

from ... import op
from ...errors import told
from ..shared.binary import read_file
from ..shared.expressions import cast, dtype_of, numpy_type
from ..shared.problems import Refused
from ..shared.values import FAILED, Known, constant, number
from .conversion import Conversion
from .graph import Ref
from .scope import Scope
from .texts import Text, numbers_of

HANDLES = ("HashTable", "HashTableV2")
_FILLS = ("InitializeTable", "InitializeTableV2", "LookupTableImport", "LookupTableImportV2",
          "InitializeTableFromTextFile", "InitializeTableFromTextFileV2")  # fmt: skip
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_MOST_FILE = 256 << 20  # bytes of a vocabulary


@dataclasses.dataclass(eq=False)
class Table:
    """The handle of a table. keys, values: arrays of one axis, or None before the node that fills it is found."""

    name: str
    key_type: str
    value_type: str
    keys: np.ndarray | None = None
    values: np.ndarray | None = None


def handle(c: Conversion):
    """HashTable(V2): the same table for each use of a node."""
    name = c.node.name
    return c.importer.shared(("table", name), lambda: Table(name, c("key_dtype"), c("value_dtype")))


def fill(importer) -> None:
    """Fills all tables of the graph, by the nodes that do so, directly or in the functions that they call."""
    graph = importer.graph
    for node in list(graph.nodes.values()):
        if node.op in _FILLS:
            _fill(importer, importer.main, node)
        called = node.attrs.get("f") if node.op in _CALLS else None
        if called is None or called.func is None or called.func.name not in importer.functions:
            continue
        if not any(ref.index >= 0 and graph.nodes[ref.name].op in HANDLES for ref in node.inputs
                   if ref.name in graph.nodes):  # fmt: skip
            continue
        body = importer.body(called.func.name)
        inner = [one for one in body.nodes.values() if one.op in _FILLS]
        if not inner or len(body.params) != len(node.inputs):
            continue
        importer.evaluate(importer.main, node.inputs)
        arguments = [importer.main.get(ref, node) for ref in node.inputs]
        scope = Scope(body, dict(zip(body.params, arguments, strict=True)))
        for one in inner:
            _fill(importer, scope, one)


def _fill(importer, scope: Scope, node) -> None:
    importer.evaluate(scope, node.inputs)
    found = [scope.get(ref, node) for ref in node.inputs]
    if not found or not isinstance(found[0], Table) or any(one is FAILED for one in found):
        return
    c = Conversion(importer, scope, node, found)
    if node.op.startswith("InitializeTableFromTextFile"):
        found[0].keys, found[0].values = _of_file(c)
        return
    if len(found) != 3 or not all(isinstance(one, Known) for one in found[1:]):
        return
    keys, values = (one.array.reshape(-1) for one in found[1:])
    if len(keys) != len(values):
        raise told("bad_model", f"{node} has {len(keys)} keys and {len(values)} values", "save the model again")
    found[0].keys, found[0].values = keys, values


def _of_file(c: Conversion) -> tuple[np.ndarray, np.ndarray]:
    """Returns the keys and values in a text file beside the model: whole lines, their numbers, or words of them."""
    table, path = c.value(0), _asset(c, c.node.inputs[1])
    content = read_file(path)
    if len(content) > _MOST_FILE:
        raise told("limit_exceeded", f"{path} has more than {_MOST_FILE} bytes", "use a smaller vocabulary")
    lines = content.split(b"\n")
    lines = lines[:-1] if lines and not lines[-1] else lines
    lines = lines[c("offset", 0) :]
    if c("vocab_size", -1) > 0:
        lines = lines[: c("vocab_size")]
    between = c.text("delimiter", "\t").encode()
    return tuple(
        _column(path, lines, place, kind, between)
        for place, kind in ((c("key_index"), table.key_type), (c("value_index"), table.value_type))
    )


def _column(path: str, lines: list[bytes], place: int, kind: str, between: bytes) -> np.ndarray:
    """Returns a column of a text file: -2 the whole line, -1 its number, others a word of it."""
    if place == -1:
        return np.arange(len(lines), dtype=np.int64)
    texts = lines
    if place >= 0:
        rows = [one.split(between) for one in lines]
        short = next((number for number, row in enumerate(rows, 1) if len(row) <= place), None)
        if short is not None:
            raise told("bad_model", f"line {short} of {path} has no word {place + 1}", "save the model again")
        texts = [row[place] for row in rows]
    if kind == "string":
        made = np.empty(len(texts), object)
        made[:] = texts
        return made
    try:
        return np.asarray([float(one) for one in texts]).astype(numpy_type(kind))
    except ValueError as error:
        raise told("bad_model", f"{path} has a word that is not a number: {error}", "save the model again") from error


def _asset(c: Conversion, ref: Ref) -> str:
    """Returns the path of a file beside the model. ref: the name of the file in the graph."""
    model, scope = c.importer.model, c.scope
    names = {ref.name}
    if ref.index < 0:  # the argument of a function: the node that the main graph passes
        value = scope.arguments[ref.name]
        made = {name: one for name, one in c.importer.main.values.items() if one is not FAILED}
        names = {name for name, results in made.items() if any(one is value for one in results)}
    file = next((model.assets[name] for name in names if name in model.assets), None)
    if file is None:
        raise told("bad_model", f"{c.node} reads a file that {model.name} does not list among its assets",
                   "give the folder of the SavedModel")  # fmt: skip
    folder = os.path.join(os.path.dirname(model.name), "assets")
    path = os.path.join(folder, file)
    if os.path.dirname(os.path.normpath(path)) != os.path.normpath(folder):
        raise told("bad_model", f"the asset {file!r} is not the name of a file in {folder}", "save the model again")
    return path


def find(c: Conversion):
    """LookupTableFind(V2)(table, keys, the value of other keys)."""
    table = _filled(c)
    words, is_text = c.importer.words, table.key_type == "string"
    keys = words.numbers(table.keys) if is_text else table.keys.astype(np.int64)
    values = words.numbers(table.values) if table.value_type == "string" else table.values
    x = numbers_of(c, c.value(1)) if is_text else cast(c.expr(1), "int64")
    other = numbers_of(c, c.value(2)) if table.value_type == "string" else c.expr(2)
    if not len(keys):
        made = op.where(op.equal(x, x), other, other)
    else:
        order = np.argsort(keys, kind="stable")
        ranked = constant(keys[order])
        place = op.minimum(op.searchsorted(ranked, x, dtype="int32"), number(len(keys) - 1, "int32"))
        is_key = op.equal(op.take(ranked, place, axis=0, mode="checked"), x)
        found = op.take(constant(values[order], dtype_of(other)), place, axis=0, mode="checked")
        made = op.where(is_key, found, other)
    return Text(made) if table.value_type == "string" else made


def size(c: Conversion):
    """LookupTableSize(V2)(table)."""
    return Known(np.asarray(len(_filled(c).keys), np.int64))


def _filled(c: Conversion) -> Table:
    table = c.value(0)
    if not isinstance(table, Table):
        raise Refused("its table is not one whose contents the file has", "use tf.lookup.StaticHashTable")
    if table.keys is None:
        c.importer.shared("filled tables", lambda: fill(c.importer))
    if table.keys is None:
        raise Refused(f"nothing in the file fills the table `{table.name}`", "use tf.lookup.StaticHashTable")
    return table


CONVERTERS = {
    **dict.fromkeys(HANDLES, handle), "LookupTableFind": find, "LookupTableFindV2": find, "LookupTableSize": size,
    "LookupTableSizeV2": size,
}  # fmt: skip
