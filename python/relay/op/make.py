"""Makes the functions of operators from their definitions, and the namespaces that contain them."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable

from .. import _core
from ..errors import told
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
    return value.data.numpy().tolist() if isinstance(value, _core.Constant) else value


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
        try:
            given = signature.bind(*args, **named).arguments
        except TypeError as error:
            raise _misuse(full_name, signature, args, named) from error
        operands = [operand(given[name], is_tuple) for name, _, is_tuple in inputs]
        attributes = {k: _attribute(v) for k, v in given.items() if k not in input_names}
        return _core.call(full_name, operands, attributes)

    function.__signature__ = signature
    return function


def _misuse(operator: str, signature: inspect.Signature, args: tuple, named: dict) -> Exception:
    """Returns the error for a call that does not fit the operator's parameters."""
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


def missing(prefix: str):
    """Returns the __getattr__ of a namespace, whose error suggests a similar operator."""

    def __getattr__(name: str):
        if reason := _ABSENT.get(prefix + name):
            raise AttributeError(f"there is no operator {prefix}{name}: {reason}")
        near = [] if name.startswith("_") else _core.suggestions(prefix + name, list(operators()), 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AttributeError(f"there is no operator {prefix}{name}{hint}")

    return __getattr__


def namespace(path: list[str]):
    """Returns a namespace such as relay.op.nn, which is made for its first operator."""
    place = sys.modules[__package__]
    for depth, part in enumerate(path, 1):
        if part not in vars(place):
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
