"""Variables: their handles, and their values in a checkpoint. Those that a run changes are states, others constants.

A variable may be read before the node is found that changes it: the import then begins again, and knows of it.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np

from ..._core import Expr
from ...errors import told
from ...ir.expr import var
from ..shared.expressions import dtype_of, shape_of
from ..shared.problems import Refused
from ..shared.values import Known, Variable
from .graph import Graph, Node, Ref, body_of
from .tensors import array_of

_HANDLES = {"VarHandleOp", "VariableV2", "Variable"}
_ASSIGNS = {"AssignVariableOp", "Assign"}
_SAME = {"Identity", "Cast", "ReadVariableOp"}


@dataclasses.dataclass
class State:
    """A variable that a run changes. param: its value before the run, a parameter of @main. starts: before the first
    run."""

    name: str
    param: Expr
    starts: np.ndarray


class Variables:
    """The values of variables. The operation that loads them says which key of the checkpoint belongs to which node.

    changed: the variables that a run changes, by their nodes, as far as an import before has found them. current: their
    values at this point of the run.
    """

    def __init__(self, importer, changed: dict[str, Variable]):
        self._importer = importer
        self._checkpoint, self._keys, self._read = None, None, {}
        self.changed, self._before = dict(changed), frozenset(changed)
        self.current: dict[str, Expr] = {}
        self.states: dict[str, State] = {}

    # --- states -------------------------------------------------------------------------------------------------------
    @property
    def is_complete(self) -> bool:
        """True if no further variable was found to change."""
        return self._before == set(self.changed)

    def read(self, variable: Variable) -> Known | Expr:
        """Returns the value of a variable at this point of the run."""
        is_changed = variable.node in self.current or variable.node in self._before
        return self.begun(variable.node) if is_changed else self.value(variable)

    def begun(self, node: str) -> Expr:
        """Returns the value of a variable that a run changes at this point of it."""
        return self.current[node] if node in self.current else self.first(node)

    def first(self, node: str) -> Expr:
        """Returns the value of a variable before the run."""
        if node not in self.states:
            variable = self.changed[node]
            starts = self.value(variable).array
            name, count = variable.name, 1
            while any(name == one.name for one in self.states.values()):
                count, name = count + 1, f"{variable.name}_{count + 1}"
            self.states[node] = State(name, var(name, shape=list(starts.shape), dtype=variable.dtype), starts)
        return self.states[node].param

    def write(self, variable: Variable, value: Expr) -> None:
        wanted = list(self.value(variable).array.shape)
        if shape_of(value) != wanted or dtype_of(value) != variable.dtype:
            raise Refused(
                f"the variable `{variable.name}` is {variable.dtype}{wanted}, and {dtype_of(value)}{shape_of(value)} "
                "is written", "give the sizes that the model leaves open",
            )  # fmt: skip
        self.changed.setdefault(variable.node, variable)
        self.current[variable.node] = value

    def attrs(self) -> dict[str, list]:
        """Returns the attributes of @main that describe the states: the number with which each begins."""
        starts = [float(one.starts.flat[0]) if one.starts.size else 0.0 for one in self.states.values()]
        for state, start in zip(self.states.values(), starts, strict=True):
            if (state.starts != start).any():
                warnings.warn(
                    f"the variable `{state.name}` begins with values that are not all equal: pass those of "
                    f"{self._importer.model.name} as this input of the first run", stacklevel=2,
                )  # fmt: skip
        names = [one.name for one in self.states.values()]
        return {"state_names": names, "state_starts": starts} if names else {}

    # --- checkpoints --------------------------------------------------------------------------------------------------
    def value(self, variable: Variable) -> Known:
        """Returns the value of a variable in the file, the same one each time."""
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
