"""Dictionaries as attributes, such as `__params__`: JSON, with arrays in it."""

from __future__ import annotations

import base64
import json

import numpy as np

from .. import _core


def _plain(value):
    value = value.data if isinstance(value, _core.Constant) else value
    if isinstance(value, dict):
        return {"dict": {str(key): _plain(one) for key, one in value.items()}}
    if isinstance(value, list | tuple):
        return {"list": [_plain(one) for one in value]}
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    array = np.ascontiguousarray(np.from_dlpack(value) if hasattr(value, "__dlpack__") else value)
    text = base64.b64encode(array.tobytes()).decode()
    return {"array": text, "dtype": str(array.dtype), "shape": list(np.shape(value))}


def _restored(value):
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {key: _restored(one) for key, one in value["dict"].items()}
    if "list" in value:
        return [_restored(one) for one in value["list"]]
    array = np.frombuffer(base64.b64decode(value["array"]), value["dtype"]).reshape(value["shape"])
    return array.copy()


def encoded(value: dict) -> str:
    """Returns a dictionary of numbers, strings, arrays, lists and dictionaries as text."""
    return json.dumps(_plain(value))


def decoded(text: str) -> dict:
    """The dictionary that encoded() was given."""
    return _restored(json.loads(text))
