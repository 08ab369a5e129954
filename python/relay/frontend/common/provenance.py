"""The provenance of imported calls: the name of the foreign node, as the place of each call.

Reports of compilations name nodes by these places. Nodes without a call of their own are listed in the module's
attributes.
"""

from __future__ import annotations

import contextlib

from ..._core import Call, Constant, Op, Span, post_order_visit, set_place


class Fates:
    """Records how the nodes of a model were imported. Nodes are given by their names."""

    def __init__(self):
        self._fates = {}  # the reasons of nodes without a call, by name

    @contextlib.contextmanager
    def of(self, name: str):
        """Gives the place of the node to the expressions made inside the `with` block."""
        before = set_place(Span(name))
        try:
            yield
        finally:
            set_place(before)

    def converted(self, name: str, results: list, operands: list, has_graph: bool) -> None:
        """Records the results of a node. has_graph: true if the node contains a graph of its own."""
        if all(isinstance(one, Constant) for one in results):
            fate = "its value is known at import"
        elif all(any(one is other for other in operands) for one in results):
            fate = "it returns its input unchanged"
        else:
            fate = "the nodes inside replace it" if has_graph else "nothing uses its result"
        self._fates[name] = fate

    def attrs(self, functions: dict) -> dict:
        """Returns attributes for the module of these functions: the nodes without a call, and the reasons."""
        places = set()

        def note(one):
            if isinstance(one, Call) and isinstance(one.op, Op) and one.span is not None:
                places.add(repr(one.span))

        for function in functions.values():
            post_order_visit(function, note)
        left = {name: fate for name, fate in self._fates.items() if name not in places}
        return {"import.nodes": list(left), "import.fates": list(left.values())} if left else {}
