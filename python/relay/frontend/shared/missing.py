"""Zeros in place of weights that a file lacks or has in another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .problems import Problems, Refused

MOST_ZEROS = 1 << 24  # elements of all stand-ins of an import


class StandIns:
    """Stand-ins for weights: the import goes on with them, and finds the problems of later layers too."""

    def __init__(self, problems: Problems):
        self._problems, self._left = problems, MOST_ZEROS

    def zeros(self, reason: Refused, kind: str, place: str, shape: Sequence) -> np.ndarray:
        """Records the problem of a weight, and returns zeros of the shape that it must have.

        kind, place: the node's kind, and the node as messages name it. Raises the reason if a size is unknown, or if
        the zeros of this import are too many.
        """
        count = math.prod(shape) if all(isinstance(one, int) and one >= 0 for one in shape) else MOST_ZEROS + 1
        if count > self._left:
            raise reason
        self._left -= count
        self._problems.record(f"{kind}: {reason}", f", first in `{place}`", reason.help)
        return np.zeros(tuple(shape), np.float32)
