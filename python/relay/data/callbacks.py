"""Python functions that compiled programs call, through the library "python" of the runtime.

A payload is JSON, or the key of a code generator's function. Neither has a meaning in another process.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np

from .. import _core
from .arrays import numpy

_OPERATORS: dict[str, Callable] = {}  # callbacks of relay.op.define
_FUNCTIONS: dict[str, Callable] = {}  # functions that code generators returned
_numbers = itertools.count()


def keep_operator(name: str, function: Callable) -> None:
    """Stores the callback of a defined operator."""
    _OPERATORS[name] = function


def keep_function(symbol: str, function: Callable) -> bytes:
    """Stores a function, and returns the payload that load() finds it by."""
    key = f"function {next(_numbers)} of {symbol}"
    _FUNCTIONS[key] = function
    return key.encode()


def bound(function: Callable, attributes: dict) -> Callable:
    """Returns the function with its attributes bound by name."""
    return lambda *arrays: function(*arrays, **attributes)


def load(symbol: str, payload: bytes, constants: list) -> Callable:
    """Returns the function for a symbol of a compiled program."""
    if payload.startswith(b"function "):
        function = _FUNCTIONS.get(payload.decode())
        if function is None:
            raise LookupError("its code generator created the function in another process")
        if not constants:
            return function
        arrays = [numpy(c) for c in constants]
        return lambda *inputs: function(*inputs, *arrays)
    if symbol not in _OPERATORS:
        raise LookupError(f"no operator {symbol} has a callback in this process (relay.op.define)")
    return bound(_OPERATORS[symbol], json.loads(payload))


def run(function: Callable, inputs: list, outputs: list) -> None:
    """Calls the function. Inputs and outputs are Relay arrays, and the results are copied into the outputs."""
    results = function(*[numpy(a) for a in inputs])
    if not isinstance(results, (tuple, list)):
        results = (results,)
    if len(results) != len(outputs):
        raise TypeError(f"it returns {len(results)} arrays, but its type has {len(outputs)}")
    for i, (result, output) in enumerate(zip(results, outputs, strict=True)):
        value, target = _as_array(result), numpy(output)
        if value.dtype != target.dtype or value.shape != target.shape:
            raise TypeError(
                f"result {i} is {value.dtype}{list(value.shape)}, and its type says {target.dtype}{list(target.shape)}"
            )
        np.copyto(target, value)


def _as_array(value) -> np.ndarray:
    return numpy(value) if isinstance(value, _core.Array) else np.asarray(value)
