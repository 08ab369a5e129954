"""Programs as text.

mod = relay.parse('#[version = "0.0.5"] def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }')
relay.astext(mod["main"])
"""

from __future__ import annotations

from .. import _core
from .._core import Expr, IRModule

__all__ = ["astext", "fromtext", "parse", "parse_expr", "pretty_print"]


def parse(source: str, source_name: str = "<text>", init_module: IRModule | None = None) -> IRModule:
    """Parses a module. `source_name` appears in diagnostics. The text may use types that `init_module` defines."""
    return _core.parse(source, source_name, init_module)


def parse_expr(source: str, source_name: str = "<text>", init_module: IRModule | None = None) -> Expr:
    """Parses an expression: parse_expr("free_var %x: float32; add(%x, 1f)")."""
    return _core.parse_expr(source, source_name, init_module)


def fromtext(source: str, source_name: str = "<text>") -> Expr | IRModule:
    """Parses a module if the text contains a definition, otherwise an expression."""
    if any(line.lstrip().startswith(("def ", "type ", "extern ")) for line in source.splitlines()):
        return parse(source, source_name)
    return parse_expr(source, source_name)


def astext(value, show_meta_data: bool = True, annotate=None, *, types: bool = False) -> str:
    """Returns the text of a module, expression or type, with the version header that parse() needs.

    types: print inferred types. annotate(expr): returns text to print after an expression instead.
    """
    if isinstance(value, IRModule):
        return value.astext(show_meta_data, annotate, types=types)
    if isinstance(value, Expr):
        return value.astext(show_meta_data, annotate, types=types)
    return str(value)


def pretty_print(value) -> str:
    """Returns text for people to read, without header and metadata."""
    return value.astext(version=False) if isinstance(value, IRModule) else str(value)
