"""Nodes without data inputs: constants, inputs of the graph, variables and what reads them."""

from __future__ import annotations

from ..shared.problems import Refused
from ..shared.values import Known, Variable
from .conversion import Conversion
from .tensors import array_of

FOR_INFERENCE = "save the model for inference, so that a run changes no variable"


def const(c: Conversion):
    held = c.node.attrs.get("value")
    if held is None or held.tensor is None:
        raise Refused("it has no value", "save the model again with TensorFlow")
    return c.importer.shared(("const", id(held)), lambda: Known(array_of(held.tensor), c("dtype", None)))


def handle(c: Conversion):
    """VarHandleOp: the handle of a variable, which other nodes read."""
    name = c.text("shared_name") or c.node.name
    return Variable(c.node.name, name, c("dtype"), c("shape", None))


def variable(c: Conversion):
    """VariableV2 and Variable of TensorFlow 1, whose results are the value."""
    return c.importer.variables.value(Variable(c.node.name, c.node.name, c("dtype"), c("shape", None)))


def _handle(c: Conversion) -> Variable:
    found = c.value(0)
    if not isinstance(found, Variable):
        raise Refused("its input is not the handle of a variable")
    return found


def read(c: Conversion):
    return c.importer.variables.read(_handle(c))


def assign(function=None):
    """Returns the converter of a node that changes a variable. function: of the value before, and the input."""

    def convert(c: Conversion):
        if c.scope.frame is not None or c.scope.graph.users_of_kind("Switch"):
            raise Refused("it changes a variable in a branch or loop of TensorFlow 1", FOR_INFERENCE)
        variable, value = _handle(c), c.expr(1)
        if function is not None:
            value = function(c.as_expr(c.importer.variables.read(variable)), value)
        c.importer.variables.write(variable, value)
        return []

    return convert


def gather(c: Conversion):
    """ResourceGather(handle, indices)."""
    from .index import gathered

    value = read(c)
    return gathered(c, c.as_expr(value), 1, c("batch_dims", 0))


def placeholder(c: Conversion):
    """An input of the graph, which becomes a parameter when an output needs it."""
    return c.importer.input(c.node)


def gather_nd(c: Conversion):
    """ResourceGatherNd(handle, indices)."""
    from .index import gathered_nd

    return gathered_nd(c, c.as_expr(read(c)))
