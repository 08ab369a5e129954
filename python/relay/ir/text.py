"""Programs as text.

mod = relay.parse('#[version = "0.0.5"] def @main(%x: Tensor[(n, 4), float32]) { nn.relu(%x) }')
relay.astext(mod["main"])
"""

from __future__ import annotations

from .. import _core
from .._core import Expr, IRModule

__all__ = ["astext", "fromtext", "parse", "parse_expr", "pretty_print"]


def parse(source: str, source_name: str = "<text>", init_module: IRModule | None = None) -> IRModule:
    """The module that the text is. Diagnostics call it `source_name`; types defined in `init_module` are known."""
    return _core.parse(source, source_name, init_module)


def parse_expr(source: str, source_name: str = "<text>", init_module: IRModule | None = None) -> Expr:
    """The expression that the text is: parse_expr("free_var %x: float32; add(%x, 1f)")."""
    return _core.parse_expr(source, source_name, init_module)


def fromtext(source: str, source_name: str = "<text>") -> Expr | IRModule:
    """An expression, or a module when the text defines something."""
    if any(line.lstrip().startswith(("def ", "type ", "extern ")) for line in source.splitlines()):
        return parse(source, source_name)
    return parse_expr(source, source_name)


def astext(value, show_meta_data: bool = True, annotate=None, *, types: bool = False) -> str:
    """A module, expression or type as text, with the version header where parse() wants one.

    types: with what inference found; annotate(expr): what to write behind an expression instead.
    """
    if isinstance(value, IRModule):
        return value.astext(show_meta_data, annotate, types=types)
    if isinstance(value, Expr):
        return value.astext(show_meta_data, annotate, types=types)
    return str(value)


def pretty_print(value) -> str:
    """As text for people: without header and metadata."""
    return value.astext(version=False) if isinstance(value, IRModule) else str(value)
