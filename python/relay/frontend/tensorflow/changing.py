"""The nodes of a model that change variables. A graph with such nodes runs in the order that control inputs say: what
reads a variable before it changes is a control input of what changes it."""

from __future__ import annotations

from .graph import Graph
from .table import STATES


class Changing:
    """The nodes that change variables, themselves or in functions that they call. functions: messages by name."""

    def __init__(self, functions: dict):
        self._functions, self._is, self._own = functions, {}, {}

    def is_changing(self, function: str) -> bool:
        if function not in self._is:
            self._is[function] = False  # if it calls itself
            held = self._functions.get(function)
            self._is[function] = held is not None and any(self._of(one.op, one.attr) for one in held.node_def)
        return self._is[function]

    def _of(self, op: str, attrs) -> bool:
        if op in STATES or (op in self._functions and self.is_changing(op)):
            return True
        called = []
        for one in attrs.values():
            if one is None:
                continue
            if one.func is not None:
                called.append(one.func.name)
            if one.list is not None:
                called += [inner.name for inner in one.list.func]
        return any(self.is_changing(name) for name in called)

    def own(self, graph: Graph) -> list[str]:
        """Returns the nodes that change variables."""
        if graph.name not in self._own:
            self._own[graph.name] = [node.name for node in graph.nodes.values() if self._of(node.op, node.attrs)]
        return self._own[graph.name]
