"""The view that a converter has of an operator: operands by slot, attributes, and elements that are known at import."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core import Dim, Expr
from ..shared.expressions import axis_of, cast, dtype_of, shape_of
from ..shared.node import Node, NodeConversion
from ..shared.problems import Refused
from ..shared.values import Known, List, constant, number, refuse_open
from .program import TYPES, Operation

# The slots that hold the operand that an operator is about.
_FIRST = ("X", "Input", "x", "Logits", "Ids", "BBoxes", "Condition", "Emission", "Theta")


@dataclasses.dataclass(frozen=True)
class PaddleNode(Node):
    """An operator as a node of a network."""

    operation: Operation | None = None


class Operator(NodeConversion):
    """An operator. c["Y"] is the operand of a slot, c.x the first one, c.every("X") the operands of a slot."""

    def __init__(self, importer, node: PaddleNode, inputs: list):
        super().__init__(importer, node, inputs)
        self.operation = node.operation
        self._slots, at = {}, 0
        for slot, names in node.operation.inputs.items():
            self._slots[slot] = inputs[at : at + len(names)]
            at += len(names)

    # --- operands -----------------------------------------------------------------------------------------------------
    def gives(self, slot: str) -> bool:
        """Returns true if the slot has an operand."""
        return bool(self.every_held(slot))

    def held(self, slot: str):
        """Returns an operand in any of its forms."""
        found = self.every_held(slot)
        if not found:
            raise Refused(f"it has no operand `{slot}`", "export the model again")
        return found[0]

    def __getitem__(self, slot: str) -> Expr:
        return self.as_expr(self.held(slot), slot)

    def every(self, slot: str) -> list[Expr]:
        return [self.as_expr(one, slot) for one in self.every_held(slot)]

    def every_held(self, slot: str) -> list:
        """Returns the operands of a slot; operators of newer versions write its name in small letters."""
        return self._slots.get(slot) or self._slots.get(slot.lower(), [])

    def as_expr(self, value, slot: str = "an operand") -> Expr:
        if isinstance(value, Known):
            return value.expr()
        if isinstance(value, List):
            raise Refused(f"`{slot}` is a list of tensors, where a tensor is needed")
        return value

    @property
    def first(self) -> str:
        """The slot of the first operand."""
        return next((one for one in _FIRST if self.gives(one)), "X")

    @property
    def x(self) -> Expr:
        return self[self.first]

    @property
    def y(self) -> Expr:
        return self["Y"]

    def with_rank(self, rank: int, slot: str = "") -> Expr:
        made = self[slot or self.first]
        if len(shape_of(made)) != rank:
            raise Refused(f"`{slot or self.first}` has {len(shape_of(made))} axes, not {rank}")
        return made

    def shape_in(self, slot: str) -> list:
        return shape_of(self[slot])

    def vector(self, slot: str, size: int, what: str) -> Expr:
        """Returns a weight with one axis of a known size."""
        found = self[slot]
        if shape_of(found) != [size]:
            raise Refused(f"{what} has the shape {shape_of(found)}, not [{size}]", "take the weights of this model")
        return found

    # --- elements that are known at import ----------------------------------------------------------------------------
    def known(self, value) -> np.ndarray | None:
        """Returns the elements of a value, which may be sizes (Dim), or None."""
        if isinstance(value, Known):
            return value.array
        return self.importer.folded(value) if isinstance(value, Expr) else None

    def elements(self, slot: str) -> np.ndarray | None:
        return self.known(self.held(slot))

    def sizes(self, slot: str) -> list | None:
        """Returns the elements of an operand as sizes: numbers and Dims; None if they are computed at run time."""
        found = self.elements(slot)
        return None if found is None else [_size(one) for one in found.reshape(-1)]

    def sizes_of_every(self, slot: str) -> list:
        """Returns one size for each operand of a slot; the operand itself if it is computed at run time."""
        made = []
        for one in self.every_held(slot):
            found = self.known(one)
            if found is not None and found.size != 1:
                raise Refused(f"an operand of `{slot}` has {found.size} elements, not one")
            made.append(self.as_expr(one, slot) if found is None else _size(found.reshape(-1)[0]))
        return made

    def ints_of(self, slot: str, what: str) -> list[int]:
        """Returns the elements of an operand as whole numbers, which must be known at import."""
        found = self.sizes(slot)
        if found is None or any(isinstance(one, Dim) for one in found):
            raise refuse_open(what)
        return found

    def int_of(self, attribute: str, slot: str, otherwise: int | None = None) -> int:
        """Returns a number that an operand gives, or else an attribute."""
        if not self.gives(slot):
            return self.int(attribute, otherwise)
        self.ignore(attribute)
        found = self.ints_of(slot, f"`{attribute}`")
        if len(found) != 1:
            raise Refused(f"`{slot}` has {len(found)} elements, not one")
        return found[0]

    def list_of(self, attribute: str, slot: str, otherwise: list[int] | None = None) -> list[int]:
        """Returns numbers that an operand gives, or else an attribute."""
        if not self.gives(slot):
            return self.ints(attribute, otherwise)
        self.ignore(attribute)
        return self.ints_of(slot, f"`{attribute}`")

    def real_of(self, attribute: str, slot: str, otherwise: float | None = None) -> float | Expr:
        """Returns a number that an attribute gives, or an operand: then an expression, if it is computed."""
        if not self.gives(slot):
            return self.real(attribute, otherwise)
        self.ignore(attribute)
        found = self.elements(slot)
        if found is None or any(isinstance(one, Dim) for one in found.reshape(-1)):
            return self[slot]
        if found.size != 1:
            raise Refused(f"`{slot}` has {found.size} elements, not one")
        return float(found.reshape(-1)[0])

    def dtype_named(self, name: str = "dtype", otherwise: str = "") -> str:
        """Returns an element type: an attribute with its name or number; -1 stands for the default."""
        found = self.value(name, otherwise)
        if found in (-1, ""):
            found = otherwise
        found = TYPES.get(found, found) if isinstance(found, int) else found
        if found not in TYPES.values():
            raise Refused(f"`{name}` is {str(found)[:40]!r}, not an element type", "use another type")
        return found

    # --- making expressions -------------------------------------------------------------------------------------------
    def number(self, value, dtype: str | None = None) -> Expr:
        return number(value, dtype or self.dtype)

    def constant(self, array, dtype: str | None = None) -> Expr:
        return constant(np.asarray(array), dtype)

    def axis_named(self, name: str = "axis", otherwise: int | None = None, rank: int | None = None) -> int:
        return axis_of(self.int(name, otherwise), self.rank if rank is None else rank)

    def like_x(self, value: Expr) -> Expr:
        return cast(value, self.dtype)

    def without_value(self, name: str, *allowed) -> None:
        """Refuses an attribute that has another value than these."""
        found = self.value(name, allowed[0])
        if found not in allowed:
            raise Refused(f"`{name}` = {found!r} is not imported")

    def is_first(self, name: str = "data_format", otherwise: str = "NCHW") -> bool:
        """Returns true if channels come before the axes of space."""
        found = self.text(name, otherwise) or otherwise
        if found in ("AnyLayout", "NCHW", "NCDHW", "NCL", "NCW", "NC", "channel"):
            return True
        if found in ("NHWC", "NDHWC", "NLC", "NWC"):
            return False
        raise Refused(f"`{name}` is {found!r}, not an order of axes")


def _size(found):
    return found if isinstance(found, Dim) else int(found)


def dtype_held(value) -> str:
    return value.dtype if isinstance(value, Known) else dtype_of(value)


def shape_held(value) -> list:
    return value.shape if isinstance(value, Known) else shape_of(value)
