"""Texts: a tensor of texts is a tensor of their numbers, positions in one list of all texts of the model.

A compiled model takes and gives arrays of strings. Nothing can make new texts or read their letters at run time; texts
are moved, selected, compared and looked up.
"""

from __future__ import annotations

import dataclasses

from ..._core import Expr
from ..shared import texts
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


class Words(texts.Words):
    """The list of all texts of a model."""

    def expr(self, value: object) -> Expr:
        """Returns the numbers of a tensor of texts."""
        return value.numbers if isinstance(value, Text) else constant(self.numbers(value.array))


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
