"""Problems in scripted functions: codes, places in Python, and the error that shows all of them."""

from __future__ import annotations

import ast
import dataclasses
import re

from .. import _core
from ..errors import CompileError, Diagnostic

# The names of problems by code. script_problems.def lists them with their meanings, for `relay explain` too.
CODES = {code: name for code, name, *_ in _core.diagnostics() if code.startswith("P")}


@dataclasses.dataclass(frozen=True)
class Place:
    """A range of a Python file. Lines count from 1 and columns, in characters, from 1. The end column is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str  # the line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclasses.dataclass(frozen=True)
class File:
    """The text of a Python file. `offset` lines and `indent` characters were cut off in front of the parsed part."""

    name: str
    lines: list[str]
    offset: int = 0
    indent: int = 0

    def place(self, node: ast.AST) -> Place:
        """Returns the place of a node. A place that spans lines ends at the end of its first line."""
        line = getattr(node, "lineno", 1) + self.offset
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        begin = self._column(text, getattr(node, "col_offset", 0))
        end_line = (getattr(node, "end_lineno", None) or line - self.offset) + self.offset
        end = self._column(text, node.end_col_offset) if end_line == line and hasattr(node, "end_col_offset") else None
        shown = len(text.rstrip())
        return Place(self.name, line, begin + 1, line, (shown if end is None else max(end, begin + 1)) + 1, text)

    def _column(self, text: str, offset: int) -> int:
        """Returns a column in characters for an offset in UTF-8 bytes of the parsed part."""
        cut = text[self.indent :]
        return self.indent + len(cut.encode()[:offset].decode(errors="ignore"))


@dataclasses.dataclass
class Problem:
    """A problem. `others`: further places that are involved, each with a text."""

    code: str
    message: str
    place: Place | None
    help: str
    others: list[tuple[Place, str]] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}"]
        if self.place is not None:
            lines.append(f"  --> {self.place}")
            lines += _snippet(self.place, "")
        for place, text in self.others:
            lines += _snippet(place, text)
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join([*lines, f"  help: {self.help}"]) + "\n"

    def diagnostic(self) -> Diagnostic:
        """Returns the problem in the form of the compiler's diagnostics."""
        place = self.place
        return Diagnostic(
            "error", CODES.get(self.code, "relay"), self.code, self.message, None,
            place.file if place else None, place.line if place else None, place.column if place else None,
            [f"{where}: {text}" for where, text in self.others], self.notes, self.help, str(self),
            place.end_line if place else None, place.end_column if place else None,
        )  # fmt: skip


def an(type_: object) -> str:
    """Returns a type with its article: "an int32"."""
    text = str(type_)
    return f"an {text}" if text[:1] in "aeio" else f"a {text}"


def _snippet(place: Place, text: str) -> list[str]:
    """Returns the line of a place with carets below it. Tabs stay, so that the carets stand below their text."""
    if not place.text:  # the file is not there
        return []
    number = str(place.line)
    margin = " " * len(number)
    lead = re.sub(r"[^\t]", " ", place.text[: place.column - 1])
    carets = "^" * max(1, place.end_column - place.column)
    return [f"{margin} |", f"{number} | {place.text.rstrip()}", f"{margin} | {lead}{carets} {text}".rstrip()]


class ScriptError(CompileError):
    """Problems of a scripted function. `problems` lists them; str(error) shows all."""

    def __init__(self, problems: list[Problem]):
        super().__init__("\n".join(map(str, problems)), [one.diagnostic() for one in problems])
        self.problems = problems

    def __reduce__(self):
        return type(self), (self.problems,)
