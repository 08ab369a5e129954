"""Text of every version, `v0.0.1` to `#[version = "0.0.5"]`."""

from __future__ import annotations

import re
import types as _types

import relay as _relay

_OLD = re.compile(r"\A\s*v0\.0\.[0-5][ \t]*(?=\n|\Z)")
_HEADER = '#[version = "0.0.5"]'


def upgrade(source: str) -> str:
    """The text with the header of today. Early versions printed graph bindings (%0 = ...) without a semicolon: it is added."""
    found = _OLD.match(source)
    if not found:
        return re.sub(r'(?m)^#\[version = "0\.0\.[0-4]"\]', _HEADER, source)
    lines = []
    for line in source[found.end() :].splitlines():
        binding = re.match(r"\s*(%\w+ = |free_var )", line)
        code = line.partition("//")[0].rstrip()
        if binding and not code.endswith((";", "{", "(", ",")):
            line = f"{code};{line[len(code) :]}"
        lines.append(line)
    return f"{_HEADER}\n" + "\n".join(lines)


def parse(source, source_name="from_string", init_module=None, init_meta_table=None):
    """A module."""
    if init_meta_table:
        raise NotImplementedError("constants come from the text's metadata section: init_meta_table is not there")
    return _relay.parse(upgrade(source), source_name, init_module)


def parse_expr(source, source_name="from_string"):
    """An expression."""
    return _relay.parse_expr(upgrade(source), source_name)


def fromtext(source, source_name="from_string"):
    """A module or an expression."""
    return _relay.fromtext(upgrade(source), source_name)


parser = _types.SimpleNamespace(fromtext=fromtext, parse=parse, parse_expr=parse_expr)
