"""Where what is imported comes from: node of the graph and line of the user's Python, as the place of each call.

Reports of compilations name nodes by these places. What has no call of its own is said in the module's attributes.
"""

from __future__ import annotations

import contextlib
import os
import re

from ... import op
from ..._core import Call, Constant, Op, Span, post_order_visit, set_place

_RELAY = os.path.dirname(op.__path__[0]) + os.sep  # this package's files


def line_of(node) -> str:
    """The line of the user's Python that made the node; of PyTorch's, if none of the user's did."""
    frames = re.findall(r'File "([^"<]+)", line (\d+)', node.meta.get("stack_trace") or "")
    frames = [frame for frame in frames if not frame[0].startswith(_RELAY)]
    own = [frame for frame in frames if "/site-packages/" not in frame[0]] or frames
    return f" at {own[-1][0]}:{own[-1][1]}" if own else ""


def name_of(node) -> str:
    """ "aten.relu.default 'relu_1' at net.py:12" """
    return f"{node.target} '{node.name}'{line_of(node)}"


class Fates:
    """What became of the nodes of a program and of the graphs within it."""

    def __init__(self):
        self._fates = {}  # of a node without a call, by name

    @contextlib.contextmanager
    def of(self, node):
        """Within, what is made has the place of the node."""
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
            fate = "it gives what it takes"
        else:
            fate = "the nodes inside stand for it" if has_graph else "nothing uses its result"
        self._fates[name_of(node)] = fate

    def attrs(self, functions: dict) -> dict:
        """Attributes of the module of these functions: the nodes that have no call in it, and why."""
        places = set()

        def note(one):
            if isinstance(one, Call) and isinstance(one.op, Op) and one.span is not None:
                places.add(repr(one.span))

        for function in functions.values():
            post_order_visit(function, note)
        left = {name: fate for name, fate in self._fates.items() if name not in places}
        return {"import.nodes": list(left), "import.fates": list(left.values())} if left else {}
