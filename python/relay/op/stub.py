"""Writes the stub of relay.op (__init__.pyi) for type checkers and editors. The functions are made when the package is
imported, so only the running package knows them. dev/docs.py (`make docs`) writes the file."""

from __future__ import annotations

import inspect
import types

_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "string": "str",
    "dtype": "str",
    "list of ints": "int | Sequence[int]",
    "list of floats": "Sequence[float]",
    "list of strings": "Sequence[str]",
    "list of dimensions": "int | Sequence[int | str | Dim]",
    "list of lists of ints": "Sequence[Sequence[int]]",
    "int or list of ints": "int | Sequence[int]",
}
_HEAD = """# Written by dev/docs.py. Do not edit.
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Dim, Expr, Op
from ..ir.expr import TupleWrapper

def operators() -> dict[str, dict]: ...
def get(name: str) -> Op: ...
def define(
    name: str,
    *,
    inputs: Sequence[str],
    relation: Callable,
    compute: Callable | None = None,
    callback: Callable | None = None,
    attributes: dict | None = None,
    fusion: str = "opaque",
    doc: str = "",
) -> Callable[..., Expr]: ...
"""


def _type_of(kind: str) -> str:
    plain = kind.removesuffix(" or None")
    return _TYPES[plain] + (" | None" if plain != kind or plain == "dtype" else "")


def _lines(function, definition: dict | None, indent: str) -> list[str]:
    """Returns the lines of `def name(data: Expr, units: int | None = None) -> Expr: ...` with its documentation."""
    inputs = {name: is_tuple for name, _, is_tuple in definition["inputs"]} if definition else {}
    kinds = {name: kind for name, _, kind, _, _ in definition["attributes"]} if definition else {}
    parts = []
    signature = inspect.signature(function)
    for name, parameter in signature.parameters.items():
        if name in inputs:
            what = "Expr | Sequence[Expr]" if inputs[name] else "Expr | TupleWrapper"
        else:
            what = _type_of(kinds[name]) if name in kinds else "Any"
        default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{name}: {what}{default}")
    result = "Any" if signature.return_annotation is inspect.Signature.empty else "Expr"
    lines = [f"{indent}def {function.__name__}({', '.join(parts)}) -> {result}:"]
    text = (function.__doc__ or "").replace("\\", "\\\\").splitlines()
    lines += [f'{indent}    """{text[0] if text else ""}'] + [f"{indent}    {line}".rstrip() for line in text[1:]]
    lines[-1] += '"""'
    if indent:
        lines.insert(0, f"{indent}@staticmethod")
    return lines


def layers_stub() -> str:
    """Returns the text of the stub of relay.nn.operators: the operators of relay.op.nn under their short names."""
    from .. import op

    names = sorted({name.split(".")[1] for name in op.operators() if name.startswith("nn.")})
    lines = ["# Written by dev/docs.py. Do not edit.", "from ..op import nn as _nn", ""]
    return "\n".join([*lines, *(f"{name} = _nn.{name}" for name in names)]) + "\n"


def stub() -> str:
    """Returns the text of the stub."""
    from .. import op

    definitions, out = op.operators(), [_HEAD]

    def write(place, prefix: str, indent: str):
        for name in sorted(vars(place)):
            value = getattr(place, name)
            full = f"{prefix}{name}"
            is_namespace = isinstance(value, types.ModuleType) and not hasattr(value, "__file__")
            if is_namespace and value.__name__.startswith("relay.op."):
                out.append(f"{indent}class {name}:")
                write(value, f"{full}.", indent + "    ")
            elif isinstance(value, types.FunctionType) and getattr(value, "__qualname__", "") == full:
                if name not in ("operators", "get") and not name.startswith("_"):
                    out.extend(_lines(value, definitions.get(full), indent))

    write(op, "", "")
    return "\n".join(out) + "\n"
