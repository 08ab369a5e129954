"""The views that converters have of a layer of a neural network, and of an operation of an ML program."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core import Dim, Expr
from ..shared.expressions import dtype_of, shape_of
from ..shared.folded import MOST_FOLDED
from ..shared.node import Node, NodeConversion
from ..shared.problems import Refused
from ..shared.values import Known, refuse_open
from .types import declared
from .weights import array_of


@dataclasses.dataclass(frozen=True)
class MessageNode(Node):
    """A node, with its message in the file."""

    message: object = None


@dataclasses.dataclass(eq=False)
class State:
    """The handle of a state, which a program reads and writes."""

    name: str


@dataclasses.dataclass(eq=False)
class TensorList:
    """A list of tensors: its elements along the first axis of an expression. None while no element is known.

    grows: true if writes behind its end make it longer.
    """

    shape: list
    dtype: str
    count: int | None
    stack: Expr | None = None
    grows: bool = False


class Layer(NodeConversion):
    """A layer of a neural network. c.p are its parameters, as in the file."""

    def __init__(self, importer, node: Node, inputs: list[Expr]):
        super().__init__(importer, node, inputs)
        self.p = getattr(node.message, node.kind if node.message.has(node.kind) else "custom", None)

    def weights(self, name: str, shape, what: str = "", of: object = None) -> np.ndarray:
        """Returns weights of this shape, as float32. of: the message that has them; that of the layer if unset."""
        held = getattr(self.p if of is None else of, name)
        try:
            return array_of(held, list(shape), what or f"`{name}`")
        except Refused as reason:
            return self.importer.stand_ins.zeros(reason, self.node.kind, self.node.place, list(shape))

    def enum(self, name: str, names, of: object = None) -> str:
        """Returns the name of an enumerated value."""
        found = getattr(self.p if of is None else of, name)
        if not 0 <= found < len(names):
            raise Refused(f"`{name}` is {found}, which is not known", "save the model for an earlier system")
        return names[found]

    def elements(self, position: int, what: str) -> np.ndarray:
        """Returns the elements of an input that must be known at import."""
        found = self.importer.folded(self.input(position))
        if found is None:
            raise refuse_open(what)
        return found

    def sizes(self, position: int, what: str = "its shape") -> list[int]:
        """Returns the elements of an input as whole numbers."""
        return [int(one) for one in self.elements(position, what).reshape(-1)]

    def message(self, name: str, of: object = None):
        """Returns a message that the layer must have."""
        found = getattr(self.p if of is None else of, name)
        if found is None:
            raise Refused(f"`{name}` is missing", "save the model again with coremltools")
        return found


class Operation(NodeConversion):
    """An operation of an ML program. Its attributes are its parameters by name: expressions, known elements, lists.
    c.x is the parameter `x`."""

    @property
    def x(self) -> Expr:
        return self.expr("x")

    def with_axes(self, rank: int) -> Expr:
        """Returns the first parameter, which must have this many axes."""
        if self.rank != rank:
            raise Refused(f"`x` has {self.rank} axes, not {rank}")
        return self.x

    def given(self, name: str):
        """Returns a parameter in any of its forms; None if it is unset."""
        self.read.add(name)
        return self.node.attributes.get(name)

    def has(self, name: str) -> bool:
        return self.given(name) is not None

    def expr(self, name: str, otherwise=None, dtype: str | None = None) -> Expr:
        """Returns a parameter as an expression. otherwise: a number of type `dtype` if it is unset."""
        found = self.given(name)
        if found is None and otherwise is not None:
            return self.number(otherwise, dtype)
        return self._as_expr(found, name)

    def _as_expr(self, found, name: str) -> Expr:
        if isinstance(found, Expr):
            return found
        if isinstance(found, Known) and found.dtype != "string":
            return found.expr()
        if found is None:
            raise Refused(f"`{name}` is missing", "save the model again with coremltools")
        kind = {State: "a state that is not read", TensorList: "a list of tensors", list: "several tensors"}
        raise Refused(f"`{name}` is {kind.get(type(found), 'a text')}, where a tensor is needed")

    def exprs(self, name: str = "values") -> list[Expr]:
        """Returns a parameter that is a list of tensors."""
        return [self._as_expr(one, name) for one in self.several(name)]

    def several(self, name: str) -> list:
        found = self.given(name)
        if found is None:
            raise Refused(f"`{name}` is missing", "save the model again with coremltools")
        return found if isinstance(found, list) else [found]

    def shape_of(self, name: str) -> list:
        found = self.given(name)
        if isinstance(found, Known):
            return found.shape
        return shape_of(self.expr(name))

    def dtype_of(self, name: str) -> str:
        found = self.given(name)
        return found.dtype if isinstance(found, Known) else dtype_of(self.expr(name))

    def elements(self, name: str, what: str = "") -> np.ndarray:
        """Returns the elements of a parameter, which must be known at import; sizes over shape variables are Dim."""
        found = self.given(name)
        if isinstance(found, Known):
            return found.array
        made = self.importer.folded(self.expr(name))
        if made is None:
            raise refuse_open(what or f"`{name}`")
        return made

    def is_known(self, name: str) -> bool:
        found = self.given(name)
        return isinstance(found, Known) or (isinstance(found, Expr) and self.importer.folded(found) is not None)

    def sizes(self, name: str, otherwise=None) -> list:
        """Returns the elements of a parameter as sizes: numbers and Dims."""
        if otherwise is not None and self.given(name) is None:
            return list(otherwise)
        return [one if isinstance(one, Dim) else int(one) for one in self.elements(name).reshape(-1)]

    def value(self, name: str, otherwise=None):
        """Returns the number, text, or list of them that a parameter is."""
        found = self.given(name)
        if found is None:
            return otherwise
        if isinstance(found, Known) and found.dtype == "string":
            return found.array[()] if found.array.ndim == 0 else list(found.array)
        made = self.elements(name)
        if made.dtype == object:
            raise refuse_open(f"`{name}`")
        if made.size > MOST_FOLDED:
            raise Refused(f"`{name}` has {made.size} elements, where a few are expected")
        return made.reshape(-1).tolist() if made.ndim else made[()].item()

    def array_of(self, name: str) -> np.ndarray | None:
        """Returns the elements of a weight, or None if it is unset."""
        return None if self.given(name) is None else np.asarray(self.elements(name, f"`{name}`"))

    def result(self, place: int = 0) -> tuple[list[int | None], str]:
        """Returns the sizes and the element type that the file declares for a result."""
        return declared(self.node.message.outputs[place].type)
