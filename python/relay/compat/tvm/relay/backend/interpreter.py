"""relay.backend.interpreter: results of programs that are not tensors."""

from __future__ import annotations

import numpy as np

from relay import Constant, IRModule, TupleType
from relay.data.values import Closure, Data, Ref

from ...nd import NDArray


class ConstructorValue:
    """A data value: its tag, its fields (also by index), and its constructor if the module that made it is known.

    ConstructorValue(nil.tag, [], nil) makes one.
    """

    def __init__(self, tag: int, fields, constructor):
        if tag != constructor.tag:
            raise ValueError(f"{constructor.name_hint} is number {constructor.tag} of its type, not {tag}")
        self.data = Data(constructor.name_hint, *map(unwrap, fields), type=constructor.belong_to.name_hint)
        self._mod, self._constructor = None, constructor

    @classmethod
    def of(cls, data: Data, mod: IRModule | None) -> ConstructorValue:
        """Returns a value for a result of a program."""
        out = cls.__new__(cls)
        out.data, out._mod, out._constructor = data, mod, None
        return out

    @property
    def constructor(self):
        """The constructor in the module's definition."""
        if self._constructor is not None:
            return self._constructor
        for definition in (self._mod.type_definitions if self._mod is not None else {}).values():
            for constructor in definition.constructors:
                same_type = self.data.type in (None, definition.header.name_hint)
                if constructor.name_hint == self.data.constructor and same_type:
                    return constructor
        raise ValueError(f"the module defines no constructor {self.data.constructor}")

    @property
    def tag(self) -> int:
        """The constructor's number in the definition."""
        return self.constructor.tag

    @property
    def fields(self) -> list:
        """The fields, as values of this module."""
        return [wrap(field, self._mod) for field in self.data.fields]

    def __getitem__(self, index: int):
        return wrap(self.data.fields[index], self._mod)

    def __len__(self) -> int:
        return len(self.data.fields)

    def __repr__(self) -> str:
        return repr(self.data)


class RefValue:
    """A reference and its value: RefValue(value)."""

    def __init__(self, value, mod: IRModule | None = None):
        self.data = value if isinstance(value, Ref) else Ref(unwrap(value))
        self._mod = mod

    @property
    def value(self):
        """The value of the reference, as a value of this module."""
        return wrap(self.data.value, self._mod)


def wrap(value, mod: IRModule | None = None):
    """Converts results to TVM's classes: NDArrays, lists for tuples, ConstructorValue, RefValue."""
    if isinstance(value, tuple):
        return [wrap(one, mod) for one in value]
    if isinstance(value, Data):
        return ConstructorValue.of(value, mod)
    if isinstance(value, Ref):
        return RefValue(value, mod)
    if isinstance(value, Closure):
        return lambda *args: wrap(value(*map(unwrap, args)), mod)
    return np.asarray(value).view(NDArray)


def argument(value, type_):
    """Undoes wrap(), and turns a list into a tuple if the parameter is one."""
    if isinstance(type_, TupleType) and isinstance(value, (list, tuple)) and len(value) == len(type_.fields):
        return tuple(argument(one, field) for one, field in zip(value, type_.fields, strict=True))
    return unwrap(value)


def unwrap(value):
    """Undoes wrap(). Constants and other values become arrays, also in tuples."""
    if isinstance(value, (ConstructorValue, RefValue)):
        return value.data
    if isinstance(value, tuple):
        return tuple(map(unwrap, value))
    return value.data if isinstance(value, Constant) else value
