"""The operators as functions: relay.op.nn.conv2d(x, w, strides=[2, 2]), also as relay.nn.conv2d, relay.add, ...

Each function builds a call. The functions are made from the compiler's definitions: inputs, then attributes, by
position or by name. The few with another signature in TVM's Relay are in special/.
"""

from __future__ import annotations

from .._core import Op
from . import special
from .custom import define as define
from .make import document, function_of, missing, namespace, operators


def get(name: str) -> Op:
    """Returns the operator itself, as in call.op: relay.op.get("nn.conv2d")."""
    return Op.get(name)


__getattr__ = missing("")


def _publish() -> list[str]:
    """Publishes every operator function, and returns the names that are in relay.op itself."""
    top = []
    definitions = operators()
    for name in [*definitions, *(name for name in special.FUNCTIONS if name not in definitions)]:
        *path, last = name.split(".")
        function = special.FUNCTIONS.get(name) or function_of(definitions[name])
        if name in definitions:
            function.__doc__ = document(definitions[name]) + (f"\n\n{function.__doc__}" if function.__doc__ else "")
        function.__name__, function.__qualname__, function.__module__ = last, name, __name__
        setattr(namespace(path), last, function)
        top.append((path or [last])[0])
    return sorted(set(top))


_published = _publish()
