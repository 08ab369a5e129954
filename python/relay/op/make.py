"""Makes the functions of operators from their definitions, and the namespaces that contain them."""

from __future__ import annotations

import difflib
import inspect
import sys
import types
from collections.abc import Callable

import numpy as np

from .. import _core
from .special.call import operand


def operators() -> dict[str, dict]:
    """Returns every operator by name: doc, fusion, inputs, attributes, examples."""
    return {one["name"]: one for one in _core.operators()}


def document(definition: dict) -> str:
    lines = [definition["doc"], ""]
    lines += [
        f"{name}: {doc}{' (a list of expressions)' if is_tuple else ''}" for name, doc, is_tuple in definition["inputs"]
    ]
    lines += [
        f"{name} ({kind}{', required' if required else ''}): {doc}"
        for name, doc, kind, required, _ in definition["attributes"]
    ]
    return "\n".join(lines)


def _attribute(value):
    """Returns the value of an attribute. A constant is converted to its value."""
    return np.from_dlpack(value.data).tolist() if isinstance(value, _core.Constant) else value


def function_of(definition: dict):
    """Returns the function of an operator: its inputs, then its attributes."""
    full_name, inputs = definition["name"], definition["inputs"]
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, both) for name, _, _ in inputs]
    parameters += [
        inspect.Parameter(name, both, default=inspect.Parameter.empty if required else default)
        for name, _, _, required, default in definition["attributes"]
    ]
    signature = inspect.Signature(parameters, return_annotation=_core.Expr)
    input_names = {name for name, _, _ in inputs}

    def function(*args, **named):
        given = signature.bind(*args, **named).arguments
        operands = [operand(given[name], is_tuple) for name, _, is_tuple in inputs]
        attributes = {k: _attribute(v) for k, v in given.items() if k not in input_names}
        return _core.call(full_name, operands, attributes)

    function.__signature__ = signature
    return function


_ABSENT = {
    "annotation.on_device": "relay.op.on_device(body, virtual_device)",
    "annotation.function_on_device": "f.with_attr('param_virtual_devices', [...]), see plan_devices",
}


def missing(prefix: str):
    """Returns the __getattr__ of a namespace, whose error suggests a similar operator."""

    def __getattr__(name: str):
        if reason := _ABSENT.get(prefix + name):
            raise AttributeError(f"there is no operator {prefix}{name}: {reason}")
        near = [] if name.startswith("_") else difflib.get_close_matches(prefix + name, operators(), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"there is no operator {prefix}{name}{hint}")

    return __getattr__


def namespace(path: list[str]):
    """Returns a namespace such as relay.op.nn, which is made for its first operator."""
    place = sys.modules[__package__]
    for depth, part in enumerate(path, 1):
        if not hasattr(place, part):
            inner = types.ModuleType(f"{place.__name__}.{part}", f"Operators {part}.*")
            inner.__getattr__ = missing(".".join(path[:depth]) + ".")
            sys.modules[inner.__name__] = inner
            setattr(place, part, inner)
        place = getattr(place, part)
    return place


def named_op(name: str) -> Callable:
    """Returns the function of an operator: named_op("nn.dense")(x, w)."""
    function = sys.modules[__package__]
    for word in name.split("."):
        function = getattr(function, word)
    return function
