"""The displays of programs and compiled models in notebooks: HTML without scripts, from escaped text."""

from __future__ import annotations

import html
import re
import unicodedata

from .._core import Expr, IRModule
from .compiled import Compiled
from .report import Report

_MOST = 60_000  # the most characters of a program that a cell shows

# Colours that can be read on white and on black.
_COLOURS = {"comment": "#888888", "text": "#3a9150", "variable": "#2f7fd0", "global": "#a35fc9", "keyword": "#d0603a"}
_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>"(?:\\.|[^"\\\n])*")|(?P<variable>%(?:[\w.]+|"(?:\\.|[^"\\\n])*"))|(?P<global>@[\w.]+)'
    r"|(?P<keyword>\b(?:def|type|extern|import|fn|let|if|else|match|free_var|ref)\b)",
    re.DOTALL,
)


def escaped(text: str) -> str:
    """The text as HTML. Invisible characters, such as marks of direction, are written as their codes."""
    visible = "".join(
        f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t" else c for c in text
    )
    return html.escape(visible)


def _coloured(text: str) -> str:
    out, end = [], 0
    for match in _TOKEN.finditer(text):
        colour = _COLOURS[match.lastgroup]
        out += [escaped(text[end : match.start()]), f'<span style="color:{colour}">{escaped(match.group())}</span>']
        end = match.end()
    return "".join([*out, escaped(text[end:])])


def _block(inner: str) -> str:
    return f'<pre style="line-height:1.3">{inner}</pre>'


def program_html(text: str) -> str:
    """A program in colours. A long one is cut at a line, and says so."""
    if len(text) <= _MOST:
        return _block(_coloured(text.rstrip()))
    shown = text[:_MOST].rpartition("\n")[0] or text[:_MOST]
    rest = f"{len(text) - len(shown):,} more characters"
    ways = "<code>print(...)</code> or <code>relay.explore(...)</code> shows them."
    return f"{_block(_coloured(shown))}<p>{rest}: {ways}</p>"


def _module_html(module: IRModule) -> str:
    return program_html(module.astext(version=False, weights=False))


def _expr_html(expr: Expr) -> str:
    return program_html(str(expr))


def _report_html(report: Report) -> str:
    lines = str(report).splitlines()
    return _block(escaped("\n".join(line for line in lines if not line.startswith("entries: "))))


def _compiled_html(compiled: Compiled) -> str:
    rows = [("input", port) for port in compiled.inputs] + [("output", port) for port in compiled.outputs]
    cells = "".join(
        f"<tr><td>{kind}</td><td style='text-align:left'><code>{escaped(str(port))}</code></td></tr>"
        for kind, port in rows[:100]
    )
    more = f"<p>and {len(rows) - 100} more</p>" if len(rows) > 100 else ""
    return f"<table>{cells}</table>{more}{_report_html(compiled.report)}"


IRModule._repr_html_ = _module_html
Expr._repr_html_ = _expr_html
Report._repr_html_ = _report_html
Compiled._repr_html_ = _compiled_html
