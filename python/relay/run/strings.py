"""Strings in inputs and results. The compiled model has them as numbers, positions in one list of all strings of the
model."""

from __future__ import annotations

import numpy as np

from ..errors import wrong_input


class Strings:
    """The numbers of a model's strings. `inputs` and `outputs` name the ports that have strings."""

    def __init__(self, known: list[str], inputs: list[str], outputs: list[str]):
        self.inputs, self.outputs = frozenset(inputs), frozenset(outputs)
        self._known = known
        self._places = {text: place for place, text in enumerate(known)}

    def call(self) -> Call:
        """Returns the numbering for one call, which adds strings that the model does not contain after its own."""
        return Call(self._known, self._places)


class Call:
    def __init__(self, known: list[str], places: dict[str, int]):
        self._known, self._places = known, places
        self._more: dict[str, int] = {}

    def encode(self, value, name: str) -> np.ndarray:
        """Returns the int64 numbers of an array of strings."""
        array = np.asarray(value)
        if array.dtype.kind not in "USO" or any(
            not isinstance(text, str | bytes) for text in array.reshape(-1).tolist()
        ):
            raise wrong_input(f"input `{name}` has strings, not {array.dtype}", "pass an array of strings")
        return np.array([self._number(text) for text in array.reshape(-1).tolist()], np.int64).reshape(array.shape)

    def decode(self, numbers) -> np.ndarray:
        """Returns an array of strings (dtype object)."""
        words = [*self._known, *self._more]
        array = np.asarray(numbers)
        out = np.empty(array.shape, object)
        out.reshape(-1)[:] = [words[number] for number in array.reshape(-1).tolist()]
        return out

    def _number(self, text: str | bytes) -> int:
        text = text.decode() if isinstance(text, bytes) else text
        place = self._places.get(text)
        return len(self._known) + self._more.setdefault(text, len(self._more)) if place is None else place
