"""Graphs of nodes: the main graph and the bodies of functions, with inputs resolved to nodes and results."""

from __future__ import annotations

import dataclasses
import re

from ...errors import told
from ..shared.wire import Message
from .outputs import OUTPUTS

_MOST_NODES = 2_000_000


@dataclasses.dataclass(frozen=True)
class Ref:
    """A result of a node, or an argument of a function (index -1)."""

    name: str
    index: int = 0


class Node:
    """A node. inputs: the results that it reads. controls: names of nodes that run before it."""

    __slots__ = ("at", "attrs", "controls", "inputs", "name", "op")

    def __init__(self, name: str, op: str, inputs: list, controls: list, attrs: dict, at: int):
        self.name, self.op, self.inputs, self.controls, self.attrs, self.at = name, op, inputs, controls, attrs, at

    def __repr__(self) -> str:
        return f"{self.op} '{self.name}'"


class Graph:
    """Nodes by name. params: names of arguments; results: the values that a function returns, by its output's name."""

    def __init__(self, name: str, nodes: dict[str, Node], params: list[str], results: list[Ref], controls=()):
        self.name, self.nodes, self.params, self.results, self.controls = name, nodes, params, results, list(controls)
        self._loops = None

    def node(self, name: str) -> Node:
        return self.nodes[name]

    def users_of_kind(self, op: str) -> list[Node]:
        """Returns all nodes of an operator. The nodes of loops are asked for often, and are kept."""
        if self._loops is None:
            self._loops = {}
            for node in self.nodes.values():
                if node.op in CONTROL:
                    self._loops.setdefault(CONTROL[node.op], []).append(node)
        return self._loops.get(op, [])


# The operators of TensorFlow 1's control flow, with the forms for references to variables.
CONTROL = {
    prefix + name: name
    for prefix in ("", "Ref")
    for name in ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
}


def _bad(message: str, help: str = "save the model again with TensorFlow"):
    return told("bad_model", message, help)


def main_graph(message: Message, model: str) -> Graph:
    """Returns the graph of a GraphDef, whose inputs are NAME, NAME:2 or ^NAME."""
    nodes = _nodes(message.node, model, _resolve_main)
    return Graph("", nodes, [], [])


def functions_of(message: Message, model: str) -> dict[str, Message]:
    """Returns the functions by name; their bodies are read by body_of when they are called."""
    found = {}
    for one in message.library.function if message.library is not None else []:
        if one.signature is None or not one.signature.name:
            raise _bad(f"{model} has a function without a name, at byte {one.at}")
        if one.signature.name in found:
            raise _bad(f"{model} defines the function `{one.signature.name}` twice")
        found[one.signature.name] = one
    return found


def body_of(function: Message, model: str) -> Graph:
    """Returns the graph of a function, whose inputs are ARGUMENT or NODE:OUTPUT:2."""
    name = function.signature.name
    params = [one.name for one in function.signature.input_arg]
    known = set(params)
    ops = {one.name: one.op for one in function.node_def}

    def resolve(text: str, place: str) -> Ref:
        if text in known:
            return Ref(text, -1)
        parts = text.split(":")
        if parts[0] not in ops:
            if parts[0] in known:
                return Ref(parts[0], -1)
            raise _bad(f"{place} reads `{text}`, which is not in the function `{name}`")
        if len(parts) == 1:
            return Ref(parts[0], 0)
        if not re.fullmatch(r"\d{1,6}", parts[-1]):
            raise _bad(f"{place} reads `{text}`, which is not a result of a node")
        index = int(parts[-1])
        outputs = OUTPUTS.get(ops[parts[0]])
        if len(parts) == 3 and outputs is not None:
            if parts[1] not in outputs:
                raise _bad(f"{place} reads `{text}`, and {ops[parts[0]]} has the results {', '.join(outputs)}")
            index += outputs.index(parts[1])
        return Ref(parts[0], index)

    nodes = _nodes(function.node_def, model, resolve)
    results = []
    for one in function.signature.output_arg:
        if one.name not in function.ret:
            raise _bad(f"the function `{name}` has no value for its result `{one.name}`")
        results.append(resolve(function.ret[one.name], f"the function `{name}`"))
    return Graph(name, nodes, params, results, [one for one in function.control_ret.values() if one in nodes])


def _nodes(messages: list, model: str, resolve) -> dict[str, Node]:
    if len(messages) > _MOST_NODES:
        raise told("limit_exceeded", f"{model} has {len(messages)} nodes", "save only what the outputs need")
    nodes = {}
    for one in messages:
        if not one.name or not one.op:
            raise _bad(f"{model} has a node without a name or an operator, at byte {one.at}")
        if one.name in nodes:
            raise _bad(f"{model} has two nodes with the name `{one.name}`")
        place = f"{one.op} '{one.name}'"
        controls = [text[1:] for text in one.input if text.startswith("^")]
        inputs = [resolve(text, place) for text in one.input if not text.startswith("^")]
        nodes[one.name] = Node(one.name, one.op, inputs, controls, one.attr, one.at)
    for node in nodes.values():
        for ref in node.inputs:
            if ref.index >= 0 and ref.name not in nodes:
                raise _bad(f"{node} reads `{ref.name}`, which is not in the graph")
    return nodes


def _resolve_main(text: str, place: str) -> Ref:
    return ref_of(text, place)


def ref_of(text: str, place: str) -> Ref:
    """Returns the result that NAME or NAME:2 names."""
    name, colon, number = text.rpartition(":")
    if not colon:
        return Ref(text, 0)
    if not re.fullmatch(r"\d{1,6}", number):
        raise _bad(f"{place} reads `{text}`, which is not a result of a node")
    return Ref(name, int(number))
