"""relay.backend.interpreter: what programs give that is not made of tensors."""

from __future__ import annotations

import numpy as np

from relay import IRModule
from relay.values import Closure, Data, Ref

from ...nd import NDArray


class ConstructorValue:
    """A data value: its tag, its fields (also by index), and its constructor, when the module that made it is known."""

    def __init__(self, data: Data, mod: IRModule | None = None):
        self.data, self._mod = data, mod

    @property
    def constructor(self):
        """Of the module's definition."""
        for definition in (self._mod.type_definitions if self._mod is not None else {}).values():
            for constructor in definition.constructors:
                same_type = self.data.type in (None, definition.header.name_hint)
                if constructor.name_hint == self.data.constructor and same_type:
                    return constructor
        raise ValueError(f"the module defines no constructor {self.data.constructor}")

    @property
    def tag(self) -> int:
        """Its number in the definition."""
        return self.constructor.tag

    @property
    def fields(self) -> list:
        """As values of this module."""
        return [wrap(field, self._mod) for field in self.data.fields]

    def __getitem__(self, index: int):
        return wrap(self.data.fields[index], self._mod)

    def __len__(self) -> int:
        return len(self.data.fields)

    def __repr__(self) -> str:
        return repr(self.data)


class RefValue:
    """A reference and what it holds."""

    def __init__(self, ref: Ref, mod: IRModule | None = None):
        self.data, self._mod = ref, mod

    @property
    def value(self):
        """As a value of this module."""
        return wrap(self.data.value, self._mod)


def wrap(value, mod: IRModule | None = None):
    """Results of ours as scripts expect them: NDArrays, lists for tuples, ConstructorValue, RefValue."""
    if isinstance(value, tuple):
        return [wrap(one, mod) for one in value]
    if isinstance(value, Data):
        return ConstructorValue(value, mod)
    if isinstance(value, Ref):
        return RefValue(value, mod)
    if isinstance(value, Closure):
        return lambda *args: wrap(value(*map(unwrap, args)), mod)
    return np.asarray(value).view(NDArray)


def unwrap(value):
    """What wrap() was given; other values as they are."""
    return value.data if isinstance(value, (ConstructorValue, RefValue)) else value
