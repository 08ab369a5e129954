"""Exceptions: CompileError for mistakes in a program or model; InputError for those in an option or input;
InternalError for bugs in Relay."""

from __future__ import annotations

import dataclasses
import json
import os
import traceback

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

    def _render_traceback_(self) -> list[str]:
        """The lines that a notebook shows: the diagnostics, and the line outside of Relay that caused them."""
        package = os.path.dirname(__file__) + os.sep
        callers = [f for f in traceback.extract_tb(self.__traceback__) if not f.filename.startswith(package)]
        line = callers[-1] if callers else None
        return str(self).splitlines() + ([f"at line {line.lineno}: {line.line}"] if line else [])


class InputError(CompileError, ValueError, TypeError):
    """A value given by the caller that cannot be used: an input, an argument of an operator, an option. It can be
    caught as ValueError or TypeError too."""


# Kinds of problems that the caller's own values have.
_OF_CALLER = {"bad_attribute", "bad_literal", "bad_option", "unknown_target", "wrong_argument_count", "wrong_input"}


def error_of(text: str, diagnostics: str) -> CompileError:
    """The exception for these problems (JSON): an InputError if all are of what the caller gave."""
    kinds = {one["kind"] for one in json.loads(diagnostics) if one["severity"] == "error"}
    return (InputError if kinds and kinds <= _OF_CALLER else CompileError)(text, diagnostics)


class InternalError(Exception):
    """A bug in Relay, never a user's mistake."""


def told(kind: str, message: str, help: str) -> CompileError:
    """The compiler's error of a kind, for a problem that is found in Python."""
    return error_of(*_core.told(kind, message, help))


def wrong_input(message: str, help: str) -> CompileError:
    """Returns an error of an input (R0601)."""
    return told("wrong_input", message, help)


def bad_literal(message: str, help: str) -> CompileError:
    """Returns an error of a literal (R0102)."""
    return told("bad_literal", message, help)


def bad_option(message: str, help: str) -> CompileError:
    """Returns an error of an option (R0504)."""
    return told("bad_option", message, help)


def not_supported(message: str, help: str) -> CompileError:
    """Returns an error of a construct that is not handled (R0304)."""
    return told("not_supported", message, help)


def expect(value, kind: type | tuple[type, ...], wanted: str) -> None:
    """Raises a TypeError if `value` is not of this type. `wanted` names the type, and a way to make one."""
    if not isinstance(value, kind):
        given = f"the class {value.__name__}" if isinstance(value, type) else f"a value of type {type(value).__name__}"
        raise TypeError(f"expected {wanted}, got {given}")


def expect_module(value) -> None:
    expect(value, _core.IRModule, "a module (relay.IRModule.from_expr(expr) makes one)")


def expect_function(value) -> None:
    expect(value, _core.Function, "a function, such as mod['main']")
