"""Calls of layers on arrays: compiled once for each combination of types, with the parameters flattened once."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np

from .. import _core
from ..data.arrays import array
from ..run.compiled import Compiled, compile
from ..script.datatypes import from_data
from ..script.values import signature_of
from .parameter import Parameter
from .trace import Traced, trace


@dataclasses.dataclass
class _Entry:
    """A compiled call. `arrays` are the parameters' own arrays; `lent` are the same for the compiled program."""

    compiled: Compiled
    traced: Traced
    takes_rng: bool
    version: int = -1
    arrays: list[np.ndarray] = dataclasses.field(default_factory=list)
    lent: list[_core.Array] = dataclasses.field(default_factory=list)

    def refresh(self) -> None:
        """Takes the arrays of the parameters again, after one of them was replaced."""
        self.arrays = [one.data for one in self.traced.parameters]
        self.lent = [array(value) for value in self.arrays]
        self.version = Parameter.version


class Calls:
    """The compiled calls of one layer."""

    def __init__(self, layer):
        self.layer = layer
        self.entries: dict[tuple, _Entry] = {}
        self.calls = 0  # in training, so that each draws other numbers
        self.seed = 0
        self._lock = threading.Lock()

    def __reduce__(self):
        """Pickles and copies without the compiled calls."""
        return Calls, (self.layer,)

    def __call__(self, *args: Any, **named: Any) -> Any:
        training = self.layer.training
        key = (training, *[(one.dtype, one.shape) if type(one) is np.ndarray else signature_of(one) for one in args])
        if named:
            key += tuple((name, signature_of(one)) for name, one in named.items())
        entry = self.entries.get(key)
        if entry is None:
            with self._lock:
                entry = self.entries.get(key) or self._made(args, named, training)
                self.entries[key] = entry
        if entry.version != Parameter.version:
            entry.refresh()
        return self._run(entry, (*args, *named.values()) if named else args)

    def _made(self, args: tuple, named: dict, training: bool) -> _Entry:
        training = training and any(one.training and hasattr(one, "has_training_form") for one in self.layer.modules())
        traced = trace(self.layer, args, named, training)
        compiled = compile(traced.module, mode="training" if training else None)
        return _Entry(compiled, traced, len(compiled.inputs) > len(traced.module["main"].params))

    def _run(self, entry: _Entry, args: tuple) -> Any:
        compiled = entry.compiled
        rng = []
        if entry.takes_rng:
            self.calls += 1
            rng = [np.array([self.seed, self.calls] + [0] * 8, np.uint64)]
        if compiled._takes_arrays and all(type(one) is np.ndarray for one in args):
            given = [array(one, port.dtype) for one, port in zip(args, compiled.inputs, strict=False)]
            results = compiled._core.run([*given, *entry.lent, *map(array, rng)], 0)
            results = [one.numpy() for one in results]
            result = results[0] if len(results) == 1 else tuple(results)
        else:
            result = from_data(compiled(*args, *entry.arrays, *rng))
        return result if not entry.traced.updated else self._updated(entry, result)

    def _updated(self, entry: _Entry, results: tuple) -> Any:
        """Stores the new state, and returns the result without it."""
        count = len(results) - len(entry.traced.updated)
        for one, value in zip(entry.traced.updated, results[count:], strict=True):
            one.data[...] = value
        if count == 1:
            return results[0]
        return results[:count]
