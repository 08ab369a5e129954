"""Programs in text of every version, from `v0.0.1` to `#[version = "0.0.5"]`."""

from __future__ import annotations

import base64
import json
import re
import types as _types

import numpy as np

import relay as _relay

from ...outside import missing as _missing
from ..ir_parts import reported
from .annotation import device_text

_OLD = re.compile(r"\A\s*v0\.0\.[0-5][ \t]*(?=\n|\Z)")
_HEADER = '#[version = "0.0.5"]'
_BINDING = re.compile(r"(%\w+ = |let %|free_var )")
_SCALAR = re.compile(r"\b(int|float)(8|16|32|64)\((-?[\d.e+-]+)\)")


def upgrade(source: str) -> str:
    """Returns the text with the current header.

    Early versions print a binding (%0 = ..., let %x = ..., free_var ...) without a semicolon, which is added, behind
    the closing brace if a block is bound. They print int64(3) for 3i64.
    """
    found = _OLD.match(source)
    if not found:
        return re.sub(r'(?m)^#\[version = "0\.0\.[0-4]"\]', _HEADER, source)
    lines, blocks = [], []  # for each open block, whether a binding opened it
    for line in _SCALAR.sub(_scalar, source[found.end() :]).splitlines():
        code, slashes, comment = line.partition("//")
        code = code.rstrip()
        closes = code.lstrip().startswith("}") and blocks
        bound = blocks.pop() if closes else _BINDING.match(code.lstrip()) is not None
        if code.endswith("{"):
            blocks.append(bound)
        elif bound and not code.endswith((";", "(", ",")):
            code += ";"
        lines.append(code + slashes + comment)
    return f"{_HEADER}\n" + "\n".join(lines)


def _scalar(found: re.Match) -> str:
    kind, bits, value = found.groups()
    return f"{value}{'f' if kind == 'float' else 'i'}{bits}"


_REFERENCE = re.compile(r"meta\[([A-Za-z_.]+)\]\[(\d+)\]")


def _with_table(source: str, table: dict) -> str:
    """Returns the text with its references to a table resolved: devices in place, constants in a metadata section."""
    if "#[metadata]" in source:
        raise ValueError("the text already has a metadata section: leave out the table")
    constants = [
        np.asarray(one.data if isinstance(one, _relay.Constant) else one) for one in table.get("relay.Constant", [])
    ]

    def refer(found: re.Match) -> str:
        key, number = found[1], int(found[2])
        if key not in table or number >= len(table[key]):
            raise _relay.CompileError(f"error: the table has no {found[0]}")
        if key == "VirtualDevice":
            return json.dumps(device_text(table[key][number]))
        if key == "relay.Constant":
            return found[0]
        raise NotImplementedError(f"{found[0]}: a table can contain VirtualDevice and relay.Constant")

    text = _REFERENCE.sub(refer, source)
    if not constants:
        return text
    entries = [
        {"shape": list(c.shape), "dtype": str(c.dtype), "base64": base64.b64encode(np.ascontiguousarray(c)).decode()}
        for c in constants
    ]
    return f"{text}\n#[metadata]\n{json.dumps({'relay.Constant': entries})}\n"


@reported
def parse(source, source_name="from_string", init_module=None, init_meta_table=None):
    """Parses a module, and infers types. init_meta_table: {"VirtualDevice": [..], "relay.Constant": [..]}, the values
    of meta[..][N]."""
    text = upgrade(source)
    if init_meta_table:
        text = _with_table(text, init_meta_table)
    return _relay.parse(text, source_name, init_module)


@reported
def parse_expr(source, source_name="from_string"):
    """Parses an expression."""
    return _relay.parse_expr(upgrade(source), source_name)


@reported
def fromtext(source, source_name="from_string"):
    """Parses a module or an expression."""
    return _relay.fromtext(upgrade(source), source_name)


parser = _types.SimpleNamespace(
    __name__="tvm.relay.parser",
    SpanCheck=_missing("tvm.relay.parser")("SpanCheck"),
    fromtext=fromtext,
    parse=parse,
    parse_expr=parse_expr,
)
