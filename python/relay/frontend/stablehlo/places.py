"""Diagnostics with a place in a StableHLO text, and the limits of what a text may contain."""

from __future__ import annotations

import json

from ..._core import told
from ...errors import CompileError, error_of

MOST_DEPTH = 100  # regions, lists and attributes inside each other
MOST_OPERATIONS = 500_000  # converted operations, counted in each call of a function


def problem(kind: str, message: str, help: str, text: str, name: str, offset: int) -> CompileError:
    """Returns the error of a kind ("bad_model", ...) at an offset (characters) of the text. name: that of the file."""
    line = text.count("\n", 0, offset) + 1
    start = text.rfind("\n", 0, offset) + 1
    column = offset - start + 1
    rendered, diagnostics = told(kind, message, help)
    diagnostics = json.loads(diagnostics)
    head, *rest = rendered.split("\n")
    end = text.find("\n", offset)
    source = text[start : end if end >= 0 else len(text)]
    cut = max(0, column - 60)  # lines of StableHLO are long: the text around the place
    shown = source[cut : cut + 100]
    gutter = " " * len(str(line))
    rendered = "\n".join(
        [
            head,
            f"{gutter}--> {name}:{line}:{column}",
            f"{gutter} |",
            f"{line} | {shown}",
            f"{gutter} | {' ' * (column - 1 - cut)}^",
            *rest,
        ]
    )
    diagnostics[0].update(file=name, line=line, column=column, text=rendered)
    return error_of(rendered, json.dumps(diagnostics))
