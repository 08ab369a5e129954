"""The operators as functions, made from the compiler's own definitions: relay.op.nn.conv2d(x, w, strides=[2, 2]).

Each builds a call (relay.Expr). Signature, defaults and documentation are those of the operator.
"""

from __future__ import annotations

import inspect
import sys
import types

from .. import _core


def operators() -> dict[str, dict]:
    """Every operator by name: doc, fusion, inputs, attributes, examples."""
    return {one["name"]: one for one in _core.operators()}


def _where() -> str:
    """The line of the caller of an operator's function."""
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


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


def _make(definition: dict):
    inputs = definition["inputs"]
    positional = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name, _, _ in inputs]
    input_names = {name for name, _, _ in inputs}
    keywords = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if required else default
        )
        for name, _, _, required, default in definition["attributes"]
        if name not in input_names  # arange has both; the input is what a caller means
    ]
    signature = inspect.Signature(positional + keywords, return_annotation=_core.Expr)
    full_name = definition["name"]

    def function(*args, **attributes):
        bound = signature.bind(*args, **attributes)
        operands = []
        for name, _, is_tuple in inputs:
            value = bound.arguments[name]
            operands.append(_core.tuple(list(value)) if is_tuple and isinstance(value, (list, tuple)) else value)
        given = {name: value for name, value in bound.arguments.items() if name not in input_names}
        return _core.call(full_name, operands, given, _where())

    function.__name__ = full_name.rpartition(".")[2]
    function.__qualname__ = full_name
    function.__module__ = __name__
    function.__doc__ = _document(definition)
    function.__signature__ = signature
    return function


def _publish() -> None:
    here = sys.modules[__name__]
    for name, definition in operators().items():
        *namespaces, last = name.split(".")
        place = here
        for part in namespaces:
            if not hasattr(place, part):
                inner = types.ModuleType(f"{place.__name__}.{part}", f"Operators {part}.*")
                sys.modules[inner.__name__] = inner
                setattr(place, part, inner)
            place = getattr(place, part)
        setattr(place, last, _make(definition))


_publish()
