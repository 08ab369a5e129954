"""Variables: their handles, and their values in a checkpoint, which become constants."""

from __future__ import annotations

from ...errors import told
from ..shared.problems import Refused
from ..shared.values import Known, Variable
from .graph import Graph, Node, Ref, body_of
from .tensors import array_of

_HANDLES = {"VarHandleOp", "VariableV2", "Variable"}
_ASSIGNS = {"AssignVariableOp", "Assign"}
_SAME = {"Identity", "Cast", "ReadVariableOp"}


class Variables:
    """The values of variables. The operation that loads them says which key of the checkpoint belongs to which node."""

    def __init__(self, importer):
        self._importer = importer
        self._checkpoint, self._keys, self._read = None, None, {}

    def value(self, variable: Variable) -> Known:
        """Returns the value of a variable, the same one each time."""
        if variable.node not in self._read:
            self._read[variable.node] = self._find(variable)
        return self._read[variable.node]

    def _find(self, variable: Variable) -> Known:
        model = self._importer.model
        if self._checkpoint is None:
            self._checkpoint = model.checkpoint(variable.name)
            self._keys = keys_of(self._importer.graph, self._importer.functions, model)
        key = self._keys.get(variable.node)
        for other in (variable.name, variable.node):
            key = other if key is None and other in self._checkpoint else key
        if key is None or key not in self._checkpoint:
            raise told(
                "bad_model",
                f"the variable `{variable.name}` has no value in {self._checkpoint.name}"
                + (f": it lacks the key `{key}`" if key is not None else "")
                + self._others(key),
                "save the whole model: tf.saved_model.save(model, folder)",
            )
        found = self._checkpoint.array(key)
        wanted = variable.shape
        if wanted is not None and (
            len(wanted) != found.ndim or any(a not in (-1, b) for a, b in zip(wanted, found.shape, strict=True))
        ):
            raise told(
                "bad_model",
                f"the variable `{variable.name}` has the shape {tuple(wanted)} in the graph, and {found.shape} in "
                f"{self._checkpoint.name}",
                "the weights belong to another model: save both together",
            )
        if str(found.dtype) != variable.dtype:
            raise told(
                "bad_model",
                f"the variable `{variable.name}` is {variable.dtype} in the graph, and {found.dtype} in "
                f"{self._checkpoint.name}",
                "the weights belong to another model: save both together",
            )
        return Known(found)

    def _others(self, first: str | None) -> str:
        """Returns the other keys that the checkpoint lacks, for a message."""
        lacking = sorted({one for one in self._keys.values() if one != first and one not in self._checkpoint})
        listed = ", ".join(f"`{one}`" for one in lacking[:8]) + (", ..." if len(lacking) > 8 else "")
        return f"; {len(lacking)} other keys are missing: {listed}" if lacking else ""


def keys_of(graph: Graph, functions: dict, model) -> dict[str, str]:
    """Returns the keys of the checkpoint by the node of the variable's handle.

    They are read from the operation that loads the variables: it reads RestoreV2(file, keys, ..) and assigns the
    results.
    """
    start = model.restore.partition(":")[0]
    if start not in graph.nodes:
        return {}
    found: dict[str, str] = {}
    _search(graph, [start], {}, functions, model, found, 0)
    return found


def _search(graph: Graph, starts: list[str], handles: dict, functions: dict, model, found: dict, depth: int) -> None:
    """Adds the keys of all assignments that these nodes lead to. handles: nodes of handles by the argument's name."""
    pending, seen = list(starts), set()
    while pending:
        name = pending.pop()
        if name in seen or name not in graph.nodes:
            continue
        seen.add(name)
        node = graph.nodes[name]
        pending += node.controls
        pending += [ref.name for ref in node.inputs if ref.index >= 0]
        if node.op in _ASSIGNS and len(node.inputs) > 1:
            handle = _handle(graph, node.inputs[0], handles)
            key = _key(graph, node.inputs[1])
            if handle is not None and key is not None:
                found.setdefault(handle, key)
        called = node.attrs.get("f")
        if node.op in ("PartitionedCall", "StatefulPartitionedCall") and called is not None and depth < 8:
            function = functions.get(called.func.name if called.func is not None else "")
            if function is None:
                continue
            body = body_of(function, model.name)
            passed = {param: _handle(graph, ref, handles) for param, ref in zip(body.params, node.inputs, strict=False)}
            ends = [*body.controls, *(ref.name for ref in body.results if ref.index >= 0)]
            _search(body, ends, passed, functions, model, found, depth + 1)


def _handle(graph: Graph, ref: Ref, handles: dict) -> str | None:
    """Returns the node that makes a handle, through nodes that pass it on."""
    for _ in range(100):
        if ref.index < 0:
            return handles.get(ref.name)
        node = graph.nodes.get(ref.name)
        if node is None or node.op in _HANDLES:
            return ref.name if node is not None else None
        if node.op not in _SAME or not node.inputs:
            return None
        ref = node.inputs[0]
    return None


def _key(graph: Graph, ref: Ref) -> str | None:
    """Returns the key that a result of RestoreV2 was read with."""
    for _ in range(100):
        node = graph.nodes.get(ref.name) if ref.index >= 0 else None
        if node is None:
            return None
        if node.op == "RestoreV2":
            return _constant_text(graph, node, ref.index)
        if node.op not in _SAME or not node.inputs:
            return None
        ref = node.inputs[0]
    return None


def _constant_text(graph: Graph, node: Node, place: int) -> str | None:
    if len(node.inputs) < 2:
        return None
    names = graph.nodes.get(node.inputs[1].name)
    held = names.attrs.get("value") if names is not None and names.op == "Const" else None
    if held is None or held.tensor is None:
        return None
    try:
        texts = array_of(held.tensor).reshape(-1)
    except Refused:
        return None
    return texts[place].decode("utf-8", "replace") if place < len(texts) and isinstance(texts[place], bytes) else None
