"""Spans: Span(SourceName("file"), line, end_line, column, end_column), and SequentialSpan of several."""

from __future__ import annotations

import re

from relay import Expr, IRModule
from relay import Span as _Span
from relay.analysis import post_order_visit

_of_expr, _name = Expr.span.fget, _Span.source_name.fget
# A line of Python code, which is recorded if no other place is given.
_IMPLICIT = re.compile(r"(\.py|>):\d+\Z")


class SourceName(str):
    """The name of a text."""

    name = property(str)


class _IsSpan(type):
    def __instancecheck__(cls, value) -> bool:
        return isinstance(value, _Span)


class Span(metaclass=_IsSpan):
    """A place in a text."""

    def __new__(cls, source_name, line, end_line, column, end_column) -> _Span:
        return _Span(str(getattr(source_name, "name", source_name)), line, end_line, column, end_column)


class SequentialSpan:
    """Several places of one expression."""

    def __init__(self, spans):
        self.spans = []
        for one in spans:
            self.spans += one.spans if isinstance(one, SequentialSpan) else [one]

    @property
    def source_name(self) -> SourceName:
        """All names, joined."""
        return SourceName("; ".join(one.source_name for one in self.spans))

    def __eq__(self, other) -> bool:
        return isinstance(other, SequentialSpan) and self.spans == other.spans

    def __hash__(self) -> int:
        return hash(tuple(map(str, self.spans)))


def given(expr: Expr):
    """Returns the place that a text, an importer or a caller set, or None if only the Python line is known."""
    span = _of_expr(expr)
    return None if span is None or _IMPLICIT.search(_name(span)) else span


# Matches the name of a span of parsed text, which ends in its place.
_OF_TEXT = re.compile(r":\d+:\d+\Z")


def named(expr: Expr) -> str:
    """The place that an importer or a caller gave, as text: "net.py:1:2"; empty of nodes of a text and of others."""
    span = given(expr)
    text = "" if span is None or isinstance(span, SequentialSpan) else repr(span)
    return "" if _OF_TEXT.search(text) else re.sub(r"-\d+:\d+\Z", "", text)


def has_named(program) -> bool:
    """True if an expression of a module, or in an expression, has such a place."""
    found = []
    functions = program.functions.values() if isinstance(program, IRModule) else [program]
    for function in functions:
        post_order_visit(function, lambda expr: found.append(expr) if not found and named(expr) else None)
    return bool(found)


def only_given() -> None:
    """Makes Expr.span None for nodes without a given place, as in TVM. `python -m relay.compat` calls it."""
    Expr.span = property(given, doc=given.__doc__)


def install() -> None:
    """Makes Span.source_name a SourceName, as in TVM."""
    _Span.source_name = property(lambda self: SourceName(_name(self)), doc="The name of its text.")
    _Span.same_as = lambda self, other: self is other or self == other
