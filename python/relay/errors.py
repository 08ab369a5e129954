"""Exceptions: CompileError for mistakes in a program, model, option or input; InternalError for bugs in Relay."""

from __future__ import annotations

import dataclasses
import json

from . import _core


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """A problem: a message, its place, and a way out."""

    severity: str  # "error" or "warning"
    kind: str  # "constraint"
    code: str  # "R0302"; see `relay explain R0302`
    message: str
    node: str | None  # the node of a foreign model, or the Python line that made the call
    file: str | None
    line: int | None
    column: int | None
    labels: list
    notes: list
    help: str
    text: str  # the rendered text, as in the exception's message
    end_line: int | None = None  # the end of the place
    end_column: int | None = None

    def __str__(self) -> str:
        return self.text


class CompileError(Exception):
    """A mistake that the user can correct. str(error) is the rendered text; error.diagnostics lists the problems."""

    def __init__(self, text: str, diagnostics: str | list = ()):
        super().__init__(text)
        if isinstance(diagnostics, str):
            diagnostics = [Diagnostic(**one) for one in json.loads(diagnostics)]
        self.diagnostics = list(diagnostics)

    def __str__(self) -> str:
        return str(self.args[0]).rstrip()

    def __reduce__(self):
        return type(self), (self.args[0], self.diagnostics)


class InternalError(Exception):
    """A bug in Relay, never a user's mistake."""


def wrong_input(message: str, help: str) -> CompileError:
    """Returns the error that the runtime reports for a wrong input (R0601), for problems found in Python."""
    return CompileError(*_core.told("wrong_input", message, help))


def bad_literal(message: str, help: str) -> CompileError:
    """Returns the error that the parser reports for a bad literal (R0102)."""
    return CompileError(*_core.told("bad_literal", message, help))


def bad_option(message: str, help: str) -> CompileError:
    """Returns the error that the compiler reports for a bad option (R0504)."""
    return CompileError(*_core.told("bad_option", message, help))
