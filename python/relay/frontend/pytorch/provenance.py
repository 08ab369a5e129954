"""The provenance of imported calls: the node of the graph and the line of the user's Python, as the place of each call.

Reports of compilations name nodes by these places. Nodes without a call of their own are listed in the module's
attributes.
"""

from __future__ import annotations

import contextlib
import os
import re

from ... import op
from ..._core import Call, Constant, Op, Span, post_order_visit, set_place

_RELAY = os.path.dirname(op.__path__[0]) + os.sep  # the files of this package


def line_of(node) -> str:
    """Returns the line of the user's Python that made the node, or PyTorch's if there is none of the user's."""
    frames = re.findall(r'File "([^"<]+)", line (\d+)', node.meta.get("stack_trace") or "")
    frames = [frame for frame in frames if not frame[0].startswith(_RELAY)]
    own = [frame for frame in frames if "/site-packages/" not in frame[0]] or frames
    return f" at {own[-1][0]}:{own[-1][1]}" if own else ""


def name_of(node) -> str:
    """Returns text such as "aten.relu.default 'relu_1' at net.py:12"."""
    return f"{node.target} '{node.name}'{line_of(node)}"


class Fates:
    """Records how the nodes of a program, and of the graphs within it, were imported."""

    def __init__(self):
        self._fates = {}  # the reasons of nodes without a call, by name

    @contextlib.contextmanager
    def of(self, node):
        """Gives the place of the node to the expressions made inside the `with` block."""
        before = set_place(Span(name_of(node)))
        try:
            yield
        finally:
            set_place(before)

    def converted(self, node, made, operands: list, has_graph: bool) -> None:
        results = [one for one in (made if isinstance(made, list) else [made]) if one is not None]
        if all(isinstance(one, Constant) for one in results):
            fate = "its value is known at import"
        elif all(any(one is other for other in operands) for one in results):
            fate = "it returns its input unchanged"
        else:
            fate = "the nodes inside replace it" if has_graph else "nothing uses its result"
        self._fates[name_of(node)] = fate

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
