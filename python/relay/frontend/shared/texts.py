"""Texts of models: a tensor of texts is a tensor of their numbers, positions in one list of all texts of the model."""

from __future__ import annotations

import numpy as np

from .problems import Refused


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

    def attrs(self) -> dict[str, list[str]]:
        """Returns the attributes of @main that tell a caller about texts; none if no input or output is one."""
        if not self.inputs and not self.outputs:
            return {}
        return {"strings": list(self._places), "string_inputs": self.inputs, "string_outputs": self.outputs}
