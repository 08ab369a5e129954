"""The nodes of a model that change variables. They run in the order that the control inputs say."""

from __future__ import annotations

from .graph import Graph
from .table import STATES


class Changing:
    """The nodes that change variables, themselves or in functions that they call, and all nodes that run after them.

    functions: messages by name.
    """

    def __init__(self, functions: dict):
        self._functions, self._is, self._own, self._after = functions, {}, {}, {}

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

    def nodes(self, graph: Graph) -> set[str]:
        """Returns the nodes that change variables, and those that run after one of them."""
        if graph.name not in self._after:
            pending, after = list(self.own(graph)), {}
            for node in graph.nodes.values() if pending else ():
                for name in [*node.controls, *(ref.name for ref in node.inputs if ref.index >= 0)]:
                    after.setdefault(name, []).append(node.name)
            found: set[str] = set()
            while pending:
                name = pending.pop()
                if name not in found:
                    found.add(name)
                    pending += after.get(name, ())
            self._after[graph.name] = found
        return self._after[graph.name]
