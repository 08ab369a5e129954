"""The configuration of a model's file, read under the names of GGUF or of config.json, with checks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import wrong_input

_MOST = (1 << 31) - 1  # of any count: larger numbers are damage
_LARGEST = 1e30


class Settings:
    """The values of a model's configuration. Each reader takes the name that GGUF gives a value, without the family in
    front, and the name in config.json. A default makes a value optional. Raises InputError (R0601) with the file and
    the name if a value is missing or has another type.
    """

    def __init__(self, path: str, values: Mapping[str, object], family: str, is_gguf: bool):
        self.path, self.family, self.is_gguf = path, family, is_gguf
        self._values = values

    def bad(self, what: str, help: str = "take another version of the model"):
        """The error for a problem of the configuration."""
        return wrong_input(f"{self.path}: {what}", help)

    def _name(self, gguf: str, folder: str) -> str:
        return f"{self.family}.{gguf}" if self.is_gguf else folder

    def _value(self, gguf: str, folder: str, kinds: type | tuple[type, ...], default):
        name = self._name(gguf, folder)
        value = self._values.get(name) if name else None
        if value is None:
            if default is None:
                raise self.bad(f"the configuration has no `{name}`")
            return default
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise self.bad(f"`{name}` is {str(value)[:60]}, but must be {_WORDS[kinds]}")
        return value

    def count(self, gguf: str, folder: str, default: int | None = None, most: int = _MOST, least: int = 1) -> int:
        """Returns a number from `least`."""
        value = self._value(gguf, folder, int, default)
        if not least <= value <= most:
            raise self.bad(f"`{self._name(gguf, folder)}` is {value}, but must be a number from {least} to {most}")
        return value

    def number(self, gguf: str, folder: str, default: float | None = None) -> float:
        """Returns a number above 0, or the default."""
        value = self._value(gguf, folder, (int, float), default)
        if value is not default and not 0 < value < _LARGEST:
            raise self.bad(f"`{self._name(gguf, folder)}` is {value}, but must be a number above 0")
        return float(value)

    def numbers(self, folder: str) -> np.ndarray:
        """Returns a list of numbers in config.json."""
        found = self._value("", folder, list, None)
        if not all(isinstance(one, int | float) and abs(one) < _LARGEST for one in found):
            raise self.bad(f"`{folder}` is not a list of numbers")
        return np.array(found, np.float64)

    def is_null(self, folder: str) -> bool:
        """Returns true if config.json has null for a value."""
        return not self.is_gguf and folder in self._values and self._values[folder] is None

    def flag(self, folder: str, default: bool) -> bool:
        """Returns a flag of config.json."""
        return default if self.is_gguf else self._value("", folder, bool, default)

    def text(self, gguf: str, folder: str, default: str | None = None) -> str:
        """Returns a text."""
        return self._value(gguf, folder, str, default)

    def mapping(self, folder: str) -> dict:
        """Returns an object of config.json, empty if it is absent."""
        return {} if self.is_gguf else self._value("", folder, dict, {})

    def by_layer(self, folder: str, layers: int) -> list | None:
        """Returns a list of config.json with an element for each layer, or None."""
        found = None if self.is_gguf else self._value("", folder, list, [])
        if found and len(found) != layers:
            raise self.bad(f"`{folder}` has {len(found)} elements for {layers} layers")
        return found or None

    def within(self, values: dict) -> Settings:
        """Returns the settings of an object inside of config.json."""
        return Settings(self.path, values, self.family, False)

    def one_of(self, what: str, value: str, known: tuple[str, ...]) -> str:
        """Returns the value if it is known."""
        if value not in known:
            raise self.bad(f"{what} `{value}` is not one of {', '.join(known)}", "use a model of another kind")
        return value


_WORDS = {int: "a whole number", (int, float): "a number", bool: "true or false", str: "a text", dict: "an object",
          list: "a list"}  # fmt: skip
