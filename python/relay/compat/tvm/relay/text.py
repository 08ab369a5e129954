"""Text of every version, `v0.0.1` to `#[version = "0.0.5"]`."""

from __future__ import annotations

import re
import types as _types

import relay as _relay

from ..ir_parts import reported

_OLD = re.compile(r"\A\s*v0\.0\.[0-5][ \t]*(?=\n|\Z)")
_HEADER = '#[version = "0.0.5"]'
_BINDING = re.compile(r"(%\w+ = |let %|free_var )")
_SCALAR = re.compile(r"\b(int|float)(8|16|32|64)\((-?[\d.e+-]+)\)")


def upgrade(source: str) -> str:
    """The text with the header of today.

    Early versions printed a binding (%0 = ..., let %x = ..., free_var ...) without a semicolon: it is added, behind the
    closing brace where a block is bound. They printed int64(3) for 3i64.
    """
    found = _OLD.match(source)
    if not found:
        return re.sub(r'(?m)^#\[version = "0\.0\.[0-4]"\]', _HEADER, source)
    lines, blocks = [], []  # blocks: for each that is open, whether a binding opened it
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


@reported
def parse(source, source_name="from_string", init_module=None, init_meta_table=None):
    """A module."""
    if init_meta_table:
        raise NotImplementedError("constants come from the text's metadata section: init_meta_table is not there")
    return _relay.parse(upgrade(source), source_name, init_module)


@reported
def parse_expr(source, source_name="from_string"):
    """An expression."""
    return _relay.parse_expr(upgrade(source), source_name)


@reported
def fromtext(source, source_name="from_string"):
    """A module or an expression."""
    return _relay.fromtext(upgrade(source), source_name)


parser = _types.SimpleNamespace(fromtext=fromtext, parse=parse, parse_expr=parse_expr)
