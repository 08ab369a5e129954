"""The view that a converter has of a layer of Caffe."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..._core import Expr
from ..shared.expressions import known
from ..shared.node import MOST_WINDOW, NodeConversion
from ..shared.problems import Refused


class CaffeLayer(NodeConversion):
    """A layer. The parameters of its own message have plain names: c.int("num_output")."""

    message = ""  # "convolution_param"

    def value(self, name: str, otherwise=None):
        found = self.all(name)
        return found[-1] if found else otherwise  # the last one counts

    def all(self, name: str) -> list:
        """Returns all values of a repeated parameter."""
        full = f"{self.message}.{name}"
        self.read.add(full)
        return self.node.attributes.get(full, [])

    def numbers(self, name: str) -> list[float]:
        """Returns all values of a repeated parameter, which must be numbers."""
        found = self.all(name)
        if not all(isinstance(one, (int, float)) and abs(one) < 1e30 for one in found):
            raise self._wrong(name, found, "numbers")
        return [float(one) for one in found]

    def enum(self, name: str, words: Sequence[str], first: int = 0, otherwise: str = "") -> str:
        """Returns a word of an enumeration, the first of which has this number. It is the default, unless another is
        given."""
        found = self.value(name, otherwise or words[0])
        if isinstance(found, int) and 0 <= found - first < len(words):
            return words[found - first]
        if found not in words:
            raise self._wrong(name, found, f"one of {', '.join(words)}")
        return str(found)

    def each(self, name: str, count: int, otherwise: int | None = None, least: int = 0) -> list[int]:
        """Returns a number for each axis of space: repeated, one for all, or in name_h and name_w."""
        stem = {"kernel_size": "kernel"}.get(name, name)
        high, wide = self.all(f"{stem}_h"), self.all(f"{stem}_w")
        found = self.all(name)
        if (high or wide) and found:
            raise Refused(f"`{name}` and `{stem}_h` are both set", "remove one of them")
        if high or wide:
            found = [high[-1] if high else 0, wide[-1] if wide else 0]
        elif len(found) <= 1:
            found = (found or [otherwise]) * count
        if len(found) != count or not all(type(one) is int and least <= one <= MOST_WINDOW for one in found):
            raise Refused(f"`{name}` is {found!r}, not {count} numbers from {least} to {MOST_WINDOW}")
        return list(found)

    # --- weights ------------------------------------------------------------------------------------------------------
    def blob(self, position: int, shape: Sequence[int], what: str) -> np.ndarray:
        """Returns the weights at a position. Old files have ones in front of their sizes."""
        try:
            return self._blob(position, shape, what)
        except Refused as reason:
            return self.importer.stand_ins.zeros(reason, self.node.kind, self.node.place, shape)

    def _blob(self, position: int, shape: Sequence[int], what: str) -> np.ndarray:
        blobs = self.importer.blobs_of(self.node.name)
        if position >= len(blobs):
            raise Refused(
                f"the weights have {len(blobs)} blobs for this layer, and {what} is the number {position + 1}",
                "the weights belong to another network: take those that were trained with this one",
            )
        found = blobs[position]
        if found.size != math.prod(shape) or _plain(found.shape) != _plain(shape):
            raise Refused(
                f"{what} has the shape {tuple(found.shape)} in the weights, not {tuple(shape)}",
                "the weights belong to another network: take those that were trained with this one",
            )
        return found.reshape(tuple(shape))

    def weight(self, position: int, shape: Sequence[int], what: str) -> Expr:
        return self.constant(self.blob(position, shape, what))

    def sizes(self, what: str = "the layer") -> list[int]:
        """Returns the sizes of the first input, which must be known."""
        return [known(one, what) for one in self.shape]


def _plain(shape: Sequence[int]) -> list[int]:
    """Returns sizes without the ones."""
    return [one for one in shape if one != 1]
