"""The view that a converter has of a layer of DarkNet."""

from __future__ import annotations

import numpy as np

from ... import op
from ..._core import Expr
from ..shared.expressions import known, shape_of
from ..shared.node import NodeConversion
from ..shared.problems import Refused


class Layer(NodeConversion):
    """A layer. c.x is the result of the layer before it."""

    def weight(self, shape: list[int], what: str) -> np.ndarray:
        """Returns the next weights of the file."""
        return self.importer.weights.take(shape, f"{what} of {self.node.place}")

    def image(self, value: Expr | None = None) -> Expr:
        """Returns a result as images, (N, C, H, W). Vectors are images of one pixel."""
        value = self.x if value is None else value
        sizes = shape_of(value)
        if len(sizes) == 2:
            return op.reshape(value, [sizes[0], sizes[1], 1, 1])
        if len(sizes) != 4:
            raise Refused(f"the layer before it has a result of {len(sizes)} axes")
        return value

    def image_sizes(self, value: Expr | None = None) -> list[int]:
        """Returns channels, height and width of a result."""
        return [known(one, "the layer") for one in shape_of(self.image(value))[1:]]

    def flat(self, value: Expr | None = None) -> Expr:
        """Returns a result as vectors, (N, inputs)."""
        value = self.x if value is None else value
        return value if len(shape_of(value)) == 2 else op.nn.batch_flatten(value)
