"""The values of a graph's nodes, at one of its uses: the main graph, a call of a function, a loop."""

from __future__ import annotations

from ...errors import told
from ..shared.values import FAILED
from .graph import Graph, Ref


class Scope:
    """The values of a graph's nodes. parent: the scope around a loop of TensorFlow 1; `frame` is that loop."""

    def __init__(self, graph: Graph, arguments: dict, parent: Scope | None = None, frame=None):
        self.graph, self.arguments, self.parent, self.frame = graph, arguments, parent, frame
        self.values, self.open = {}, set()
        self.held = None  # of a loop: the values from outside that it uses

    def get(self, ref: Ref, reader: object = "the model"):
        if ref.index < 0:
            return self.arguments[ref.name]
        values = self.values[ref.name]
        if values is FAILED:
            return FAILED
        if ref.index >= len(values):
            raise told(
                "bad_model",
                f"{reader} reads result {ref.index} of {self.graph.nodes[ref.name]}, which has {len(values)}",
                "save the model again with TensorFlow",
            )
        return values[ref.index]
