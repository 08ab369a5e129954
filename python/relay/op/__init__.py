"""The operators as functions: relay.op.nn.conv2d(x, w, strides=[2, 2]); also as relay.nn.conv2d, relay.add, ...

Each builds a call. They are made from the compiler's own definitions (inputs, then attributes, by position or by name);
the few that Relay's Python users know with another signature are in special/.
"""

from __future__ import annotations

import inspect
import sys
import types

import numpy as np

from .. import _core
from .._core import Op
from ..errors import told
from . import special
from .custom import define as define


def operators() -> dict[str, dict]:
    """Every operator by name: doc, fusion, inputs, attributes, examples."""
    return {one["name"]: one for one in _core.operators()}


def get(name: str) -> Op:
    """The operator itself, as call.op is: relay.op.get("nn.conv2d")."""
    return Op.get(name)


def _document(definition: dict) -> str:
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
    """An attribute is a value; a constant is its own."""
    return np.from_dlpack(value.data).tolist() if isinstance(value, _core.Constant) else value


def _make(definition: dict):
    """The function of an operator: its inputs, then its attributes."""
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
        try:
            given = signature.bind(*args, **named).arguments
        except TypeError as error:
            raise _misuse(full_name, signature, args, named) from error
        operands = [special.operand(given[name], is_tuple) for name, _, is_tuple in inputs]
        attributes = {k: _attribute(v) for k, v in given.items() if k not in input_names}
        return _core.call(full_name, operands, attributes)

    function.__signature__ = signature
    return function


def _misuse(operator: str, signature: inspect.Signature, args: tuple, named: dict) -> Exception:
    """The error for a call that does not fit the operator's parameters."""
    known = list(signature.parameters)
    help = f"{operator}({', '.join(known)})"
    for name in named:
        if name not in known:
            near = _core.suggestions(name, known, 1)
            return told(
                "bad_attribute",
                f"'{operator}' has no attribute '{name}'",
                f"did you mean '{near[0]}'? {help}" if near else f"it is {help}",
            )
    if len(args) > len(known):
        return told(
            "wrong_argument_count", f"'{operator}' takes {len(known)} arguments, not {len(args)}", f"it is {help}"
        )
    twice = [name for name in known[: len(args)] if name in named]
    if twice:
        return told(
            "bad_attribute", f"'{operator}' is given '{twice[0]}' twice, by position and by name", f"it is {help}"
        )
    required = [p.name for p in signature.parameters.values() if p.default is inspect.Parameter.empty]
    missing = [name for name in required if name not in known[: len(args)] and name not in named]
    return told("wrong_argument_count", f"'{operator}' lacks {', '.join(missing)}", f"it is {help}")


_ABSENT = {
    "annotation.on_device": "relay.op.on_device(body, virtual_device)",
    "annotation.function_on_device": "f.with_attr('param_virtual_devices', [...]), see plan_devices",
}


def _missing(prefix: str):
    """The __getattr__ of a namespace: says which operator may be meant."""

    def __getattr__(name: str):
        if reason := _ABSENT.get(prefix + name):
            raise AttributeError(f"there is no operator {prefix}{name}: {reason}")
        near = [] if name.startswith("_") else _core.suggestions(prefix + name, list(operators()), 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AttributeError(f"there is no operator {prefix}{name}{hint}")

    return __getattr__


__getattr__ = _missing("")


def _namespace(path: list[str]):
    """relay.op.nn, ..., made when an operator lies in it."""
    place = sys.modules[__name__]
    for part in path:
        if part not in vars(place):
            inner = types.ModuleType(f"{place.__name__}.{part}", f"Operators {part}.*")
            inner.__getattr__ = _missing(f"{part}.")
            sys.modules[inner.__name__] = inner
            setattr(place, part, inner)
        place = getattr(place, part)
    return place


def _publish() -> list[str]:
    """Puts every function in its place; gives the names of what lies in relay.op itself."""
    top = []
    definitions = operators()
    for name in [*definitions, *(name for name in special.FUNCTIONS if name not in definitions)]:
        *path, last = name.split(".")
        function = special.FUNCTIONS.get(name) or _make(definitions[name])
        if name in definitions:
            function.__doc__ = _document(definitions[name]) + (f"\n\n{function.__doc__}" if function.__doc__ else "")
        function.__name__, function.__qualname__, function.__module__ = last, name, __name__
        setattr(_namespace(path), last, function)
        top.append((path or [last])[0])
    return sorted(set(top))


_published = _publish()
