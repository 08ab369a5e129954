"""Texts: a tensor of texts is a tensor of their numbers, positions in one list of all texts of the model.

A compiled model takes and gives arrays of strings. Nothing can make new texts or read their letters at run time; texts
are moved, selected, compared and looked up.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core import Expr
from ..shared.problems import Refused
from ..shared.values import Known, constant
from .conversion import Conversion

# Operators whose results are texts if their inputs are; they work on the numbers as they do on others.
_MOVES = {
    "BroadcastTo", "Concat", "ConcatV2", "EnsureShape", "ExpandDims", "Fill", "Gather", "GatherNd", "GatherV2",
    "Identity", "Pack", "PlaceholderWithDefault", "Reshape", "ReverseV2", "Select", "SelectV2", "Slice", "Snapshot",
    "Split", "SplitV", "Squeeze", "StopGradient", "StridedSlice", "Tile", "Transpose", "Unpack",
}  # fmt: skip
# Operators on texts whose results are numbers.
_READS = {"Equal", "NotEqual", "Rank", "Shape", "ShapeN", "Size"}
# Operators that take texts as they are.
_TAKES = {"DecodeBmp", "DecodeGif", "DecodeImage", "DecodeJpeg", "DecodePng", "IdentityN", "LookupTableFind",
          "LookupTableFindV2", "NoOp", "PartitionedCall", "StatefulPartitionedCall"}  # fmt: skip
WHY = "it makes texts or reads their letters"
WAY_OUT = "compute it before the model, and pass the texts that it makes, or numbers"


@dataclasses.dataclass(eq=False)
class Text:
    """A tensor of texts. numbers: their positions in the list, int64."""

    numbers: Expr


class Words:
    """The list of all texts of a model. inputs, outputs: the names of those that are texts."""

    def __init__(self):
        self._places: dict[str, int] = {}
        self.inputs: list[str] = []
        self.outputs: list[str] = []

    def numbers(self, texts: np.ndarray) -> np.ndarray:
        """Returns the numbers of an array of texts."""
        found = [self._number(one) for one in texts.reshape(-1).tolist()]
        return np.asarray(found, np.int64).reshape(texts.shape)

    def _number(self, text: bytes) -> int:
        try:
            name = bytes(text).decode()
        except UnicodeDecodeError as error:
            raise Refused("a text of it is not UTF-8", "save the model with texts in UTF-8") from error
        return self._places.setdefault(name, len(self._places))

    def expr(self, value: object) -> Expr:
        """Returns the numbers of a tensor of texts."""
        return value.numbers if isinstance(value, Text) else constant(self.numbers(value.array))

    def attrs(self) -> dict[str, list[str]]:
        """Returns the attributes of @main that tell a caller about texts; none if no input or output is one."""
        if not self.inputs and not self.outputs:
            return {}
        return {"strings": list(self._places), "string_inputs": self.inputs, "string_outputs": self.outputs}


def is_text(value: object) -> bool:
    return isinstance(value, Text) or (isinstance(value, Known) and value.dtype == "string")


def numbers_of(c: Conversion, value: object) -> Expr:
    """Returns the numbers of texts."""
    if not is_text(value):
        raise Refused("an input of it is not a text, as others are")
    return c.importer.words.expr(value)


def convert(c: Conversion, function, fold):
    """Returns the results of a node with texts among its inputs."""
    if c.node.op in _TAKES:
        return function(c)
    if c.node.op not in _MOVES | _READS:
        raise Refused(WHY, WAY_OUT)
    c.inputs = [numbers_of(c, one) if is_text(one) else one for one in c.inputs]
    made = fold(c) if c.node.op in _READS else None
    made = function(c) if made is None else made
    if c.node.op in _READS:
        return made
    if isinstance(made, (list, tuple)):
        return [Text(one if isinstance(one, Expr) else one.expr()) for one in made]
    return Text(made if isinstance(made, Expr) else made.expr())
