"""Weights of floats that are rounded when a model is opened, so that a step reads fewer bytes.

    element = integer * scale

A scale is shared by 32 neighbours of a row, and maps the one of the largest magnitude to the least integer, as
`relay quantize --weights-only` does.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from ..errors import wrong_input
from .blocks import Matrix, packed
from .config import Weights

FORMS = ("as_stored", "bf16", "int8", "int4")
_GROUP = 32
_OF_WORDS = ("output.weight", "token_embd.weight")  # of the last product: its errors reach the logits directly
_ROUTER = ".ffn_gate_inp."  # a small matrix, whose errors choose other experts


def rounded(matrix: np.ndarray, bits: int) -> Matrix:
    """Returns a matrix of floats, (rows, columns), as integers of 8 or 4 bits. A group that does not divide the columns
    is replaced by the largest one below it that does."""
    values = np.ascontiguousarray(matrix, np.float32)
    group = math.gcd(values.shape[1], _GROUP)
    blocks = values.reshape(-1, group)
    least = -(1 << (bits - 1))
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1)[:, None], axis=1)
    scales = largest / np.float32(least)
    scales[np.abs(scales) < 1e-30] = 1
    integers = np.clip(np.rint(blocks / scales), least, -least - 1).astype(np.int8)
    kind = f"int{bits}" if bits == 8 or group % 2 == 0 else "int8"
    return Matrix(
        packed(integers, kind).reshape(len(values), -1), kind, np.ascontiguousarray(scales).reshape(len(values), -1)
    )


class Narrowed:
    """The weights of a model with rounded matrices (config.Weights). Integers, and floats that are not wider, stay as
    they are stored; so do the routers of experts. form: one of FORMS, not the first."""

    def __init__(self, stored: Weights, form: str):
        self._stored, self._form = stored, form
        self.unknown, self.types = stored.unknown, stored.types

    def __contains__(self, name: str) -> bool:
        return name in self._stored

    def __iter__(self):
        return iter(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._stored.shape(name)

    def array(self, name: str) -> np.ndarray:
        return self._stored.array(name)

    def matrix(self, name: str) -> Matrix:
        made = self._stored.matrix(name)
        if made.integers or _ROUTER in name:
            return made
        if self._form == "bf16":
            return Matrix(made.numbers.astype(ml_dtypes.bfloat16)) if made.numbers.dtype.itemsize > 2 else made
        if made.numbers.dtype.itemsize == 1:  # floats of 8 bits
            return made
        if not np.isfinite(made.numbers).all():
            raise wrong_input(
                f"the weight `{name}` contains an infinity or NaN, which {self._form} does not represent",
                "leave the weights as they are stored",
            )
        return rounded(made.numbers, 4 if self._form == "int4" and name not in _OF_WORDS else 8)

    def rows(self, name: str, places: np.ndarray) -> np.ndarray:
        return self._stored.rows(name, places)
