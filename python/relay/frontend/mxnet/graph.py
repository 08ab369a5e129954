"""Imports a symbol of MXNet: its nodes in order, with the arrays of the same names."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core import Expr, IRModule, infer_expr
from ..shared.expressions import GIVE_SHAPES
from ..shared.network import NetworkImporter
from ..shared.node import Node, literal
from ..shared.problems import Refused
from .conversion import TYPES, Operator
from .symbol import Symbol, SymbolNode
from .table import HARMLESS, LABELS, OPERATORS

WAY_OUT = "use operators that are imported (docs/front-ends.md), or give converters: custom_operators={'op': function}"
# Element types of variables, by number.
_TYPES = dict(enumerate(("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")))


@dataclasses.dataclass(frozen=True)
class GraphNode(Node):
    """A node, with the graphs inside of it."""

    graphs: tuple[Symbol, ...] = ()


class Importer(NetworkImporter):
    """The import of a symbol. dtypes: element types of inputs by name; "" stands for all others."""

    conversion = Operator

    def __init__(self, params: dict[str, np.ndarray], shapes: dict, dtypes: dict, custom: dict):
        super().__init__("the MXNet symbol", WAY_OUT, OPERATORS, shapes, custom)
        self._arrays, self._dtypes = params, dtypes

    def is_harmless(self, name: str) -> bool:
        return name in HARMLESS or (name.startswith("__") and name.endswith("__"))

    def symbol(self, symbol: Symbol) -> IRModule:
        used, counts = _used(symbol)
        inputs = [
            symbol.nodes[place].name
            for place in symbol.arguments
            if place in used and symbol.nodes[place].name not in self._arrays
        ]
        self.check_given(inputs)
        for place, node in enumerate(symbol.nodes):
            if node.kind == "null":
                if place in used:
                    self._variable(node, _key(place, 0))
            elif place in used:
                self._node(node, place, counts[place], "")
        return self.module([_key(*head) for head in symbol.heads])

    def inlined(self, symbol: Symbol, inputs: list[Expr], within: str) -> list[Expr]:
        """Returns the results of a graph inside of a node on these inputs."""
        variables = symbol.arguments
        if len(variables) != len(inputs):
            raise Refused(f"a graph with {len(variables)} inputs gets {len(inputs)}", "export the model again")
        outer, problems = self.values, self.problems.count
        self.values = {_key(place, 0): one for place, one in zip(variables, inputs, strict=True)}
        used, counts = _used(symbol)
        try:
            for place, node in enumerate(symbol.nodes):
                if node.kind != "null" and place in used:
                    self._node(node, place, counts[place], f"{within} / ")
            made = [self.values.get(_key(*head)) for head in symbol.heads]
        finally:
            self.values = outer
        if self.problems.count != problems or any(one is None for one in made):
            raise Refused("a node inside of it is not imported", "see the others")
        return made

    def typed(self, value: Expr) -> Expr:
        """Returns an expression whose type is inferred with the functions that it may call."""
        infer_expr(value, IRModule(self.functions))
        return value

    def _node(self, node: SymbolNode, place: int, count: int, within: str) -> None:
        inputs = [_key(*one) for at, one in enumerate(node.inputs) if at not in LABELS.get(node.kind, ())]
        name = f"{within}{node.kind} '{node.name}'"
        outputs = [_key(place, at) for at in range(count)]
        self.add(GraphNode(node.kind, name, inputs, outputs, node.attributes, tuple(node.graphs)))

    def _variable(self, node: SymbolNode, key: str) -> None:
        try:
            found = self._arrays.get(node.name)
            if found is not None:
                if found.size == 0:
                    raise Refused(
                        f"the array `{node.name}` has no elements", "initialise the network before it is saved"
                    )
                self.values[key] = self.constant(found)
                return
            sizes = node.attributes.get("__shape__")
            sizes = literal(sizes) if isinstance(sizes, str) else None
            sizes = [one or None for one in sizes] if isinstance(sizes, (tuple, list)) and sizes else None
            kind = node.attributes.get("__dtype__")
            kind = _TYPES.get(int(kind), "float32") if isinstance(kind, str) and kind.isdigit() else "float32"
            kind = self._dtypes.get(node.name, self._dtypes.get("", kind))
            if kind not in TYPES:
                raise Refused(
                    f"the input `{node.name}` has elements of the type {kind!r}", f"use one of {', '.join(TYPES)}"
                )
            if sizes is None and node.name not in self.shapes:
                raise Refused(
                    f"`{node.name}` has no array in the parameters, and no shape",
                    f"{GIVE_SHAPES}; if it is a weight, put the .params file with all weights beside the symbol, or "
                    "give arg_params",
                )
            self.values[key] = self.input(node.name, sizes, kind)
        except Refused as reason:
            self.problems.record(str(reason), "", reason.help)
            self.values[key] = None


def _key(place: int, output: int) -> str:
    return f"{place}:{output}"


def _used(symbol: Symbol) -> tuple[set[int], dict[int, int]]:
    """Returns the nodes that the results need, and how many outputs of each are used."""
    used, counts, pending = set(), {}, list(symbol.heads)
    while pending:
        place, output = pending.pop()
        counts[place] = max(counts.get(place, 1), output + 1)
        if place in used:
            continue
        used.add(place)
        node = symbol.nodes[place]
        pending += [one for at, one in enumerate(node.inputs) if at not in LABELS.get(node.kind, ())]
    return used, counts
