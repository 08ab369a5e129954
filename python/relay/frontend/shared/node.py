"""The view that a converter has of a node: its attributes and operands, and methods to make constants or to refuse."""

from __future__ import annotations

import ast
import dataclasses
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from ..._core import Constant, Expr
from .expressions import axes_of, axis_of, dtype_of, known, number, shape_of
from .problems import Refused

MOST_TEXT = 1 << 16  # bytes of an attribute that is read as a list
MOST_WINDOW = 1 << 16  # elements of a window, a stride, a padding along an axis


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of a network. Tensors have names. place: the node as messages name it, "Convolution 'conv1'"."""

    kind: str
    place: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, object]


class FirstInput:
    """The questions of converters about c.x, the first input."""

    x: Expr

    @property
    def shape(self) -> list:
        return shape_of(self.x)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str:
        return dtype_of(self.x)

    def size(self, axis: int, what: str = "it") -> int:
        """Returns a size of the first input that must be known. what: the part that needs it, for messages."""
        return known(self.shape[axis], what)

    def number(self, value, dtype: str | None = None) -> Expr:
        """Returns a constant without axes, of the first input's type."""
        return number(value, dtype or self.dtype)


class NodeConversion(FirstInput):
    """A node with its operands. c.x is the first of them, c.int("stride", 1) an attribute.

    Attributes may be texts, as DarkNet and MXNet write them, or values. An importer refuses attributes that no
    converter has
    read: a newer version of the framework may have added them.
    """

    def __init__(self, importer, node: Node, inputs: list[Expr]):
        self.importer, self.node, self.inputs = importer, node, inputs
        self.read: set[str] = set()  # names of attributes

    # --- operands -----------------------------------------------------------------------------------------------------
    def input(self, position: int) -> Expr:
        if position >= len(self.inputs):
            raise Refused(f"it has {len(self.inputs)} inputs, and needs {position + 1}")
        return self.inputs[position]

    @property
    def x(self) -> Expr:
        return self.input(0)

    def with_rank(self, rank: int, position: int = 0) -> Expr:
        """Returns an input, which must have this many axes."""
        found = len(shape_of(self.input(position)))
        if found != rank:
            raise Refused(f"its input {position} has {found} axes, not {rank}")
        return self.input(position)

    def counted(self, least: int, most: int | None = None) -> list[Expr]:
        """Returns the inputs, whose number must be in this range."""
        most = least if most is None else most
        if not least <= len(self.inputs) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise Refused(f"it has {len(self.inputs)} inputs, not {wanted}")
        return self.inputs

    def array(self, position: int, what: str) -> np.ndarray:
        """Returns the elements of an input that must be known at import."""
        found = self.input(position)
        if not isinstance(found, Constant):
            raise Refused(f"{what} is computed at run time", "make it a constant of the model")
        return np.asarray(found.data.numpy())

    def shaped(self, position: int, wanted: Sequence, what: str) -> Expr:
        """Returns an input with a known shape; None stands for any size."""
        found = shape_of(self.input(position))
        if not _fits(found, wanted):
            raise Refused(f"{what} has the shape {text(found)}, not {text(wanted)}", "take the weights of this network")
        return self.input(position)

    # --- attributes ---------------------------------------------------------------------------------------------------
    def has(self, name: str) -> bool:
        return self.value(name) is not None

    def value(self, name: str, otherwise=None):
        """Returns an attribute as it is in the file."""
        self.read.add(name)
        found = self.node.attributes.get(name)
        return otherwise if found is None or (isinstance(found, str) and found == "None") else found

    def ignore(self, *names: str) -> None:
        """Notes attributes that have no effect on the result."""
        self.read.update(names)

    def int(self, name: str, otherwise: int | None = None) -> int:
        found = self._literal(name, otherwise)
        found = int(found) if isinstance(found, (bool, np.integer)) or _is_whole(found) else found
        if type(found) is not int:
            raise self._wrong(name, found, "a whole number")
        if not -(1 << 63) <= found < 1 << 63:
            raise self._wrong(name, found, "a number of 64 bits")
        return found

    def count(self, name: str, otherwise: int | None = None, least: int = 1, most: int = 1 << 31) -> int:
        """Returns a whole number in a range: a size, a stride, a number of parts."""
        found = self.int(name, otherwise)
        if not least <= found <= most:
            raise self._wrong(name, found, f"{least} or more" if found < least else f"at most {most}")
        return found

    def window(self, name: str, otherwise: int | None = None, least: int = 1) -> int:
        """Returns the extent of a window, a stride or a padding."""
        return self.count(name, otherwise, least, MOST_WINDOW)

    def real(self, name: str, otherwise: float | None = None) -> float:
        found = self._literal(name, otherwise)
        if not isinstance(found, (int, float, np.number)) or isinstance(found, complex):
            raise self._wrong(name, found, "a number")
        return float(found)

    def flag(self, name: str, otherwise: bool = False) -> bool:
        found = self._literal(name, otherwise)
        if found in ("true", "false"):
            return found == "true"
        if found not in (0, 1):
            raise self._wrong(name, found, "true or false")
        return bool(found)

    def text(self, name: str, otherwise: str | None = None, among: Sequence[str] = ()) -> str:
        found = self.value(name, otherwise)
        found = found.decode("utf-8", "replace") if isinstance(found, bytes) else found
        if not isinstance(found, str):
            raise self._wrong(name, found, "a text")
        if among and found not in among:
            raise self._wrong(name, found, f"one of {', '.join(among)}")
        return found

    def ints(self, name: str, otherwise: Sequence[int] | None = None, count: int | None = None) -> list[int]:
        """Returns whole numbers. count: how many; a single number stands for all of them."""
        found = self._literal(name, otherwise)
        if isinstance(found, np.ndarray):
            found = found.tolist()
        if type(found) is int:
            found = [found] * (1 if count is None else count)
        if not isinstance(found, (list, tuple)) or not all(type(one) is int and abs(one) < 1 << 63 for one in found):
            raise self._wrong(name, found, "whole numbers")
        if count is not None and len(found) != count:
            raise self._wrong(name, found, f"{count} whole numbers")
        return list(found)

    def reals(self, name: str, otherwise: Sequence[float] | None = None) -> list[float]:
        found = self._literal(name, otherwise)
        if isinstance(found, np.ndarray):
            found = found.tolist()
        found = [found] if isinstance(found, (int, float)) else found
        if not isinstance(found, (list, tuple)) or not all(isinstance(one, (int, float)) for one in found):
            raise self._wrong(name, found, "numbers")
        return [float(one) for one in found]

    def axis(self, name: str, otherwise: int | None = None, rank: int | None = None) -> int:
        return axis_of(self.int(name, otherwise), self.rank if rank is None else rank)

    def axes(self, name: str) -> list[int]:
        """Returns axes; all of them if the attribute is unset or empty."""
        found = self.ints(name, [])
        return axes_of(found or None, self.rank)

    def _literal(self, name: str, otherwise):
        found = self.value(name, otherwise)
        if found is None:
            raise Refused(f"`{name}` is missing")
        found = found.decode("utf-8", "replace") if isinstance(found, bytes) else found
        return literal(found) if isinstance(found, str) else found

    def _wrong(self, name: str, found, wanted: str) -> Refused:
        return Refused(f"`{name}` is {str(found)[:60]!r}, not {wanted}")

    # --- constants ----------------------------------------------------------------------------------------------------
    def constant(self, array, dtype: str | None = None) -> Expr:
        return self.importer.constant(np.asarray(array), dtype)


def literal(found: str):
    """Returns the number, the truth value or the list that a text holds; the text itself if it holds neither."""
    if len(found) > MOST_TEXT or found.count("(") + found.count("[") > 50:
        return found
    try:
        with warnings.catch_warnings(action="ignore"):  # of words that are nearly numbers
            made = ast.literal_eval(found.strip().replace("L,", ",").replace("L)", ")"))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return found
    return made if isinstance(made, (int, float, bool, list, tuple)) else found


def text(sizes) -> str:
    return f"({', '.join('any' if one is None else str(one) for one in sizes)})"


def _is_whole(found) -> bool:
    return isinstance(found, float) and found.is_integer()


def _fits(found: Sequence, wanted: Sequence) -> bool:
    return len(found) == len(wanted) and all(
        b is None or not (isinstance(a, int) and isinstance(b, int)) or a == b
        for a, b in zip(found, wanted, strict=True)
    )
