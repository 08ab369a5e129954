"""Weights of DarkNet (.weights): a header, then float32 without names or lengths, in the order of the layers."""

from __future__ import annotations

import math

import numpy as np

from ...errors import told
from ..shared.binary import Reader

AGAIN = "take the .weights file that was trained with this .cfg, and download it again if it is cut"
_LEGACY_MAJOR = 1000  # versions above this store the matrices of connected layers transposed


class Weights:
    """The weights that are left. After a layer has failed, positions are unknown, and zeros stand for all weights."""

    def __init__(self, name: str, content: bytes):
        self._reader = Reader(name, content, AGAIN)
        major, minor = (self._reader.number("i", "the header") for _ in range(2))
        self._reader.number("i", "the header")  # revision
        if not (0 <= major < 1 << 16 and 0 <= minor < 1 << 16):
            raise self._reader.corrupt(f"version {major}.{minor} of DarkNet does not exist", 0)
        is_long = major * 10 + minor >= 2 and major < _LEGACY_MAJOR and minor < _LEGACY_MAJOR
        self._reader.number("Q" if is_long else "I", "the header")  # images seen in training
        self.is_transposed = major > _LEGACY_MAJOR or minor > _LEGACY_MAJOR
        self.is_lost = False

    def take(self, shape: list[int], what: str) -> np.ndarray:
        """Returns the next weights, float32 in this shape."""
        if self.is_lost:
            return np.broadcast_to(np.float32(0), shape)
        return self._reader.array(np.float32, shape, f"{what} of {math.prod(shape)} float32")

    def check_end(self) -> None:
        """Refuses weights that no layer has taken."""
        if self._reader.left:
            raise told(
                "bad_model",
                f"{self._reader.name} has {len(self._reader.content)} bytes, and the network takes {self._reader.at}",
                AGAIN,
            )
